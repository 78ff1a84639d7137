//! The inspector against one rule after the other.

mod hostile;
mod inline;
mod keywords;
mod pairs;
mod passes;
mod reload;
mod streams;
mod tunnels;

use std::collections::BTreeSet;

use proptest::prelude::*;
use weir_packet::wire::LinkType;

use super::*;
use crate::flow::FlowLimits;
use crate::rule::{Action, Rule, Variables};
use crate::rule_set::RuleFile;
use crate::test_packets::{TcpFields, as_packet, icmp, ipv4, tcp, udp};

fn load(text: &str) -> Arc<RuleSet> {
    let file = RuleFile {
        name: "test",
        text: text.as_bytes(),
    };
    let (rules, report) = RuleSet::load(&[file], &Variables::default()).expect("an engine");
    assert_eq!(report.faults, [], "{text}");
    assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    Arc::new(rules)
}

/// Records of one kind of link, all at one time.
fn packets_of(link: LinkType, records: &[Vec<u8>]) -> Vec<Packet<'_>> {
    (records.iter())
        .map(|bytes| Packet {
            headers: Headers::parse(link, bytes),
            bytes,
            ..Packet::default()
        })
        .collect()
}

/// The (packet, sid) pairs that are raised.
fn raised(rules: &Arc<RuleSet>, records: &[Vec<u8>]) -> (Vec<(usize, u32)>, InspectStatistics) {
    let packets: Vec<Packet<'_>> = (0u64..)
        .zip(records)
        .map(|(number, record)| Packet {
            is_cut: true,
            ..as_packet(record, number * 1_000_000)
        })
        .collect();
    let mut inspector = Inspector::new(Arc::clone(rules));
    let mut raised = Vec::new();
    inspector.inspect(&packets, |alert| {
        let sid = rules.rules()[alert.rule as usize].description.sid;
        raised.push((alert.packet, sid));
    });
    (raised, inspector.statistics())
}

/// The same by asking every rule about every packet, where there are no
/// streams.
fn by_scan(rules: &RuleSet, records: &[Vec<u8>]) -> Vec<(usize, u32)> {
    let mut flows = FlowTable::new(FlowLimits::default(), Vec::new());
    let (trackers, mut statistics) = (SharedTrackers::default(), InspectStatistics::default());
    let mut scratch = Scratch {
        header_verdicts: vec![(0, false); rules.headers().len()],
        ..Scratch::default()
    };
    let (mut raised, mut passed_flows) = (Vec::new(), BTreeSet::new());
    for (index, record) in records.iter().enumerate() {
        let packet = as_packet(record, index as u64 * 1_000_000);
        let (flow, brought) = flows.track(&packet, Sum::Unknown);
        // A new connection may have the place of an old one.
        let flow = flow.map(|index| flows.flow(index).id());
        assert!(!brought.arrival.is_in_stream);
        scratch.packet_number += 1;
        let is_fragment = packet.headers.fragment != Fragment::Whole;
        let mut trial = Trial {
            rules,
            trackers: &trackers,
            statistics: &mut statistics,
            scratch: &mut scratch,
            subject: Subject {
                packet: &packet,
                payload: if is_fragment { &[] } else { packet.payload() },
                flow: brought.state,
                is_set_aside: brought.refused.is_some(),
                tuple: Tuple::from_headers(&packet.headers, record, 0),
            },
            passed: None,
            verdict: None,
        };
        let numbers = 0..rules.rules().len() as u32;
        let asks_for_payload = |rule: u32| !rules.rules()[rule as usize].payload.is_empty();
        let matching: Vec<u32> = numbers
            .filter(|rule| !(is_fragment && asks_for_payload(*rule)))
            .filter(|rule| trial.matches_packet(*rule))
            .collect();
        let mut passing = (matching.iter().map(|rule| &rules.rules()[*rule as usize]))
            .filter(|rule| rule.action == Action::Pass)
            .peekable();
        let is_passed = passing.peek().is_some() || passed_flows.contains(&flow);
        if flow.is_some() && passing.any(Rule::is_about_flow_alone) {
            passed_flows.insert(flow);
        }
        if !is_passed {
            let sid = |rule: u32| rules.rules()[rule as usize].description.sid;
            raised.extend(matching.into_iter().map(|rule| (index, sid(rule))));
        }
    }
    raised
}

const ENDS: (u32, u32) = (0x0a00_0001, 0xc612_0202);

