//! Replies read back field by field.

use weir_packet::wire::build::IpHeader;
use weir_packet::wire::protocol::{ETHER_IPV4, ETHER_IPV6, ETHER_VLAN, ICMP, ICMPV6};
use weir_packet::wire::views::Icmp;
use weir_packet::wire::{Headers, LinkType, internet_checksum};

use super::*;

const CLIENT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn key(ip_version: u8, protocol: u8) -> FlowKey {
    let (source, destination) = match ip_version {
        4 => (0x0a00_0001, 0xc612_0202),
        _ => (0xfd00 << 112 | 1, 0xfd00 << 112 | 2),
    };
    FlowKey {
        source,
        destination,
        source_port: 40_000,
        destination_port: 80,
        protocol,
        ip_version,
    }
}

/// A frame with two VLAN tags.
fn frame(ip_packet: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    build::ethernet(&mut frame, SERVER_MAC, CLIENT_MAC, ETHER_VLAN);
    build::vlan_tag(&mut frame, 0x2042, ETHER_VLAN);
    let ether_type = if ip_packet[0] >> 4 == 4 {
        ETHER_IPV4
    } else {
        ETHER_IPV6
    };
    build::vlan_tag(&mut frame, 7, ether_type);
    frame.extend_from_slice(ip_packet);
    frame
}

fn packet(bytes: &[u8]) -> Packet<'_> {
    Packet {
        headers: Headers::parse(LinkType::Ethernet, bytes),
        bytes,
        ..Packet::default()
    }
}

fn replies_to(ip_packet: &[u8], to: RejectTo, receiver_next: Option<u32>) -> Vec<Reply> {
    let frame = frame(ip_packet);
    let packet = packet(&frame);
    replies(&packet, &packet, to, receiver_next)
}

/// Reads a reply, whose checksums must be right.
fn read(reply: &Reply) -> (Headers, FlowKey) {
    let headers = Headers::parse(LinkType::Ethernet, &reply.bytes);
    assert_eq!(headers.fault, None);
    let key = FlowKey::from_headers(&headers, &reply.bytes).expect("a flow");
    let transport = headers.transport(&reply.bytes);
    if key.ip_version == 4 {
        let header = &headers.ip_packet(&reply.bytes)[..20];
        assert_eq!(internet_checksum(header), 0);
    }
    match key.protocol {
        ICMP => assert_eq!(internet_checksum(transport), 0),
        _ => assert_eq!(build::transport_checksum(transport, &key), 0),
    }
    (headers, key)
}

#[test]
fn resets_have_the_numbers_that_each_end_expects() {
    for ip_version in [4, 6] {
        let key = key(ip_version, TCP);
        let header = TcpHeader {
            sequence: u32::MAX - 1,
            acknowledgment: 5000,
            flags: flags::ACK | flags::FIN,
            ..TcpHeader::default()
        };
        let segment = build::tcp_packet(&key, &header, b"evil");
        let replies = replies_to(&segment, RejectTo::Both, Some(u32::MAX - 9));
        let [to_sender, to_receiver] = &replies[..] else {
            panic!("{replies:?}");
        };
        assert_eq!(
            (to_sender.towards, to_receiver.towards),
            (Towards::Sender, Towards::Receiver)
        );

        let (headers, found) = read(to_sender);
        assert_eq!(found, key.reversed());
        let rst = Tcp::new(headers.transport(&to_sender.bytes)).expect("a segment");
        // Four bytes and FIN, across the wrap.
        assert_eq!(
            (rst.sequence_number(), rst.acknowledgment_number()),
            (5000, 3)
        );
        assert_eq!(rst.flags(), flags::RST | flags::ACK);
        assert_eq!(
            (&to_sender.bytes[..6], &to_sender.bytes[6..12]),
            (&CLIENT_MAC[..], &SERVER_MAC[..])
        );
        let tags: Vec<u16> = headers.vlan_tcis(&to_sender.bytes).collect();
        assert_eq!((tags.len(), tags[0]), (2, 0x2042));

        let (headers, found) = read(to_receiver);
        assert_eq!(found, key);
        let rst = Tcp::new(headers.transport(&to_receiver.bytes)).expect("a segment");
        assert_eq!(
            (rst.sequence_number(), rst.acknowledgment_number()),
            (u32::MAX - 9, 5000)
        );
        assert_eq!(&to_receiver.bytes[..6], SERVER_MAC);
    }
}

#[test]
fn a_syn_is_refused_as_a_closed_port_would_and_its_receiver_hears_nothing() {
    let header = TcpHeader {
        sequence: 99,
        flags: flags::SYN,
        ..TcpHeader::default()
    };
    let segment = build::tcp_packet(&key(4, TCP), &header, b"");
    let replies = replies_to(&segment, RejectTo::Both, None);
    let [reply] = &replies[..] else {
        panic!("{replies:?}");
    };
    let (headers, _) = read(reply);
    let rst = Tcp::new(headers.transport(&reply.bytes)).expect("a segment");
    assert_eq!(
        (rst.sequence_number(), rst.acknowledgment_number()),
        (0, 100)
    );
}

