//! Packets in packets.

use super::streams::Talk;
use super::*;
use crate::packet::MAX_TUNNELS;
use weir_packet::wire::FlowKey;
use weir_packet::wire::protocol::{GRE, IPV4, UDP};

const RULES: &str = r#"alert tcp any any -> any 80 (flow:established; content:"secret"; sid:1;)
                       alert ip any any -> any any (content:"secret"; sid:2;)
                       alert udp any any -> any 53 (content:"secret"; sid:3;)"#;
const TUNNEL: (u32, u32) = (0xc612_0001, 0xc612_0002);

/// A packet in GRE between two ends.
fn in_gre(ends: (u32, u32), packet: &[u8]) -> Vec<u8> {
    ipv4(GRE, ends, 0, &[&[0, 0, 8, 0], packet].concat())
}

fn alerts(rules: &Arc<RuleSet>, link: LinkType, records: &[Vec<u8>]) -> Vec<(Alert, u32)> {
    let packets = packets_of(link, records);
    let mut inspector = Inspector::new(Arc::clone(rules));
    let mut alerts = Vec::new();
    inspector.inspect(&packets, |alert| {
        let sid = rules.rules()[alert.rule as usize].description.sid;
        alerts.push((alert, sid));
    });
    alerts
}

fn sids(alerts: &[(Alert, u32)]) -> Vec<u32> {
    alerts.iter().map(|(_, sid)| *sid).collect()
}

#[test]
fn a_stream_in_a_tunnel_is_inspected_and_so_is_the_tunnel() {
    let rules = load(RULES);
    let talk = Talk::new().asks(b"a sec").asks(b"ret, secret");
    let records: Vec<Vec<u8>> = talk.records().iter().map(|r| in_gre(TUNNEL, r)).collect();
    let alerts = alerts(&rules, LinkType::RawIpv4, &records);
    assert_eq!(sids(&alerts), [2, 1, 2]);
    let (outer, inner) = (&alerts[0].0, &alerts[1].0);
    assert_eq!((outer.packet, outer.flow.protocol), (4, GRE));
    assert_eq!((inner.packet, inner.flow.destination_port), (4, 80));
    let record = inner.flow_record.expect("a flow");
    assert_eq!(
        (record.direction, record.application),
        (Direction::ToServer, None)
    );
    assert_eq!((record.packets_to_server, record.packets_to_client), (4, 1));
    let sent: usize = [0, 2, 3, 4]
        .map(|index| talk.records()[index].len())
        .iter()
        .sum();
    assert_eq!(record.bytes_to_server, sent as u64);
    let around = outer.flow_record.map(|record| record.direction);
    assert_eq!(around, None, "GRE is no flow");
}

#[test]
fn flows_in_two_tunnels_are_two() {
    let rules = load(RULES);
    let talk = Talk::new().asks(b"secret");
    let other = (TUNNEL.0, TUNNEL.1 + 1);
    let through = |ends: (u32, u32)| talk.records().iter().map(move |r| in_gre(ends, r));
    let mut records: Vec<Vec<u8>> = through(TUNNEL).collect();
    records.extend(through(other));
    let of_streams = |alerts: Vec<(Alert, u32)>| sids(&alerts).iter().filter(|s| **s == 1).count();
    assert_eq!(of_streams(alerts(&rules, LinkType::RawIpv4, &records)), 2);
    // Half of the handshake in each: established in neither.
    let mut halves: Vec<Vec<u8>> = through(TUNNEL).collect();
    halves[1] = in_gre(other, &talk.records()[1]);
    assert_eq!(of_streams(alerts(&rules, LinkType::RawIpv4, &halves)), 0);
}

#[test]
fn what_pppoe_and_fragmented_tunnels_carry_is_inspected() {
    let rules = load(RULES);
    let packet = udp(ENDS, (5, 53), b"secret");
    let mut frame = vec![0; 12];
    frame.extend([
        0x88,
        0x64,
        0x11,
        0,
        0,
        1,
        0,
        2 + packet.len() as u8,
        0,
        0x21,
    ]);
    frame.extend(&packet);
    let found = alerts(&rules, LinkType::Ethernet, &[frame]);
    assert_eq!(sids(&found), [2, 3]);
    let expected = FlowKey {
        source: u128::from(ENDS.0),
        destination: u128::from(ENDS.1),
        source_port: 5,
        destination_port: 53,
        protocol: UDP,
        ip_version: 4,
    };
    assert_eq!(found[1].0.flow, expected);

    let carried = in_gre(TUNNEL, &packet);
    let after = &carried[20..];
    let pieces = [
        ipv4(GRE, TUNNEL, 0x2000, &after[..16]),
        ipv4(GRE, TUNNEL, 2, &after[16..]),
    ];
    let found = alerts(&rules, LinkType::RawIpv4, &pieces);
    let of_inner = found.iter().filter(|(_, sid)| *sid == 3).count();
    assert_eq!(of_inner, 1, "{found:?}");
}

#[test]
fn tunnels_in_tunnels_are_followed_so_far_and_no_farther() {
    let rules = load(r#"alert udp any any -> any 53 (content:"secret"; sid:3;)"#);
    let mut packet = udp(ENDS, (5, 53), b"secret");
    for depth in 1..=MAX_TUNNELS + 1 {
        packet = ipv4(IPV4, TUNNEL, 0, &packet);
        let expected = usize::from(depth <= MAX_TUNNELS);
        let found = alerts(&rules, LinkType::RawIpv4, &[packet.clone()]);
        assert_eq!(found.len(), expected, "depth {depth}");
    }
}
