//! Planted changes through meters, collector and reports.

use std::time::Duration;

use weir_measure::change::{Alarm, ChangeConfig, KeySource, Rule, SearchState};
use weir_measure::{ConfigError, IntervalReport, MeasureConfig, Measurement, Seed};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_stream::Arrival;

const START: u64 = 1_700_000_000_000_000_000;
const MS: u64 = 1_000_000;
/// Packets of an interval of a second.
const PACKETS: u64 = 1000;

/// A packet of the steady traffic: a hundred hosts talk to ten servers.
fn steady(number: u64) -> FlowKey {
    FlowKey {
        source: 0x0a00_0000 + u128::from(number * 7 % 100),
        destination: 0x0a01_0000 + u128::from(number % 10),
        ip_version: 4,
        ..FlowKey::default()
    }
}

const ATTACKER: u128 = 0x0a00_00ee;
const VICTIM: u128 = 0x0a01_0003;

fn attack() -> FlowKey {
    FlowKey {
        source: ATTACKER,
        destination: VICTIM,
        ip_version: 4,
        ..FlowKey::default()
    }
}

fn config(model: &str, key: KeyKind, keys: KeySource) -> MeasureConfig {
    MeasureConfig {
        interval: Some(Duration::from_secs(1)),
        seed: Some(Seed::from_u64(3)),
        change: Some(ChangeConfig {
            keys,
            rule: Rule {
                threshold: 0.05,
                ..Rule::new(model.parse().expect("a model"))
            },
            ..ChangeConfig::new(model.parse().expect("a model"))
        }),
        ..MeasureConfig::new(key)
    }
}

/// Time and flow of the packets of `intervals` seconds; in those that `attacks`
/// names half of the packets are the attack's.
fn stream(intervals: u64, attacks: &[u64]) -> Vec<(u64, FlowKey)> {
    (0..intervals * PACKETS)
        .map(|number| {
            let is_attack = number % 2 == 0 && attacks.contains(&(number / PACKETS));
            let flow = if is_attack { attack() } else { steady(number) };
            (START + number * MS, flow)
        })
        .collect()
}

fn run(config: &MeasureConfig, packets: &[(u64, FlowKey)], shards: usize) -> Vec<IntervalReport> {
    let Measurement {
        mut meters,
        mut timeline,
        collector,
    } = config.build(shards).expect("a configuration");
    for (number, (timestamp_ns, flow)) in packets.iter().enumerate() {
        if let Some(timeline) = &mut timeline {
            timeline.observe(number as u64, *timestamp_ns);
        }
        let meter = &mut meters[flow.source as usize % shards];
        meter.tick(number as u64, *timestamp_ns);
        meter.count(&Arrival::at(*timestamp_ns, 100), 100, Some(flow));
    }
    for meter in &mut meters {
        meter.finish();
    }
    collector.finish()
}

fn states(reports: &[IntervalReport]) -> Vec<SearchState> {
    let changes = reports.iter().map(|report| report.changes);
    changes.map(|c| c.expect("looked for").state).collect()
}

/// Interval number and key of every alarm.
fn alarms(reports: &[IntervalReport]) -> Vec<(u64, &Alarm)> {
    reports
        .iter()
        .flat_map(|report| report.alarms.iter().map(|alarm| (alarm.start_ns, alarm)))
        .map(|(start_ns, alarm)| ((start_ns - START) / (1000 * MS), alarm))
        .collect()
}

#[test]
fn an_attack_is_told_with_all_that_belongs_to_it() {
    let config = config("ewma:0.2", KeyKind::Destination, KeySource::Kept);
    let reports = run(&config, &stream(8, &[4, 5]), 1);
    let mut expected = vec![SearchState::Searched; 8];
    expected[0] = SearchState::Learning;
    expected[7] = SearchState::CutShort;
    assert_eq!(states(&reports), expected);

    let of_victim: Vec<_> = alarms(&reports)
        .into_iter()
        .filter(|(_, alarm)| alarm.key == "10.1.0.3")
        .collect();
    let when: Vec<u64> = of_victim.iter().map(|(interval, _)| *interval).collect();
    assert_eq!(when[..2], [4, 5]);
    let (_, first) = of_victim[0];
    // 500 packets of the attack, and the victim's tenth of the others, of 100
    // bytes each, where there were 100 packets before.
    assert!((first.forecast - 10_000.0).abs() < 500.0, "{first:?}");
    assert!((50_000.0..61_000.0).contains(&first.observed), "{first:?}");
    assert!(first.score > first.threshold && first.unit == "bytes");
    assert_eq!(first.since_ns, first.start_ns);
    let (_, second) = of_victim[1];
    assert_eq!(second.since_ns, first.start_ns, "it goes on");
    let attacker = &first.sources[0];
    assert_eq!(attacker.source.to_string(), "10.0.0.238");
    assert!(attacker.share > 0.8, "{first:?}");
    // Before the attack there is nothing to tell.
    assert!(alarms(&reports).iter().all(|(interval, _)| *interval >= 4));
}

/// What each source of keys finds of a source that comes and goes: it is there
/// in intervals 3 and 4, and not in 5.
#[test]
fn keys_come_from_where_they_are_asked_to() {
    let packets = stream(8, &[3, 4]);
    let found = |keys| -> Vec<u64> {
        let reports = run(&config("ma:1", KeyKind::Source, keys), &packets, 1);
        assert!(reports.is_sorted_by_key(|report| report.start_ns));
        assert_eq!(reports.len(), 8);
        let all = alarms(&reports);
        let of_attacker = all.iter().filter(|(_, alarm)| alarm.key == "10.0.0.238");
        of_attacker.map(|(interval, _)| *interval).collect()
    };
    // The rise in 3, the fall in 5.
    assert_eq!(found(KeySource::Kept), [3, 5]);
    assert_eq!(found(KeySource::Same), [3, 5]);
    // When 6 is there to ask for keys, the source is gone: its fall is missed.
    assert_eq!(found(KeySource::Next), [3]);
}