#[test]
fn errors_quote_the_packet_and_stay_within_their_length() {
    for (ip_version, most_bytes) in [(4, 576), (6, 1280)] {
        let key = key(ip_version, UDP);
        let datagram = build::udp_packet(&key, &[7; 1400]);
        let replies = replies_to(&datagram, RejectTo::Both, None);
        let [to_sender, to_receiver] = &replies[..] else {
            panic!("{replies:?}");
        };
        let (headers, found) = read(to_sender);
        assert_eq!(
            (found.source, found.destination),
            (key.destination, key.source)
        );
        assert_eq!(headers.ip_packet(&to_sender.bytes).len(), most_bytes);
        let error = Icmp::new(headers.transport(&to_sender.bytes)).expect("a message");
        let expected = if ip_version == 4 { (3, 3) } else { (1, 4) };
        assert_eq!((error.icmp_type(), error.code()), expected);
        assert!(datagram.starts_with(error.body()));

        let (headers, found) = read(to_receiver);
        assert_eq!(
            (found.source, found.destination),
            (key.source, key.destination)
        );
        let error = Icmp::new(headers.transport(&to_receiver.bytes)).expect("a message");
        let quoted = Headers::parse(LinkType::RawIp, error.body());
        let quoted = FlowKey::from_headers(&quoted, error.body()).expect("a flow");
        assert_eq!(quoted, key.reversed(), "what the receiver would have sent");
    }
}

#[test]
fn what_no_host_may_answer_is_not_answered() {
    let rst = TcpHeader {
        flags: flags::RST,
        ..TcpHeader::default()
    };
    assert_eq!(
        replies_to(
            &build::tcp_packet(&key(4, TCP), &rst, b""),
            RejectTo::Both,
            None
        ),
        []
    );
    let group = FlowKey {
        destination: 0xe000_00fb,
        ..key(4, UDP)
    };
    assert_eq!(
        replies_to(&build::udp_packet(&group, b"x"), RejectTo::Both, None),
        []
    );
    for (version, protocol, icmp_type, answered) in [
        (4, ICMP, 3, false),
        (4, ICMP, 8, true),
        (6, ICMPV6, 1, false),
        (6, ICMPV6, 128, true),
    ] {
        let key = FlowKey {
            source_port: 0,
            destination_port: 0,
            ..key(version, protocol)
        };
        let mut message = Vec::new();
        build::ip(&mut message, &key, &IpHeader::default(), |out| {
            build::icmp(out, &key, icmp_type, 0, |body| {
                body.extend_from_slice(&[0; 4])
            });
        });
        let replies = replies_to(&message, RejectTo::Source, None);
        assert_eq!(
            replies.len(),
            usize::from(answered),
            "{protocol} {icmp_type}"
        );
    }
    let mut broadcast = frame(&build::udp_packet(&key(4, UDP), b"x"));
    broadcast[..6].fill(0xff);
    let broadcast = packet(&broadcast);
    assert_eq!(replies(&broadcast, &broadcast, RejectTo::Source, None), []);
}

#[test]
fn lengths_in_link_headers_are_those_of_the_reply() {
    let datagram = build::udp_packet(&key(4, UDP), &[7; 40]);
    let length = |bytes: usize| (bytes as u16).to_be_bytes();
    let mut pppoe = [SERVER_MAC, CLIENT_MAC].concat();
    pppoe.extend([0x88, 0x64, 0x11, 0, 0, 9]);
    pppoe.extend(length(2 + datagram.len()));
    pppoe.extend([0, 0x21]);
    let mut snap = [SERVER_MAC, CLIENT_MAC].concat();
    snap.extend(length(8 + datagram.len()));
    snap.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    for (link, behind) in [(pppoe, 2), (snap, 8)] {
        let at = if behind == 2 { 18 } else { 12 };
        let record = [&link[..], &datagram].concat();
        let packet = packet(&record);
        let replies = replies(&packet, &packet, RejectTo::Source, None);
        let (headers, _) = read(&replies[0]);
        let answer_bytes = replies[0].bytes.len() - link.len();
        assert_eq!(headers.ip_packet(&replies[0].bytes).len(), answer_bytes);
        assert_eq!(replies[0].bytes[at..at + 2], length(behind + answer_bytes));
    }
    let mut mpls = [SERVER_MAC, CLIENT_MAC].concat();
    mpls.extend([0x88, 0x47, 0, 0, 0x11, 64]);
    mpls.extend(&datagram);
    let mpls = packet(&mpls);
    assert_eq!(replies(&mpls, &mpls, RejectTo::Source, None), []);
}
