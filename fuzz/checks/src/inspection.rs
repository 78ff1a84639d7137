//! Rules against packets: the text of rules, a zero byte, and payloads with
//! zero bytes in between.
//!
//! The promises of [`Inspector`]: packets in one batch raise what they raise
//! one by one; a rule among others raises what it raises alone, whatever finds
//! the contents; and the counts add up.

mod seeds;

use std::sync::Arc;

use weir_inspect::{Action, InspectStatistics, Inspector, Packet, Rule, RuleSet};
use weir_packet::wire::build::{self, TcpHeader, flags};
use weir_packet::wire::{FlowKey, Headers, LinkType, protocol};

use crate::rules::load;

pub use crate::rules::WORDS;
pub use seeds::seeds;

/// Most payloads of an input: each is sent over TCP, its answer too, and over UDP.
const MAX_PAYLOADS: usize = 4;

/// Most rules that are tried alone.
const MAX_RULES_ALONE: usize = 8;

/// Panics where a promise of the inspector is broken.
pub fn check(input: &[u8]) {
    let mut parts = input.split(|byte| *byte == 0);
    let text = parts.next().unwrap_or_default();
    let payloads: Vec<&[u8]> = parts.take(MAX_PAYLOADS).collect();
    let records = conversation(&payloads);
    let packets: Vec<Packet<'_>> = records.iter().map(|record| packet(record)).collect();

    let (rules, report) = load(text);
    let rules = Arc::new(rules);
    let (alerts, statistics) = inspect(&rules, &packets, packets.len());
    check_statistics(&packets, &alerts, &statistics);
    let (one_by_one, _) = inspect(&rules, &packets, 1);
    assert_eq!(one_by_one, alerts);

    let has_state =
        |rule: &Rule| !rule.state.flow_bits.is_empty() || !rule.state.host_bits.is_empty();
    let depends_on_others = (rules.rules().iter())
        .any(|rule| rule.action == Action::Pass || has_state(rule))
        || report.superseded > 0
        || statistics.alerts_limited > 0
        || statistics.search_limited > 0
        || statistics.trials_put_off > 0;
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if !depends_on_others && rules.rules().len() <= MAX_RULES_ALONE {
        check_alone(&rules, &lines, &packets, &alerts);
    }
}

/// An alert: index of the packet, and of the rule.
type Alert = (usize, u32);

/// Inspects packets that many at a time with a new inspector.
fn inspect(
    rules: &Arc<RuleSet>,
    packets: &[Packet<'_>],
    at_a_time: usize,
) -> (Vec<Alert>, InspectStatistics) {
    let mut inspector = Inspector::new(Arc::clone(rules));
    let mut alerts = Vec::new();
    for (number, batch) in packets.chunks(at_a_time.max(1)).enumerate() {
        inspector.inspect(batch, |alert| {
            assert!(alert.packet < batch.len());
            alerts.push((number * at_a_time + alert.packet, alert.rule));
        });
    }
    (alerts, inspector.statistics())
}

fn check_statistics(packets: &[Packet<'_>], alerts: &[Alert], statistics: &InspectStatistics) {
    assert_eq!(statistics.packets, packets.len() as u64);
    assert_eq!(statistics.alerts, alerts.len() as u64);
    // Some matches are silent, and one alert may come of several.
    assert!(statistics.candidates >= statistics.false_candidates);
    assert!(statistics.alerts <= statistics.candidates - statistics.false_candidates);
    assert!(statistics.search_limited <= statistics.false_candidates);
    assert!(alerts.is_sorted());
}

/// A rule that loads alone, and as the only one with its description, raises
/// the same alerts as among the others.
fn check_alone(rules: &RuleSet, lines: &[&[u8]], packets: &[Packet<'_>], alerts: &[Alert]) {
    for line in lines {
        let (alone, report) = load(line);
        if report.rules() != 1 || report.loaded != 1 {
            continue;
        }
        let alone = Arc::new(alone);
        let description = &alone.rules()[0].description;
        let mut same = (0..)
            .zip(rules.rules())
            .filter(|(_, rule)| rule.description == *description);
        // A line of a rule over several lines may be a rule of its own.
        let (Some((number, _)), None) = (same.next(), same.next()) else {
            continue;
        };
        let (alone_alerts, _) = inspect(&alone, packets, packets.len());
        let alone_packets: Vec<usize> = alone_alerts.iter().map(|(packet, _)| *packet).collect();
        let among_others: Vec<usize> = alerts
            .iter()
            .filter(|(_, rule)| *rule == number)
            .map(|(packet, _)| *packet)
            .collect();
        assert_eq!(alone_packets, among_others, "{description:?}");
    }
}

/// A TCP connection in which every payload is sent and comes back, and a
/// datagram for each.
fn conversation(payloads: &[&[u8]]) -> Vec<Vec<u8>> {
    let client = FlowKey {
        source: 0x0a00_0001,
        destination: 0xc612_0002,
        source_port: 40_000,
        destination_port: 80,
        protocol: protocol::TCP,
        ip_version: 4,
    };
    let server = client.reversed();
    let mut next = [1000u32, 5000u32];
    let mut records = Vec::new();
    let mut send = |from_server: bool, flags: u8, payload: &[u8]| {
        let side = usize::from(from_server);
        let header = TcpHeader {
            sequence: next[side],
            acknowledgment: next[1 - side],
            flags,
            window: 64_240,
            options: &[],
        };
        let key = if from_server { &server } else { &client };
        records.push(build::tcp_packet(key, &header, payload));
        let synchronizes = u32::from(flags & flags::SYN != 0);
        next[side] = next[side].wrapping_add(payload.len() as u32 + synchronizes);
    };
    send(false, flags::SYN, b"");
    send(true, flags::SYN | flags::ACK, b"");
    send(false, flags::ACK, b"");
    for payload in payloads {
        send(false, flags::PSH | flags::ACK, payload);
        send(true, flags::PSH | flags::ACK, payload);
    }
    let datagrams = FlowKey {
        destination_port: 53,
        protocol: protocol::UDP,
        ..client
    };
    for payload in payloads {
        records.push(build::udp_packet(&datagrams, payload));
    }
    records
}

fn packet(record: &[u8]) -> Packet<'_> {
    Packet {
        headers: Headers::parse(LinkType::RawIp, record),
        bytes: record,
        timestamp_ns: 1_700_000_000_000_000_000,
        ..Packet::default()
    }
}
