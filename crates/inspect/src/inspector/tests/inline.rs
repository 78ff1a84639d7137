//! Rules that stop packets.

use super::streams::Talk;
use super::*;
use weir_packet::wire::reply::Towards;
use weir_packet::wire::views::Tcp;

/// Why each packet is stopped, and the (packet, sid) pairs that are raised.
struct Stopped {
    reasons: Vec<Option<InspectDrop>>,
    raised: Vec<(usize, u32)>,
    replies: Vec<(usize, Towards, Vec<u8>)>,
}

fn inline(rules: &str, records: &[Vec<u8>]) -> Stopped {
    let rules = load(rules);
    let options = InspectOptions {
        is_inline: true,
        ..InspectOptions::default()
    };
    let mut inspector = Inspector::with_options(Arc::clone(&rules), &options);
    let mut stopped = Stopped {
        reasons: vec![None; records.len()],
        raised: Vec::new(),
        replies: Vec::new(),
    };
    for (index, record) in records.iter().enumerate() {
        inspector.inspect(&[as_packet(record, index as u64)], |alert| {
            let sid = rules.rules()[alert.rule as usize].description.sid;
            stopped.raised.push((index, sid));
        });
        for refusal in inspector.refusals() {
            assert_eq!(refusal.packet, 0);
            stopped.reasons[index] = Some(refusal.reason);
            let replies = refusal.replies.iter();
            stopped
                .replies
                .extend(replies.map(|reply| (index, reply.towards, reply.bytes.clone())));
        }
    }
    stopped
}

use InspectDrop::{DatagramDropped, FlowDropped, RuleDrop, RuleReject, StreamConflict};

const DROP: &str =
    r#"drop tcp any any -> any any (flow:established,to_server; content:"secret"; sid:1;)"#;

#[test]
fn the_packet_that_completes_a_match_is_dropped_and_all_that_follows() {
    let talk = Talk::new()
        .asks(b"a sec")
        .answers(b"go on")
        .asks(b"ret")
        .asks(b"secret")
        .answers(b"x");
    let stopped = inline(DROP, talk.records());
    let expected = [
        None,
        None,
        None,
        None,
        None,
        Some(RuleDrop),
        Some(FlowDropped),
        Some(FlowDropped),
    ];
    assert_eq!(
        (&stopped.reasons[..], &stopped.raised[..]),
        (&expected[..], &[(5, 1)][..])
    );
    assert_eq!(stopped.replies, []);
}

#[test]
fn rules_beside_the_path_stop_nothing() {
    let rules = load(DROP);
    let mut inspector = Inspector::new(rules);
    let talk = Talk::new().asks(b"secret").asks(b"secret");
    let packets: Vec<Packet<'_>> = talk.records().iter().map(|r| as_packet(r, 1)).collect();
    let mut alerts = Vec::new();
    inspector.inspect(&packets, |alert| alerts.push(alert.packet));
    assert_eq!((alerts, inspector.refusals()), (vec![3, 4], &[][..]));
}

#[test]
fn messages_are_dropped_with_their_flow() {
    let rule = r#"drop http any any -> any any (http.uri; content:"/evil"; sid:1;)"#;
    let talk = Talk::new()
        .asks(b"GET /good HTTP/1.1\r\n\r\n")
        .asks(b"GET /ev")
        .asks(b"il HTTP/1.1\r\n\r\n")
        .answers(b"HTTP/1.1 200 OK\r\n\r\n");
    let stopped = inline(rule, talk.records());
    assert_eq!(
        stopped.reasons[3..],
        [None, None, Some(RuleDrop), Some(FlowDropped)]
    );
}

