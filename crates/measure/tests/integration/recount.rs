//! Meters against a plain recount, on streams of every shape.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use weir_measure::{Accuracy, IntervalReport, MeasureConfig, Seed, TopRow, Value};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_simd::for_each_tier;
use weir_stream::Arrival;

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// What is captured of a packet's bytes.
fn captured(wire_bytes: u32) -> u32 {
    wire_bytes.min(96)
}

/// One packet: time, flow (none without IP), bytes on the wire.
#[derive(Clone, Copy, Debug)]
struct Packet {
    timestamp_ns: u64,
    flow: Option<FlowKey>,
    bytes: u32,
}

fn flow(ip_version: u8, host: u32) -> FlowKey {
    let network: u128 = if ip_version == 4 {
        0x0a00_0000
    } else {
        0x2001_0db8 << 96
    };
    FlowKey {
        source: network + u128::from(host),
        destination: network + u128::from(host % 7),
        source_port: (host % 5) as u16,
        destination_port: 443,
        protocol: 6,
        ip_version,
    }
}

/// Runs packets through `shards` meters, packet n through the one that `shard`
/// names.
fn measure(
    config: &MeasureConfig,
    packets: &[Packet],
    shards: usize,
    shard: impl Fn(usize) -> usize,
) -> Vec<IntervalReport> {
    let mut measurement = config.build(shards).expect("a configuration");
    let mut reports = Vec::new();
    for (number, packet) in packets.iter().enumerate() {
        if let Some(timeline) = &mut measurement.timeline {
            timeline.observe(number as u64, packet.timestamp_ns);
        }
        let meter = &mut measurement.meters[shard(number) % shards];
        meter.tick(number as u64, packet.timestamp_ns);
        let arrival = Arrival::at(packet.timestamp_ns, packet.bytes);
        meter.count(&arrival, captured(packet.bytes), packet.flow.as_ref());
        if number % 100 == 0 {
            reports.append(&mut measurement.collector.take_ready());
        }
    }
    for meter in &mut measurement.meters {
        meter.finish();
    }
    reports.append(&mut measurement.collector.finish());
    assert!(
        measurement.collector.finish().is_empty(),
        "each report once"
    );
    reports
}

fn config(key: &str, interval: Option<u64>) -> MeasureConfig {
    let mut config = MeasureConfig::new(key.parse().expect("a key kind"));
    config.interval = interval.map(Duration::from_nanos);
    config.seed = Some(Seed::from_u64(7));
    config
}

/// What a report must say, counted with a tree.
struct Truth {
    packets: u64,
    bytes: u64,
    wire_bytes: u64,
    unkeyed: u64,
    sums: BTreeMap<FlowKey, u64>,
}

fn recount(packets: &[Packet], kind: KeyKind, value: Value) -> Truth {
    let mut sums = BTreeMap::new();
    for packet in packets {
        if let Some(flow) = packet.flow {
            *sums.entry(flow.project(kind)).or_insert(0) += match value {
                Value::Packets => 1,
                Value::Bytes => u64::from(packet.bytes),
            };
        }
    }
    Truth {
        packets: packets.len() as u64,
        bytes: (packets.iter().map(|p| u64::from(captured(p.bytes)))).sum(),
        wire_bytes: packets.iter().map(|p| u64::from(p.bytes)).sum(),
        unkeyed: packets.iter().filter(|p| p.flow.is_none()).count() as u64,
        sums,
    }
}

fn assert_report_is_true(report: &IntervalReport, truth: &Truth, config: &MeasureConfig) {
    assert_eq!(report.packets, truth.packets);
    assert_eq!(report.bytes, truth.bytes);
    assert_eq!(report.wire_bytes, truth.wire_bytes);
    assert_eq!(report.unkeyed, truth.unkeyed);
    let named: BTreeMap<String, u64> = truth
        .sums
        .iter()
        .map(|(key, sum)| (key.display(config.key).to_string(), *sum))
        .collect();
    assert_eq!(named.len(), truth.sums.len(), "names are unique");
    assert_eq!(report.top.len(), config.top.min(named.len()));
    assert!(
        report
            .top
            .is_sorted_by_key(|row| std::cmp::Reverse(row.estimate))
    );
    for row in &report.top {
        let sum = named[&row.key];
        assert!(row.estimate >= sum, "{row:?}");
        assert_eq!(row.exact, config.exact.then_some(sum));
    }
    // Nothing outside the list is larger than the last estimate on it.
    if let Some(last) = report.top.last() {
        for (key, sum) in &named {
            let listed = report.top.iter().any(|row| row.key == *key);
            assert!(listed || *sum <= last.estimate, "{key} is missing");
        }
    }
    let f2: f64 = named.values().map(|sum| (*sum as f64).powi(2)).sum();
    let rounding = 1e-9 * f2;
    assert!(report.f2 >= f2 - rounding, "never below the truth");
    assert!(report.f2 <= f2 + rounding || report.f2_bound > 0.0, "exact");
    assert_eq!(report.error.is_some(), config.exact);
    if let Some(error) = report.error {
        assert_eq!(error.keys, named.len() as u64);
        assert_eq!(report.f2_bound, 0.0);
        assert!(error.mean_overestimate <= error.max_overestimate as f64);
    }
}