#[test]
fn headers_lengths_and_flags_decide() {
    let rules = load(
        r#"alert tcp 10.0.0.0/8 any -> any 80 (msg:"1"; content:"x"; sid:1;)
           alert tcp any 80 <> any any (content:"x"; sid:2;)
           alert udp any any -> any any (dsize:>2; sid:3;)
           alert udp any any -> any any (dsize:1<>3; content:"x"; sid:4;)
           alert tcp any any -> any any (flags:S; sid:5;)
           alert tcp any any -> any any (flags:SA+,12; sid:6;)
           alert icmp any any -> any any (content:"x"; offset:1; sid:7;)
           alert ip any any -> any any (content:"fragment"; sid:8;)
           alert udp any any -> any any (content:"fragment"; sid:9;)
           alert ip any any -> any 53 (content:"fragment"; sid:10;)
           alert ip any any -> any any (content:"fragment"; flow:to_server; sid:11;)"#,
    );
    let segment = |flags, payload: &[u8]| {
        let fields = TcpFields {
            flags,
            ..TcpFields::default()
        };
        tcp(ENDS, (1234, 80), fields, payload)
    };
    let records = [
        segment(0x10, b"x"),
        segment(0x02, b""),
        segment(0xd2, b""),
        udp(ENDS, (1, 2), b"x"),
        udp(ENDS, (1, 2), b"xx"),
        udp(ENDS, (1, 2), b"xxx"),
        icmp(ENDS, 8, b"x"),
        icmp(ENDS, 8, b"-x"),
        ipv4(17, ENDS, 0x2000, b"\x00\x01\x00\x35.... fragment"),
        ipv4(17, ENDS, 0x0004, b"a fragment"),
        udp(ENDS, (1, 53), b"no fragment"),
        ipv4(99, ENDS, 0, b"no fragment"),
    ];
    let (pairs, statistics) = raised(&rules, &records);
    let expected = [
        (0, vec![1, 2]),
        (1, vec![5]),
        (2, vec![6]),
        (4, vec![4]),
        (5, vec![3]),
        (7, vec![7]),
        (10, vec![3, 8, 9, 10, 11]),
        (11, vec![8]),
    ];
    let expected: Vec<(usize, u32)> = expected
        .into_iter()
        .flat_map(|(packet, sids)| sids.into_iter().map(move |sid| (packet, sid)))
        .collect();
    assert_eq!(pairs, expected);
    assert_eq!(statistics.alerts, expected.len() as u64);
    assert_eq!(
        statistics.candidates - statistics.false_candidates,
        statistics.alerts
    );
}

#[test]
fn false_candidates_are_told_by_stage() {
    let rules = load(
        r#"alert udp any any -> any 53 (content:"needle"; sid:1;)
           alert udp any any -> any any (content:"needle"; dsize:>100; sid:2;)
           alert udp any any -> any any (content:"needle"; flowbits:isset,seen; sid:3;)
           alert udp any any -> any any (content:"needle"; content:"thread"; sid:4;)
           alert udp any any -> any any (content:"needle"; sid:5;)"#,
    );
    let (pairs, statistics) = raised(&rules, &[udp(ENDS, (1, 2), b"a needle, a needle")]);
    assert_eq!(pairs, [(0, 5)]);
    let stages = statistics.false_candidates_by_stage;
    assert_eq!(
        (stages.header, stages.conditions, stages.bits, stages.texts),
        (1, 1, 1, 1)
    );
    assert_eq!(stages.exact_compare, 1, "the second needle");
    // Digits of other numbers than those that are looked for.
    let digits = |number: u32| format!("{:08x}", number.wrapping_mul(0x9e37_79b1));
    let many: String = (1..1000)
        .map(|sid| {
            let content = digits(sid);
            format!("alert udp any any -> any any (content:\"{content}\"; sid:{sid};)\n")
        })
        .collect();
    let text: String = (10_000..11_000).map(|n| digits(n) + "-").collect();
    let (pairs, statistics) = raised(&load(&many), &[udp(ENDS, (1, 2), text.as_bytes())]);
    let stages = statistics.false_candidates_by_stage;
    assert_eq!((pairs.len(), statistics.candidates), (0, 0));
    assert!(stages.filter + stages.group_compare > 0, "{stages:?}");
}

#[test]
fn a_packet_that_passes_raises_nothing() {
    let rules = load(
        r#"alert udp any any -> any any (content:"bad"; sid:1;)
           pass udp any any -> any any (content:"good"; sid:2;)
           drop udp any any -> any any (content:"worse"; sid:3;)
           reject udp any any -> any any (content:"worst"; sid:4;)"#,
    );
    let texts: [&[u8]; 4] = [b"bad", b"bad but good", b"bad, worse", b"worst"];
    let records = texts.map(|text| udp(ENDS, (1, 2), text));
    let (pairs, statistics) = raised(&rules, &records);
    assert_eq!(pairs, [(0, 1), (2, 1), (2, 3), (3, 4)]);
    assert_eq!(statistics.passed_packets, 1);
}

#[test]
fn alerts_of_one_packet_are_bounded_and_the_rest_is_counted() {
    let text: String = (1..=300)
        .map(|sid| format!("alert udp any any -> any any (content:\"x\"; sid:{sid};)\n"))
        .collect();
    let records = [udp(ENDS, (1, 2), b"x"), udp(ENDS, (1, 2), b"y")];
    let (pairs, statistics) = raised(&load(&text), &records);
    assert_eq!(pairs.len(), MAX_ALERTS_PER_PACKET);
    assert_eq!((statistics.alerts, statistics.alerts_limited), (255, 1));
}

