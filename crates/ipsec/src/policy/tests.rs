//! Verdicts, per direction, on packets of all kinds.

use weir_packet::wire::LinkType;

use super::*;

fn selector(source: &str, destination: &str, destination_port: &str) -> Selector {
    Selector {
        source: source.parse().expect("addresses"),
        destination: destination.parse().expect("addresses"),
        destination_port: destination_port.parse().expect("ports"),
        ..Selector::default()
    }
}

fn policy(selector: Selector, direction: Direction, action: Action) -> Policy {
    Policy {
        selector,
        direction,
        action,
    }
}

/// A UDP packet from 198.18.1.1 to `198.18.to.1:port`.
fn udp(to: u8, port: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend([198, 18, 1, 1, 198, 18, to, 1]);
    packet.extend([0x30, 0x39]);
    packet.extend(port.to_be_bytes());
    packet.extend([0, 8, 0, 0]);
    packet
}

fn outbound(spd: &Spd, packet: &[u8]) -> Verdict {
    let headers = Headers::parse(LinkType::RawIp, packet);
    spd.outbound(&headers, packet, 0, 7)
}

fn clear_text(spd: &Spd, packet: &[u8]) -> Verdict {
    let headers = Headers::parse(LinkType::RawIp, packet);
    spd.inbound_clear_text(&headers, packet, 0)
}

fn tuple(packet: &[u8]) -> Tuple {
    let headers = Headers::parse(LinkType::RawIp, packet);
    Tuple::from_headers(&headers, packet, 0)
}

fn gateway(unmatched: Unmatched) -> Spd {
    let out = Direction::Outbound;
    Spd::new(
        &[
            policy(
                selector("any", "198.18.2.0/24", "22"),
                Direction::Both,
                Action::Bypass,
            ),
            policy(
                selector("any", "198.18.2.0/24", "any"),
                out,
                Action::Protect(vec![0, 1]),
            ),
            policy(
                selector("198.18.1.0/24", "198.18.3.0/24", "any"),
                Direction::Inbound,
                Action::Protect(vec![2]),
            ),
            policy(
                selector("any", "198.18.4.0/24", "any"),
                Direction::Both,
                Action::Discard,
            ),
        ],
        Defaults {
            unmatched,
            clear_text_is_checked: true,
            ..Defaults::default()
        },
        4,
    )
}

#[test]
fn first_match_decides_per_direction() {
    let spd = gateway(Unmatched::Discard);
    assert_eq!(outbound(&spd, &udp(2, 22)), Verdict::Bypass);
    assert_eq!(outbound(&spd, &udp(2, 80)), Verdict::Protect(1));
    let no_policy = Verdict::Drop(DropReason::NoPolicy);
    assert_eq!(outbound(&spd, &udp(3, 80)), no_policy);
    let discard = Verdict::Drop(DropReason::PolicyDiscard);
    assert_eq!(outbound(&spd, &udp(4, 80)), discard);

    assert_eq!(clear_text(&spd, &udp(2, 22)), Verdict::Bypass);
    assert_eq!(clear_text(&spd, &udp(2, 80)), no_policy);
    assert_eq!(
        clear_text(&spd, &udp(3, 80)),
        Verdict::Drop(DropReason::UnprotectedInbound)
    );
    assert_eq!(clear_text(&spd, &udp(4, 80)), discard);

    let spd = gateway(Unmatched::Bypass);
    assert_eq!(outbound(&spd, &udp(3, 80)), Verdict::Bypass);
    assert_eq!(clear_text(&spd, &udp(2, 80)), Verdict::Bypass);
}

#[test]
fn what_may_come_out_of_an_association() {
    let spd = gateway(Unmatched::Discard);
    assert!(spd.accepts(2, &tuple(&udp(3, 80))));
    assert!(!spd.accepts(2, &tuple(&udp(2, 80))));
    assert!(!spd.accepts(3, &tuple(&udp(2, 80))), "no policy names it");
    assert!(!spd.accepts(4, &tuple(&udp(3, 80))), "there is none");
}

