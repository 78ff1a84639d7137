//! Packets of every link type, network, transport and tunnel.

use weir_packet::wire::build::{self, IpHeader, TcpHeader, flags};
use weir_packet::wire::{FlowKey, protocol};

use crate::{Seed, seed};

/// EtherTypes, address families, protocols and ports that lead somewhere.
pub const WORDS: &[&[u8]] = &[
    &[0x08, 0x00],
    &[0x08, 0x06],
    &[0x81, 0x00],
    &[0x86, 0xdd],
    &[0x88, 0xa8],
    &[0x91, 0x00],
    &[0x65, 0x58],
    &[0x12, 0xb5],
    &[0x11, 0x94],
    &[0, 0, 0, 2],
    &[30, 0, 0, 0],
    &[0x45, 0],
    &[0x60, 0, 0, 0],
    &[protocol::HOP_BY_HOP, 0],
    &[protocol::IPV4],
    &[protocol::TCP],
    &[protocol::UDP],
    &[protocol::IPV6],
    &[protocol::ROUTING, 0],
    &[protocol::FRAGMENT, 0],
    &[protocol::GRE],
    &[protocol::ESP],
    &[protocol::AH, 4],
    &[protocol::DESTINATION_OPTIONS, 0],
    &[protocol::SCTP],
];

/// One packet for each branch of the parser.
pub fn seeds() -> Vec<Seed> {
    let tcp = segment(4);
    let udp = datagram(4, b"datagram");
    let udp6 = datagram(6, b"datagram");
    let mut vlan = tagged(&[(protocol::ETHER_VLAN, 42)], protocol::ETHER_IPV4);
    vlan.extend(&udp);
    let tags = [(protocol::ETHER_QINQ, 7), (protocol::ETHER_VLAN, 42)];
    let mut qinq = tagged(&tags, protocol::ETHER_IPV6);
    qinq.extend(&udp6);
    let nine_tags = tagged(&[(protocol::ETHER_VLAN, 1); 9], protocol::ETHER_IPV4);
    let mut padded = build::ethernet_frame(&datagram(4, b"short"));
    padded.resize(60, 0);
    vec![
        seed("empty", []),
        seed("ethernet_tcp4", build::ethernet_frame(&tcp)),
        seed("ethernet_tcp6", build::ethernet_frame(&segment(6))),
        seed("ethernet_udp4_padded", padded),
        seed("ethernet_udp6", build::ethernet_frame(&udp6)),
        seed("ethernet_vlan", vlan),
        seed("ethernet_qinq", qinq),
        seed("ethernet_nine_tags", nine_tags),
        seed("ethernet_arp", arp()),
        seed("raw_udp4", udp.clone()),
        seed("raw_udp6", udp6.clone()),
        seed("raw_sctp", other(4, protocol::SCTP, &[0x5a; 28])),
        seed("raw_icmp", echo(4)),
        seed("raw_icmpv6", echo(6)),
        seed(
            "raw_esp",
            other(4, protocol::ESP, &[0, 0, 16, 0, 0, 0, 0, 1, 9, 9, 9, 9]),
        ),
        seed("raw_nat_t", nat_t()),
        seed("raw_ipv4_options", ipv4_options()),
        seed("raw_first_fragment", fragment(4, 0, true)),
        seed("raw_later_fragment", fragment(4, 185, false)),
        seed("raw_first_fragment6", fragment(6, 0, true)),
        seed("raw_later_fragment6", fragment(6, 185, false)),
        seed("raw_ipv6_extensions", extensions()),
        seed("raw_ipv6_long_chain", long_chain()),
        seed("raw_ip_in_ip", other(4, protocol::IPV4, &tcp)),
        seed("raw_6in4", other(4, protocol::IPV6, &udp6)),
        seed("raw_4in6", other(6, protocol::IPV4, &udp)),
        seed("raw_gre", gre(&tcp)),
        seed("raw_gre_bridged", gre_bridged(&udp6)),
        seed("raw_vxlan", vxlan(&build::ethernet_frame(&tcp))),
        seed(
            "raw_vxlan_in_vxlan",
            vxlan(&build::ethernet_frame(&vxlan(&tcp))),
        ),
        seed(
            "sll_udp4",
            [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0], &udp[..]].concat(),
        ),
        seed(
            "sll2_udp6",
            [
                &[
                    0x86, 0xdd, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0,
                ],
                &udp6[..],
            ]
            .concat(),
        ),
        seed("null_udp4", [&[2, 0, 0, 0], &udp[..]].concat()),
        seed("loop_udp6", [&[0, 0, 0, 24], &udp6[..]].concat()),
    ]
}

fn key(ip_version: u8, protocol: u8) -> FlowKey {
    let (source, destination) = match ip_version {
        4 => (0xc612_0001, 0xc613_0002),
        _ => (0xfd00_0018 << 96 | 1, 0xfd00_0019 << 96 | 2),
    };
    FlowKey {
        source,
        destination,
        source_port: 4711,
        destination_port: 4712,
        protocol,
        ip_version,
    }
}

