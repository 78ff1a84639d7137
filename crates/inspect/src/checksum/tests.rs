//! Checksums of packets that `weir_packet` wrote: right, wrong, and left to the
//! network card.

use weir_packet::wire::build::{self, IpHeader, TcpHeader};
use weir_packet::wire::{FlowKey, Headers, LinkType};

use super::*;

fn of_bytes(bytes: &[u8]) -> Sum {
    of(&Packet {
        headers: Headers::parse(LinkType::RawIp, bytes),
        bytes,
        ..Packet::default()
    })
}

/// Packets of every protocol, and where their checksum stands.
fn packets(payload: &[u8]) -> Vec<(Vec<u8>, usize)> {
    let mut packets = Vec::new();
    for ip_version in [4, 6] {
        let (prefix, header_bytes) = if ip_version == 4 {
            (0, 20)
        } else {
            (0xfd << 120, 40)
        };
        let key = |protocol| FlowKey {
            source: prefix | 0x0a00_0001,
            destination: prefix | 0x0a00_0002,
            source_port: 1000,
            destination_port: 2000,
            protocol,
            ip_version,
        };
        let segment = build::tcp_packet(&key(TCP), &TcpHeader::default(), payload);
        packets.push((segment, header_bytes + 16));
        packets.push((build::udp_packet(&key(UDP), payload), header_bytes + 6));
        let protocol = if ip_version == 4 { ICMP } else { ICMPV6 };
        let mut message = Vec::new();
        build::ip(&mut message, &key(protocol), &IpHeader::default(), |out| {
            build::icmp(out, &key(protocol), 128, 0, |body| {
                body.extend_from_slice(payload)
            });
        });
        packets.push((message, header_bytes + 2));
    }
    packets
}

#[test]
fn right_checksums_are_whole_and_changed_bytes_wrong() {
    for length in [4, 5, 64, 1401] {
        for (packet, field) in packets(&vec![0x5a; length]) {
            assert_eq!(of_bytes(&packet), Sum::Whole);
            for at in [field, packet.len() - 1] {
                let mut changed = packet.clone();
                changed[at] ^= 0x10;
                assert_eq!(of_bytes(&changed), Sum::Wrong, "byte {at} of {packet:?}");
            }
        }
    }
}

#[test]
fn what_the_network_card_was_to_write_is_partial() {
    for (packet, field) in packets(b"payload") {
        let headers = Headers::parse(LinkType::RawIp, &packet);
        let mut zero = packet.clone();
        zero[field..field + 2].fill(0);
        let expected = match (headers.protocol, headers.network) {
            // There is none, which hosts take over IPv4 alone.
            (UDP, Network::Ipv4) => Sum::Unknown,
            (UDP, _) => Sum::Wrong,
            _ => Sum::Partial,
        };
        assert_eq!(of_bytes(&zero), expected);

        if matches!(headers.protocol, TCP | UDP) {
            let as_packet = Packet {
                headers,
                bytes: &packet,
                ..Packet::default()
            };
            let pseudo = !pseudo_header(&as_packet, headers.transport(&packet).len()).finish();
            let mut partial = packet.clone();
            partial[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());
            assert_eq!(of_bytes(&partial), Sum::Partial);
        }
    }
}

#[test]
fn cut_packets_are_unknown_and_wrong_headers_wrong() {
    for (packet, _) in packets(b"payload") {
        assert_eq!(of_bytes(&packet[..packet.len() - 1]), Sum::Unknown);
        if packet[0] >> 4 == 4 {
            let mut changed = packet.clone();
            changed[8] ^= 1;
            assert_eq!(of_bytes(&changed), Sum::Wrong);
        }
    }
}