fn packets(hosts: u32, count: usize) -> impl Strategy<Value = Vec<Packet>> {
    let packet = (0u64..3 * SECOND, 0..hosts, 0u8..10, 0u32..2000).prop_map(
        |(offset, host, family, bytes)| Packet {
            timestamp_ns: START + offset,
            flow: match family {
                0 => None,
                1..5 => Some(flow(6, host)),
                _ => Some(flow(4, host)),
            },
            bytes,
        },
    );
    prop::collection::vec(packet, 1..count).prop_map(|mut packets| {
        packets.sort_by_key(|packet| packet.timestamp_ns);
        packets
    })
}

const KINDS: [&str; 6] = [
    "source",
    "destination",
    "pair",
    "5-tuple",
    "source/28",
    "destination/30,127",
];

/// An interval in which nothing came says what the others say.
#[test]
fn an_interval_without_packets_is_reported_like_the_others() {
    let packets = [0, 2].map(|second| Packet {
        timestamp_ns: START + second * SECOND,
        flow: Some(flow(4, 1)),
        bytes: 100,
    });
    for exact in [false, true] {
        let mut config = config("source", Some(SECOND));
        config.exact = exact;
        let reports = measure(&config, &packets, 1, |_| 0);
        assert_eq!(reports.len(), 3);
        let inside = [&packets[..1], &[], &packets[1..]];
        for (index, (report, inside)) in reports.iter().zip(inside).enumerate() {
            let truth = recount(inside, config.key, config.value);
            assert_report_is_true(report, &truth, &config);
            assert_eq!(report.start_ns, START + index as u64 * SECOND);
            assert_eq!(report.seconds, 1.0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every key kind and value, listed and sketched intervals, every tier.
    #[test]
    fn reports_agree_with_a_recount(
        packets in packets(400, 900),
        kind in 0usize..KINDS.len(),
        in_packets: bool,
        exact: bool,
        top in 1usize..20,
    ) {
        let mut config = config(KINDS[kind], Some(SECOND));
        config.value = if in_packets { Value::Packets } else { Value::Bytes };
        config.exact = exact;
        config.top = top;
        let origin = packets[0].timestamp_ns;
        let mut intervals: BTreeMap<u64, Vec<Packet>> = BTreeMap::new();
        for packet in &packets {
            let index = (packet.timestamp_ns - origin) / SECOND;
            intervals.entry(index).or_default().push(*packet);
        }
        let mut by_tier = Vec::new();
        for_each_tier(|tier| {
            config.tier = tier;
            let reports = measure(&config, &packets, 1, |_| 0);
            for (index, report) in reports.iter().enumerate() {
                let inside = intervals.get(&(index as u64)).map_or(&[][..], Vec::as_slice);
                let truth = recount(inside, config.key, config.value);
                assert_report_is_true(report, &truth, &config);
                assert_eq!(report.start_ns, origin + index as u64 * SECOND);
            }
            assert_eq!(reports.iter().map(|r| r.packets).sum::<u64>(), packets.len() as u64);
            by_tier.push(reports);
        });
        prop_assert!(by_tier.windows(2).all(|pair| pair[0] == pair[1]));
    }

    /// One shard, two, five, however the packets are dealt out, even out of
    /// order: the same report.
    #[test]
    fn reports_do_not_depend_on_the_shards(
        mut packets in packets(3000, 1500),
        swaps in prop::collection::vec((0usize..1500, 0usize..1500), 0..20),
        deal in prop::collection::vec(0usize..5, 64),
        exact: bool,
    ) {
        for (a, b) in swaps {
            let len = packets.len();
            packets.swap(a % len, b % len);
        }
        let mut config = config("source", Some(SECOND));
        config.exact = exact;
        let whole = measure(&config, &packets, 1, |_| 0);
        for shards in [2, 5] {
            let dealt = measure(&config, &packets, shards, |number| deal[number % 64]);
            prop_assert_eq!(&dealt, &whole);
        }
        // All packets on one shard of three: the others never say a word.
        let one_sided = measure(&config, &packets, 3, |_| 2);
        prop_assert_eq!(&one_sided, &whole);
    }
}

/// A narrow sketch errs; the report says by how much, and estimates are within
/// the bound at the promised rate. The keys of one sketch share its hash
/// functions, so one key is looked at under 400 seeds. Three rows make δ =
/// e⁻³, 20 failures; at that rate more than 52 have a chance of 1.4e-10
/// (binomial tail).
#[test]
fn error_is_reported_and_within_the_bound() {
    let packets: Vec<Packet> = (0..4000u32)
        .map(|n| Packet {
            timestamp_ns: START + u64::from(n),
            flow: Some(flow(if n % 3 == 0 { 6 } else { 4 }, n % 1500)),
            bytes: 100 + n % 1400,
        })
        .collect();
    let mut above = 0;
    let mut erred = 0;
    for seed in 0..400 {
        let mut config = config("source", None);
        config.accuracy = Accuracy {
            epsilon: 0.02,
            delta: 0.05,
        };
        config.exact = true;
        config.seed = Some(Seed::from_u64(seed));
        config.top = 1500;
        let reports = measure(&config, &packets, 1, |_| 0);
        let report = &reports[0];
        let row = report
            .top
            .iter()
            .find(|row| row.key == "10.0.0.7")
            .expect("all keys are listed");
        above += u32::from(row.estimate - row.exact.expect("exact") > row.bound);
        let error = report.error.expect("exact");
        erred += u32::from(error.max_overestimate > 0);
        let within = |row: &&TopRow| row.estimate - row.exact.unwrap_or(0) <= row.bound;
        let share = report.top.iter().filter(within).count() as f64 / 1500.0;
        assert_eq!(share, error.within_bound);
    }
    assert!(above <= 52, "{above} of 400");
    assert_eq!(
        erred, 400,
        "1,500 keys in rows of 136 counters must collide"
    );
}

#[test]
fn empty_intervals_are_rows_and_long_gaps_are_counted() {
    let at = |seconds: u64| Packet {
        timestamp_ns: START + seconds * SECOND,
        flow: Some(flow(4, 1)),
        bytes: 60,
    };
    let year = 365 * 86_400;
    let packets = [at(0), at(3), at(3 + 61), at(3 + 61 + 62), at(year)];
    for shards in [1, 2] {
        let config = config("source", Some(SECOND));
        let reports = measure(&config, &packets, shards, |number| number);
        let rows: Vec<_> = reports
            .iter()
            .map(|r| ((r.start_ns - START) / SECOND, r.packets, r.skipped_before))
            .filter(|row| row.1 > 0 || row.0 < 5)
            .collect();
        let expected = [
            (0, 1, 0),
            (1, 0, 0),
            (2, 0, 0),
            (3, 1, 0),
            (4, 0, 0),
            (64, 1, 0),
            (126, 1, 61),
            (year, 1, year - 127),
        ];
        assert_eq!(rows, expected, "{shards} shards");
        assert_eq!(reports.len(), 5 + 2 + 60);
        assert!(reports.iter().all(|r| r.seconds == 1.0));
    }
}

#[test]
fn packets_from_the_past_count_where_the_stream_is() {
    let stamped = |offset_ns: i64| Packet {
        timestamp_ns: START.wrapping_add_signed(offset_ns),
        flow: Some(flow(4, 1)),
        bytes: 60,
    };
    let second = SECOND as i64;
    let packets = [0, second - 1, second, second - 1, -5 * second, 2 * second].map(stamped);
    for shards in [1, 2, 3] {
        let config = config("source", Some(SECOND));
        let reports = measure(&config, &packets, shards, |number| number);
        let rows: Vec<_> = reports.iter().map(|r| (r.packets, r.late)).collect();
        assert_eq!(rows, [(2, 0), (3, 2), (1, 0)], "{shards} shards");
    }
}

#[test]
fn streams_without_packets_or_without_ip_have_no_keys() {
    let config = config("5-tuple", Some(SECOND));
    assert!(measure(&config, &[], 1, |_| 0).is_empty());
    assert!(measure(&config, &[], 4, |_| 0).is_empty());
    let arp = Packet {
        timestamp_ns: START,
        flow: None,
        bytes: 42,
    };
    let reports = measure(&config, &[arp; 3], 2, |number| number);
    assert_eq!(reports.len(), 1);
    let report = &reports[0];
    assert_eq!((report.packets, report.bytes, report.unkeyed), (3, 126, 3));
    assert!(report.top.is_empty() && report.distinct == 0);
}

#[test]
fn whole_stream_is_one_interval_as_long_as_it_took() {
    let config = config("source", None);
    let packets = [0, 250_000_000, 1_500_000_000].map(|offset| Packet {
        timestamp_ns: START + offset,
        flow: Some(flow(4, 1)),
        bytes: 60,
    });
    let reports = measure(&config, &packets, 1, |_| 0);
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].seconds, 1.5);
}

#[test]
fn report_serialises_by_the_contract() {
    let mut config = config("pair", Some(SECOND));
    config.exact = true;
    let packets = [flow(4, 1), flow(4, 1), flow(6, 2)].map(|flow| Packet {
        timestamp_ns: START + 5,
        flow: Some(flow),
        bytes: 1000,
    });
    let reports = measure(&config, &packets, 1, |_| 0);
    let json = serde_json::to_value(&reports).expect("plain data");
    let expected = serde_json::json!([{
        "start": "2023-11-14T22:13:20.000000005Z",
        "seconds": 1.0,
        "packets": 3,
        "bytes": 288,
        "wire_bytes": 3000,
        "unkeyed": 0,
        "late": 0,
        "time_implausible": 0,
        "skipped_before": 0,
        "set_back_seconds": 0.0,
        "saturated": false,
        "distinct": 2,
        "f2": 5_000_000.0,
            "f2_bound": 0.0,
        "top": [
            { "key": "10.0.0.1 > 10.0.0.1", "estimate": 2000, "bound": 1, "exact": 2000 },
            { "key": "2001:db8::2 > 2001:db8::2", "estimate": 1000, "bound": 1, "exact": 1000 },
        ],
        "alarms": [],
        "error": {
            "keys": 2,
            "max_overestimate": 0,
            "mean_overestimate": 0.0,
            "within_bound": 1.0,
        },
    }]);
    assert_eq!(json, expected);
    config.exact = false;
    let json = serde_json::to_value(measure(&config, &packets, 1, |_| 0)).expect("plain data");
    assert_eq!(json[0]["f2"], 5_000_000.0, "few packets are listed");
    assert!(json[0].get("error").is_none());
    assert!(json[0]["top"][0].get("exact").is_none());
}

/// As a broken clock makes them: a packet each in a hundred thousand
/// intervals, an hour apart. Every row is there, and the short intervals never
/// take the memory of a sketch.
#[test]
fn many_tiny_intervals_are_listed() {
    let packets: Vec<Packet> = (0..100_000u64)
        .map(|n| Packet {
            timestamp_ns: START + n * 3600 * SECOND,
            flow: Some(flow(4, n as u32)),
            bytes: 60,
        })
        .collect();
    let config = config("source", Some(SECOND));
    let reports = measure(&config, &packets, 2, |number| number);
    assert_eq!(reports.len(), packets.len());
    assert!(reports[1..].iter().all(|r| r.skipped_before == 3599));
}

/// Packets in trains, over IPv4 and IPv6 in turn, add up as if they came alone.
#[test]
fn trains_add_up() {
    let config = MeasureConfig {
        seed: Some(Seed::from_u64(1)),
        exact: true,
        value: Value::Packets,
        ..MeasureConfig::new("source".parse().unwrap())
    };
    let mut measurement = config.build(1).unwrap();
    let flow = |source: u128, ip_version: u8| FlowKey {
        source,
        ip_version,
        ..FlowKey::default()
    };
    let meter = &mut measurement.meters[0];
    for number in 0..6000u64 {
        // Trains of one to five packets of each of ten keys.
        let key = u128::from(number / 5 * 7 % 5);
        let version = if number % 5 == 4 { 6 } else { 4 };
        meter.tick(number, 1);
        meter.count(&Arrival::at(1, 60), 60, Some(&flow(key + 1, version)));
    }
    meter.finish();
    let reports = measurement.collector.finish();
    assert_eq!(reports[0].packets, 6000);
    assert_eq!(
        reports[0].top.iter().map(|row| row.estimate).sum::<u64>(),
        6000
    );
    for row in &reports[0].top {
        assert_eq!(Some(row.estimate), row.exact, "{}", row.key);
        assert!([960, 240].contains(&row.estimate), "{}", row.key);
    }
}