fn segment(ip_version: u8) -> Vec<u8> {
    let header = TcpHeader {
        sequence: 1,
        acknowledgment: 2,
        flags: flags::PSH | flags::ACK,
        window: 64_240,
        // No operation, timestamps, maximum segment size.
        options: &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 2, 4, 5, 0xb4],
    };
    build::tcp_packet(
        &key(ip_version, protocol::TCP),
        &header,
        b"GET / HTTP/1.1\r\n\r\n",
    )
}

fn datagram(ip_version: u8, payload: &[u8]) -> Vec<u8> {
    build::udp_packet(&key(ip_version, protocol::UDP), payload)
}

/// A packet of any protocol.
fn other(ip_version: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let key = key(ip_version, protocol);
    build::ip(&mut packet, &key, &IpHeader::default(), |out| {
        out.extend_from_slice(payload);
    });
    packet
}

fn echo(ip_version: u8) -> Vec<u8> {
    let (protocol, request) = match ip_version {
        4 => (protocol::ICMP, 8),
        _ => (protocol::ICMPV6, 128),
    };
    let key = key(ip_version, protocol);
    let mut packet = Vec::new();
    build::ip(&mut packet, &key, &IpHeader::default(), |out| {
        build::icmp(out, &key, request, 0, |out| {
            out.extend([0, 1, 0, 2, 0x61, 0x62])
        });
    });
    packet
}

fn fragment(ip_version: u8, fragment_offset: u16, more_fragments: bool) -> Vec<u8> {
    let key = key(ip_version, protocol::UDP);
    let header = IpHeader {
        identification: 77,
        dont_fragment: false,
        more_fragments,
        fragment_offset,
        ..IpHeader::default()
    };
    let mut packet = Vec::new();
    build::ip(&mut packet, &key, &header, |out| {
        build::udp(out, &key, |out| out.extend([0x5a; 16]));
    });
    packet
}

fn nat_t() -> Vec<u8> {
    let mut key = key(4, protocol::UDP);
    key.source_port = protocol::PORT_NAT_T;
    key.destination_port = protocol::PORT_NAT_T;
    build::udp_packet(&key, &[0, 0, 16, 0, 0, 0, 0, 1, 9, 9, 9, 9])
}

fn vxlan(frame: &[u8]) -> Vec<u8> {
    let mut key = key(4, protocol::UDP);
    key.destination_port = protocol::PORT_VXLAN;
    build::udp_packet(&key, &[&[8, 0, 0, 0, 0, 0, 42, 0], frame].concat())
}

/// GRE with checksum, key and sequence number.
fn gre(packet: &[u8]) -> Vec<u8> {
    let header = [0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 42, 0, 0, 0, 1];
    other(4, protocol::GRE, &[&header, packet].concat())
}

/// A bridged frame in GRE without options.
fn gre_bridged(packet: &[u8]) -> Vec<u8> {
    let frame = build::ethernet_frame(packet);
    other(
        6,
        protocol::GRE,
        &[&[0, 0, 0x65, 0x58], &frame[..]].concat(),
    )
}

/// A datagram behind an IPv4 header of 24 bytes with a router alert.
fn ipv4_options() -> Vec<u8> {
    let mut packet = datagram(4, b"options");
    packet.splice(20..20, [148, 4, 0, 0]);
    packet[0] = 0x46;
    packet[3] += 4;
    packet
}

/// Hop-by-hop options, routing, destination options and AH in front of UDP.
fn extensions() -> Vec<u8> {
    let udp = datagram(6, b"extended");
    let mut chain = vec![protocol::ROUTING, 0, 1, 4, 0, 0, 0, 0];
    chain.extend([protocol::DESTINATION_OPTIONS, 0, 0, 0, 0, 0, 0, 0]);
    chain.extend([protocol::AH, 0, 1, 4, 0, 0, 0, 0]);
    chain.extend([protocol::UDP, 4, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 1]);
    chain.extend([0xaa; 12]);
    chain.extend(&udp[40..]);
    other(6, protocol::HOP_BY_HOP, &chain)
}

/// More extension headers than are walked.
fn long_chain() -> Vec<u8> {
    let chain = [protocol::DESTINATION_OPTIONS, 0, 1, 4, 0, 0, 0, 0].repeat(20);
    other(6, protocol::DESTINATION_OPTIONS, &chain)
}

fn arp() -> Vec<u8> {
    let mut frame = Vec::new();
    build::ethernet(
        &mut frame,
        [0xff; 6],
        [2, 0, 0, 0, 0, 1],
        protocol::ETHER_ARP,
    );
    frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend([
        2, 0, 0, 0, 0, 1, 198, 18, 0, 1, 0, 0, 0, 0, 0, 0, 198, 18, 0, 2,
    ]);
    frame
}

/// An Ethernet header with tags in front of a packet of `ether_type`.
fn tagged(tags: &[(u16, u16)], ether_type: u16) -> Vec<u8> {
    let mut frame = Vec::new();
    let types = tags.iter().map(|(tag_type, _)| *tag_type);
    let mut following = types.skip(1).chain([ether_type]);
    let first = tags.first().map_or(ether_type, |(tag_type, _)| *tag_type);
    build::ethernet(&mut frame, [2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], first);
    for (_, tci) in tags {
        build::vlan_tag(&mut frame, *tci, following.next().unwrap_or(ether_type));
    }
    frame
}