/// Headers, conditions and contents that meet often.
fn rule_options() -> impl Strategy<Value = String> {
    let action = proptest::sample::select(vec!["alert", "alert", "alert", "drop", "pass"]);
    let header = proptest::sample::select(vec![
        "ip any any -> any any",
        "ip any any <> 10.0.0.2 any",
        "tcp any any -> any any",
        "tcp 10.0.0.1 any -> any 80",
        "tcp any 80 <> any any",
        "udp any any -> any [53,80]",
        "udp !10.0.0.1 any -> any !80",
        "icmp any any -> any any",
        "http any any -> any any",
        "dns any any -> any any",
    ]);
    let conditions = proptest::sample::select(vec![
        "",
        "",
        "",
        "flow:established;",
        "flow:to_server;",
        "flow:to_client,established;",
        "flow:not_established;",
        "dsize:<4;",
        "flags:A+;",
    ]);
    let payload = proptest::sample::select(vec![
        "",
        "content:\"a\";",
        "content:\"AB\"; nocase;",
        "content:\"ab\"; depth:2;",
        "content:\"a\"; content:\"b\"; within:1;",
        "content:!\"ab\";",
        "content:\"b\"; pcre:\"/^a/R\";",
        "pcre:\"/a.b/\";",
        "content:\"GET\"; content:!\"b\";",
    ]);
    (action, header, conditions, payload).prop_map(|(action, header, conditions, payload)| {
        format!("{action} {header} ({conditions} {payload}")
    })
}

fn record() -> impl Strategy<Value = Vec<u8>> {
    let ends = proptest::sample::select(vec![
        ((0x0a00_0001, 0x0a00_0002), (1000, 80)),
        ((0x0a00_0002, 0x0a00_0001), (80, 1000)),
        ((0x0a00_0001, 0x0a00_0003), (1000, 53)),
        ((0x0a00_0003, 0x0a00_0001), (53, 1000)),
    ]);
    let letters = proptest::collection::vec(proptest::sample::select(b"aabAB".to_vec()), 0..7);
    let payload = prop_oneof![
        4 => letters,
        1 => Just(b"GET /ab HTTP/1.1\r\n".to_vec()),
        1 => Just(b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x02ab\0\0\x01\0\x01".to_vec()),
    ];
    // Handshakes that come no further than their second packet, which acknowledges what was
    // not sent: whoever sends it, no receiver takes it for the end of one.
    let segment = proptest::sample::select(vec![(0x02, 0, 0), (0x12, 0, 1 << 30), (0x10, 9, 0)]);
    (0..6, ends, payload, segment, 0usize..40).prop_map(
        |(kind, (ends, ports), payload, (flags, sequence, acknowledgement), cut)| {
            let fields = TcpFields {
                flags,
                sequence,
                acknowledgement,
            };
            let mut record = match kind {
                0..=2 => tcp(ends, ports, fields, &payload),
                3 => udp(ends, ports, &payload),
                4 => icmp(ends, 8, &payload),
                _ => ipv4(17, ends, 0x2000 | cut as u16 & 1, &payload),
            };
            if cut == 39 {
                record.truncate(cut);
            }
            record
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn inspector_equals_a_scan_of_all_rules(
        options in proptest::collection::vec(rule_options(), 1..12),
        records in proptest::collection::vec(record(), 1..24),
    ) {
        let text: String = (1..)
            .zip(&options)
            .map(|(sid, options): (u32, &String)| format!("{options} sid:{sid};)\n"))
            .collect();
        let rules = load(&text);
        let (pairs, _) = raised(&rules, &records);
        prop_assert_eq!(pairs, by_scan(&rules, &records));
    }

    /// Whatever the bytes, nothing panics, and the counts add up.
    #[test]
    fn packets_of_any_bytes_are_inspected(
        records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..20),
        link in proptest::sample::select(vec![LinkType::RawIp, LinkType::RawIpv4, LinkType::RawIpv6]),
    ) {
        let rules = load(
            "alert ip any any -> any any (content:\"|00|\"; sid:1;)\n\
             alert tcp any any -> any any (flags:0; sid:2;)\n\
             alert ip any any -> any any (content:!\"|00|\"; pcre:\"/[^a]/\"; sid:3;)",
        );
        let packets = packets_of(link, &records);
        let mut inspector = Inspector::new(rules);
        let mut alerts = 0;
        inspector.inspect(&packets, |_| alerts += 1);
        let statistics = inspector.statistics();
        prop_assert_eq!(statistics.alerts, alerts);
        prop_assert_eq!(statistics.candidates, statistics.false_candidates + alerts);
        let stages = statistics.false_candidates_by_stage;
        prop_assert_eq!(statistics.false_candidates, stages.conditions + stages.bits + stages.texts);
    }
}
