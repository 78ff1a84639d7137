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
    alerts_with(rules, Vlans::default(), link, records)
}

fn alerts_with(
    rules: &Arc<RuleSet>,
    vlans: Vlans,
    link: LinkType,
    records: &[Vec<u8>],
) -> Vec<(Alert, u32)> {
    let packets = packets_of(link, records);
    let options = InspectOptions {
        vlans,
        ..InspectOptions::default()
    };
    let mut inspector = Inspector::with_options(Arc::clone(rules), &options);
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

/// An Ethernet frame with VLAN tags.
fn tagged(tags: &[u16], packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    for tci in tags {
        frame.extend([0x81, 0]);
        frame.extend(tci.to_be_bytes());
    }
    frame.extend([8, 0]);
    frame.extend_from_slice(packet);
    frame
}

/// A packet in a frame with a tag, in UDP to a port behind a header of 8 bytes with this network
/// identifier.
fn in_overlay(port: u16, first: [u8; 4], identifier: u32, packet: &[u8]) -> Vec<u8> {
    let payload = [
        &first[..],
        &(identifier << 8).to_be_bytes(),
        &tagged(&[7], packet),
    ];
    udp(TUNNEL, (5, port), &payload.concat())
}

/// The handshake's second packet goes elsewhere: of each way the alerts of the stream, where all
/// packets go one way, and where that one goes another.
fn assert_separate(
    link: LinkType,
    one: &dyn Fn(&[u8]) -> Vec<u8>,
    other: &dyn Fn(&[u8]) -> Vec<u8>,
) {
    let rules = load(RULES);
    let talk = Talk::new().asks(b"secret");
    let whole: Vec<Vec<u8>> = talk.records().iter().map(|r| one(r)).collect();
    let mut halves = whole.clone();
    halves[1] = other(&talk.records()[1]);
    for (vlans, of_halves) in [(Vlans::Separate, 0), (Vlans::Ignore, 1)] {
        let count = |records: &[Vec<u8>]| {
            let found = sids(&alerts_with(&rules, vlans, link, records));
            found.iter().filter(|sid| **sid == 1).count()
        };
        assert_eq!((count(&whole), count(&halves)), (1, of_halves), "{vlans:?}");
    }
}

#[test]
fn flows_in_two_vlans_are_two() {
    let way = |tags: &'static [u16]| move |packet: &[u8]| tagged(tags, packet);
    let pairs: [(&[u16], &[u16]); 5] = [
        (&[10], &[20]),
        (&[10], &[]),
        (&[10, 30], &[10, 31]),
        (&[10, 30], &[30, 10]),
        (&[1, 2, 3], &[1, 2, 4]),
    ];
    for (one, other) in pairs {
        assert_separate(LinkType::Ethernet, &way(one), &way(other));
    }
    // Priorities, and tags of priority alone, are no other VLAN.
    let rules = load(RULES);
    let talk = Talk::new().asks(b"secret");
    let pairs: [(&[u16], &[u16]); 2] = [(&[10], &[0xa00a]), (&[], &[0x6000])];
    for (one, other) in pairs {
        let mut records: Vec<Vec<u8>> = talk.records().iter().map(|r| tagged(one, r)).collect();
        records[1] = tagged(other, &talk.records()[1]);
        let found = sids(&alerts(&rules, LinkType::Ethernet, &records));
        assert!(found.contains(&1), "{one:?}, {other:?}");
    }
}

#[test]
fn fragments_in_two_vlans_are_of_two_datagrams() {
    let rules = load(r#"alert udp any any -> any 53 (content:"secret"; sid:3;)"#);
    let packet = udp(ENDS, (5, 53), b"a secret");
    let pieces = [
        ipv4(UDP, ENDS, 0x2000, &packet[20..28]),
        ipv4(UDP, ENDS, 1, &packet[28..]),
    ];
    for (vlan, expected) in [(10, 1), (20, 0)] {
        let records = [tagged(&[10], &pieces[0]), tagged(&[vlan], &pieces[1])];
        let found = alerts(&rules, LinkType::Ethernet, &records);
        assert_eq!(found.len(), expected);
    }
}

#[test]
fn flows_in_two_networks_of_one_tunnel_are_two() {
    let vxlan =
        |identifier| move |packet: &[u8]| in_overlay(4789, [8, 0, 0, 0], identifier, packet);
    assert_separate(LinkType::RawIpv4, &vxlan(5), &vxlan(6));
    let geneve =
        |identifier| move |packet: &[u8]| in_overlay(6081, [0, 0, 0x65, 0x58], identifier, packet);
    assert_separate(LinkType::RawIpv4, &geneve(5), &geneve(6));
    // NVGRE: the lowest byte of the key tells flows apart, and not networks.
    let nvgre = |key: [u8; 4]| {
        move |packet: &[u8]| {
            let inside = [&[0x20, 0, 0x65, 0x58], &key[..], &tagged(&[], packet)].concat();
            ipv4(GRE, TUNNEL, 0, &inside)
        }
    };
    assert_separate(
        LinkType::RawIpv4,
        &nvgre([0, 0, 5, 1]),
        &nvgre([0, 0, 6, 1]),
    );
    let rules = load(RULES);
    let talk = Talk::new().asks(b"secret");
    let mut records: Vec<Vec<u8>> = (talk.records().iter())
        .map(|r| nvgre([0, 0, 5, 1])(r))
        .collect();
    records[1] = nvgre([0, 0, 5, 9])(&talk.records()[1]);
    assert!(sids(&alerts(&rules, LinkType::RawIpv4, &records)).contains(&1));
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