/// As in Suricata: what is asked of packets stops packets, what is asked of
/// flows stops flows.
#[test]
fn rules_about_packets_drop_packets_and_rules_about_addresses_drop_flows() {
    let by_packet = r#"drop udp any any -> any any (content:"bad"; sid:1;)"#;
    let bad = udp(ENDS, (1, 2), b"bad");
    let good = udp(ENDS, (1, 2), b"good");
    let stopped = inline(
        by_packet,
        &[good.clone(), bad.clone(), good.clone(), bad.clone()],
    );
    assert_eq!(
        stopped.reasons,
        [None, Some(RuleDrop), None, Some(RuleDrop)]
    );

    let by_address = "drop ip 10.0.0.1 any -> any any (sid:1;)";
    let back = udp((ENDS.1, ENDS.0), (2, 1), b"good");
    let stopped = inline(by_address, &[good.clone(), back]);
    assert_eq!(stopped.reasons, [Some(RuleDrop), Some(FlowDropped)]);

    let pass = "pass udp any any -> any any (content:\"bad\"; sid:2;)\n";
    let stopped = inline(&[pass, by_packet].concat(), &[bad]);
    assert_eq!((stopped.reasons, stopped.raised), (vec![None], vec![]));
}

#[test]
fn a_rule_drops_where_its_alerts_are_silent_or_suppressed() {
    let bad = vec![udp(ENDS, (1, 2), b"bad"); 3];
    let silent = r#"drop udp any any -> any any (content:"bad"; noalert; sid:1;)"#;
    let stopped = inline(silent, &bad);
    assert_eq!(
        (stopped.reasons, stopped.raised),
        (vec![Some(RuleDrop); 3], vec![])
    );
    let limited = r#"drop udp any any -> any any (content:"bad"; threshold:type limit,track by_src,count 1,seconds 60; sid:1;)"#;
    let stopped = inline(limited, &bad);
    assert_eq!(
        (stopped.reasons, stopped.raised),
        (vec![Some(RuleDrop); 3], vec![(0, 1)])
    );
    let filtered = r#"drop udp any any -> any any (content:"bad"; detection_filter:track by_src,count 1,seconds 60; sid:1;)"#;
    let stopped = inline(filtered, &bad);
    assert_eq!(stopped.reasons, [None, Some(RuleDrop), Some(RuleDrop)]);
}

#[test]
fn rejected_segments_reset_the_connection_at_the_numbers_of_its_ends() {
    let rule = DROP.replace("drop", "rejectboth");
    // The receiver has seen "a sec" and misses two bytes.
    let talk = Talk::new()
        .asks(b"a sec")
        .places(7, b"t")
        .places(5, b"re")
        .answers(b"x");
    let stopped = inline(&rule, talk.records());
    assert_eq!(
        stopped.reasons[3..],
        [None, None, Some(RuleReject), Some(FlowDropped)]
    );
    let [
        (5, Towards::Sender, to_sender),
        (5, Towards::Receiver, to_receiver),
    ] = &stopped.replies[..]
    else {
        panic!("{:?}", stopped.replies);
    };
    let numbers = |record: &[u8]| {
        let rst = Tcp::new(&record[20..]).expect("a segment");
        (rst.sequence_number(), rst.acknowledgment_number())
    };
    assert_eq!(numbers(to_sender), (9001, 1001 + 7));
    assert_eq!(numbers(to_receiver), (1001 + 5, 9001));
}

#[test]
fn fragments_of_a_dropped_datagram_do_not_complete_it_elsewhere() {
    let rule = r#"drop udp any any -> any any (content:"secret"; sid:1;)"#;
    let datagram = udp(ENDS, (1, 2), b"a long secret word");
    let after = &datagram[20..];
    let pieces = [
        ipv4(17, ENDS, 0x2000, &after[..16]),
        ipv4(17, ENDS, 2, &after[16..]),
    ];
    let records = [&pieces[..], &pieces[..]].concat();
    let stopped = inline(rule, &records);
    let again = Some(DatagramDropped);
    assert_eq!(stopped.reasons, [None, Some(RuleDrop), again, again]);
    assert_eq!(stopped.raised, [(1, 1)]);
}

#[test]
fn other_bytes_for_a_place_of_a_stream_are_stopped() {
    let talk = Talk::new().asks(b"good").places(0, b"evil").asks(b"more");
    let stopped = inline(DROP, talk.records());
    assert_eq!(stopped.reasons[3..], [None, Some(StreamConflict), None]);
}