#[test]
fn both_directions_of_a_flow_have_one_association() {
    let spd = gateway(Unmatched::Discard);
    let there = tuple(&udp(2, 80));
    let back = Tuple {
        key: there.key.reversed(),
        ..there
    };
    for hash in 0..4 {
        assert_eq!(spd.association_of_flow(&there, hash), Some(hash % 2));
        assert_eq!(spd.association_of_flow(&back, hash), Some(hash % 2));
    }
    assert_eq!(spd.association_of_flow(&tuple(&udp(3, 80)), 1), None);
}

#[test]
fn what_carries_no_ip_passes_by_name_only() {
    let closed = gateway(Unmatched::Bypass);
    let mut allowed = LinkProtocols::default();
    allowed.add("arp").expect("a protocol");
    let open = Spd::new(
        &[],
        Defaults {
            allowed,
            clear_text_is_checked: true,
            ..Defaults::default()
        },
        0,
    );
    let mut arp = vec![0; 12];
    arp.extend([8, 6]);
    arp.extend([0; 28]);
    let mut lldp = arp.clone();
    lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
    let unseen = Verdict::Drop(DropReason::NotSeenThrough);
    for (frame, by_name) in [(&arp, Verdict::Bypass), (&lldp, unseen)] {
        let headers = Headers::parse(LinkType::Ethernet, frame);
        for (spd, verdict) in [(&closed, unseen), (&open, by_name)] {
            assert_eq!(spd.outbound(&headers, frame, 0, 0), verdict);
            assert_eq!(spd.inbound_clear_text(&headers, frame, 0), verdict);
        }
    }
}

#[test]
fn what_cannot_be_read_does_not_pass() {
    let spd = gateway(Unmatched::Bypass);
    let malformed = Verdict::Drop(DropReason::MalformedHeaders);
    assert_eq!(outbound(&spd, &udp(2, 80)[..19]), malformed);
    assert_eq!(clear_text(&spd, &udp(2, 80)[..19]), malformed);
    assert_eq!(outbound(&spd, &[]), malformed);
    let headers = Headers::parse(LinkType::Other(1), &[0; 60]);
    assert_eq!(spd.outbound(&headers, &[0; 60], 0, 0), malformed);
}

/// Ports that decide and cannot be read: UDP shorter than its header, and a
/// record that was cut.
#[test]
fn ports_that_decide_must_be_there() {
    let spd = gateway(Unmatched::Bypass);
    let mut short = udp(2, 80);
    short[3] = 24;
    let malformed = Verdict::Drop(DropReason::MalformedHeaders);
    assert_eq!(outbound(&spd, &short), malformed);
    let cut = Verdict::Drop(DropReason::PacketCut);
    assert_eq!(outbound(&spd, &udp(2, 80)[..24]), cut);
    // Where no policy names ports, they do not matter.
    short[18] = 3;
    assert_eq!(outbound(&spd, &short), Verdict::Bypass);
}

#[test]
fn fragments_follow_the_first_where_ports_decide() {
    let spd = gateway(Unmatched::Discard);
    let follows = |packet: &[u8]| {
        let headers = Headers::parse(LinkType::RawIp, packet);
        (
            spd.outbound_follows_first(&headers, packet, 0),
            spd.inbound_follows_first(&headers, packet, 0),
        )
    };
    let mut first = udp(2, 22);
    first[6] = 0x20;
    let mut later = first.clone();
    later[7] = 1;
    assert_eq!(outbound(&spd, &first), Verdict::Bypass);
    assert_eq!(outbound(&spd, &later), Verdict::AsFirstFragment);
    assert_eq!(
        (follows(&first), follows(&later)),
        ((true, true), (true, true))
    );
    // ICMP has no ports, and elsewhere no policy names them.
    for (at, value) in [(9, 1), (18, 4)] {
        let mut other = later.clone();
        other[at] = value;
        assert_eq!(follows(&other), (false, false));
        assert!(outbound(&spd, &other) != Verdict::AsFirstFragment);
    }
}