#[test]
fn a_fall_is_told_with_who_fell_silent() {
    let config = config("ma:1", KeyKind::Destination, KeySource::Same);
    let reports = run(&config, &stream(8, &[3, 4]), 1);
    let all = alarms(&reports);
    let (_, fall) = all
        .iter()
        .find(|(interval, alarm)| *interval == 5 && alarm.key == "10.1.0.3")
        .expect("the fall");
    assert!(fall.observed < fall.forecast);
    assert_eq!(fall.sources[0].source.to_string(), "10.0.0.238");
}

#[test]
fn shards_find_the_same_together() {
    for keys in [KeySource::Kept, KeySource::Same, KeySource::Next] {
        let mut config = config("nshw:0.5,0.2", KeyKind::Pair, keys);
        if let Some(change) = &mut config.change
            && keys != KeySource::Kept
        {
            change.one_in = 3;
        }
        let packets = stream(8, &[4, 5]);
        let one = run(&config, &packets, 1);
        assert!(!alarms(&one).is_empty());
        assert_eq!(one, run(&config, &packets, 3), "{keys}");
    }
}

/// Two intervals without packets: everybody fell silent, then came back. After
/// a gap of more than an hour the model learns anew.
#[test]
fn silence_is_a_change_and_a_long_gap_a_new_beginning() {
    let mut packets = stream(12, &[]);
    packets.retain(|(timestamp_ns, _)| {
        let second = (timestamp_ns - START) / (1000 * MS);
        second != 4 && second != 5
    });
    for (timestamp_ns, _) in packets.iter_mut().filter(|(t, _)| *t >= START + 8000 * MS) {
        *timestamp_ns += 3600 * 1000 * MS;
    }
    let reports = run(
        &config("ma:1", KeyKind::Destination, KeySource::Kept),
        &packets,
        1,
    );
    let at = |second: u64| {
        let start_ns = START + second * 1000 * MS;
        reports
            .iter()
            .find(|r| r.start_ns == start_ns)
            .expect("a report")
    };
    assert_eq!(
        (at(4).packets, at(4).alarms.len()),
        (0, 10),
        "ten servers fell"
    );
    assert!(at(4).alarms.iter().all(|alarm| alarm.observed.abs() < 1.0));
    assert_eq!(at(5).alarms.len(), 0, "still silent");
    assert_eq!(at(6).alarms.len(), 10, "they came back");
    assert_eq!(at(7).alarms.len(), 0);
    let after = at(3608);
    assert_eq!(after.skipped_before, 3600);
    let states = states(&reports);
    assert_eq!(states[8], SearchState::Learning);
    assert_eq!(states[9], SearchState::Searched);
    assert!(alarms(&reports).iter().all(|(interval, _)| *interval < 8));
}

/// A clock that jumps back counts what comes then as late, in the interval that
/// was reached; intervals of a packet each cost little and alarm for nothing
/// that they cannot know.
#[test]
fn lying_clocks_make_no_alarms_out_of_order() {
    let packets: Vec<_> = stream(4, &[])
        .into_iter()
        .enumerate()
        .map(|(number, (timestamp_ns, flow))| match number % 50 {
            49 => (timestamp_ns - 900 * MS, flow),
            _ => (timestamp_ns, flow),
        })
        .collect();
    let reports = run(
        &config("ma:1", KeyKind::Source, KeySource::Same),
        &packets,
        1,
    );
    assert!(reports.is_sorted_by_key(|report| report.start_ns));
    assert_eq!(reports.iter().map(|r| r.packets).sum::<u64>(), 4 * PACKETS);
    assert!(reports.iter().any(|report| report.late > 0));
}

#[test]
fn keys_without_a_place_are_counted() {
    let mut config = config("ma:1", KeyKind::Source, KeySource::Same);
    if let Some(change) = &mut config.change {
        change.max_keys = 10;
    }
    let reports = run(&config, &stream(4, &[]), 1);
    let changes = reports[2].changes.expect("looked for");
    assert_eq!(changes.queried, 10, "the same ten of both intervals");
    // Packets of one key that come soon after each other are missed together.
    let most = 2 * PACKETS;
    assert!((180..most).contains(&changes.missed), "{changes:?}");
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let good = config("ma:2", KeyKind::Source, KeySource::Kept);
    assert!(good.build(1).is_ok());
    let refused = |edit: &dyn Fn(&mut MeasureConfig, &mut ChangeConfig)| -> String {
        let mut config = good.clone();
        let mut change = config.change.take().expect("changes");
        edit(&mut config, &mut change);
        config.change = Some(change);
        match config.build(1) {
            Err(ConfigError::Change(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(&|config, _| config.interval = None).contains("interval"));
    assert!(refused(&|_, change| change.one_in = 0).contains("at least 1"));
    assert!(refused(&|_, change| change.one_in = 2).contains("same or next"));
    assert!(refused(&|_, change| change.max_keys = 0).contains("use 1 to"));
    assert!(refused(&|_, change| change.shape.width = 1).contains("at least 2"));
    assert!(refused(&|_, change| change.shape.rows = 33).contains("rows"));
    assert!(refused(&|_, change| change.rule.threshold = 0.01).contains("noise"));
    assert!(refused(&|_, change| change.rule.threshold = f64::NAN).contains("above 0"));
}
