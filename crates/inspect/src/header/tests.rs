//! What Linux takes and what it drops, as seen there through a TUN device
//! (`tests/interop/test_evasions.py` repeats a part of it).

use weir_packet::wire::protocol::{NO_NEXT_HEADER, TCP};
use weir_packet::wire::{Headers, LinkType};

use super::*;
use crate::test_packets::{as_packet, udp};

const ENDS: (u32, u32) = (0x0a00_0001, 0x0a00_0002);

fn ipv4(options: &[u8]) -> Vec<u8> {
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4), 0);
    let mut packet = crate::test_packets::ipv4(TCP, ENDS, 0, &[&options[..], &[0; 20]].concat());
    packet[0] = 0x40 | (5 + options.len() / 4) as u8;
    let tcp_offset = 20 + options.len() + 12;
    packet[tcp_offset] = 0x50;
    packet
}

/// A segment behind extension headers, given without the number of the next.
fn ipv6(headers: &[(u8, &[u8])]) -> Vec<u8> {
    let numbers = headers.iter().map(|(kind, _)| *kind).chain([TCP]);
    let mut packet = vec![
        0x60,
        0,
        0,
        0,
        0,
        0,
        numbers.clone().next().unwrap_or(TCP),
        64,
    ];
    packet.extend([9; 32]);
    for ((_, rest), next) in headers.iter().zip(numbers.skip(1)) {
        packet.push(next);
        packet.extend(*rest);
    }
    let mut segment = [0; 20];
    segment[12] = 0x50;
    packet.extend(segment);
    let length = (packet.len() - 40) as u16;
    packet[4..6].copy_from_slice(&length.to_be_bytes());
    packet
}

fn are_refused(bytes: &[u8]) -> bool {
    let headers = Headers::parse(LinkType::RawIp, bytes);
    assert_eq!(headers.fault, None, "{bytes:02x?}");
    has_refused_options(&Packet {
        headers,
        bytes,
        ..Packet::default()
    })
}

#[test]
fn options_of_ipv4() {
    let taken: [&[u8]; 9] = [
        &[],
        &[1; 40],
        &[7, 7, 4, 0, 0, 0, 0],
        &[7, 7, 8, 0, 0, 0, 0],
        &[68, 8, 5, 0, 0, 0, 0, 0],
        &[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        &[148, 4, 0, 0],
        &[158, 4, 0, 0],
        &[0, 68, 40, 5],
    ];
    for options in taken {
        assert!(!are_refused(&ipv4(options)), "{options:?}");
    }
    let refused: [&[u8]; 12] = [
        &[131, 7, 4, 10, 0, 0, 1],
        &[137, 7, 4, 10, 0, 0, 1],
        &[68, 1, 5, 0],
        &[68, 40, 5, 0],
        &[158, 0, 0, 0],
        &[1, 1, 1, 158],
        &[7, 7, 4, 0, 0, 0, 0, 7, 7, 4, 0, 0, 0, 0],
        &[7, 7, 3, 0, 0, 0, 0],
        &[7, 7, 5, 0, 0, 0, 0],
        &[68, 8, 4, 0, 0, 0, 0, 0],
        &[68, 8, 5, 1, 0, 0, 0, 0],
        &[148, 3, 0, 0],
    ];
    for options in refused {
        assert!(are_refused(&ipv4(options)), "{options:?}");
    }
}

#[test]
fn headers_of_ipv6() {
    const PADDED: &[u8] = &[0, 1, 4, 0, 0, 0, 0];
    let home_address = [&[2, 1, 2, 0, 0, 201, 16][..], &[0; 16]].concat();
    let taken: [&[(u8, &[u8])]; 9] = [
        &[],
        &[(HOP_BY_HOP, PADDED)],
        &[(DESTINATION_OPTIONS, PADDED); 3],
        &[(HOP_BY_HOP, PADDED), (DESTINATION_OPTIONS, PADDED)],
        &[(HOP_BY_HOP, &[0, 5, 2, 0, 0, 1, 0])],
        &[(DESTINATION_OPTIONS, &[0, 30, 4, 0, 0, 0, 0])],
        &[(DESTINATION_OPTIONS, &home_address)],
        &[(ROUTING, &[0, 0, 0, 0, 0, 0, 0])],
        &[(ROUTING, &[0, 4, 1, 0, 0, 0, 0])],
    ];
    for headers in taken {
        assert!(!are_refused(&ipv6(headers)), "{headers:?}");
    }
    let nine = [&[2][..], &[30, 0].repeat(9), &[1, 2, 0, 0]].concat();
    let refused: [&[(u8, &[u8])]; 9] = [
        &[(DESTINATION_OPTIONS, PADDED), (HOP_BY_HOP, PADDED)],
        &[(DESTINATION_OPTIONS, &[0, 158, 4, 0, 0, 0, 0])],
        &[(DESTINATION_OPTIONS, &[0, 30, 40, 0, 0, 0, 0])],
        &[(DESTINATION_OPTIONS, &[0, 1, 4, 0, 0, 7, 0])],
        &[(
            DESTINATION_OPTIONS,
            &[1, 1, 6, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0],
        )],
        &[(DESTINATION_OPTIONS, &nine)],
        &[(HOP_BY_HOP, &[0, 5, 1, 0, 1, 1, 0])],
        &[(HOP_BY_HOP, &[0, 1, 3, 0, 0, 0, 30])],
        &[(ROUTING, &[0, 0, 1, 0, 0, 0, 0])],
    ];
    for headers in refused {
        assert!(are_refused(&ipv6(headers)), "{headers:?}");
    }
    assert!(!are_refused(&ipv6(&[(NO_NEXT_HEADER, PADDED)])));
}

#[test]
fn lengths_are_believed_as_far_as_the_wire_had_them() {
    let datagram = udp(ENDS, (1, 2), b"four");
    let with_length = |length: u8| {
        let mut datagram = datagram.clone();
        datagram[25] = length;
        datagram
    };
    for (length, is_false, payload) in [
        (12, false, 4),
        (10, false, 2),
        (8, false, 0),
        (7, true, 4),
        (0, true, 4),
        (13, true, 4),
    ] {
        let datagram = with_length(length);
        let packet = as_packet(&datagram, 0);
        assert_eq!(has_false_length(&packet), is_false, "{length}");
        assert_eq!(packet.payload().len(), payload, "{length}");
    }
    let cut = as_packet(&datagram[..29], 0);
    assert!(has_false_length(&cut));
    assert!(!has_false_length(&Packet {
        is_cut: true,
        ..cut
    }));
}

#[test]
fn jumbo_payload_options() {
    let jumbogram = |options: &[u8], segment_bytes: usize| {
        let mut packet = ipv6(&[(HOP_BY_HOP, options)]);
        packet.resize(packet.len() + segment_bytes, 0);
        packet[4..6].fill(0);
        packet
    };
    // 70,028 bytes behind the IPv6 header.
    let long = [0, 194, 4, 0, 1, 0x11, 0x8c];
    assert!(!are_refused(&jumbogram(&long, 70_000)));
    let with_length = ipv6(&[(HOP_BY_HOP, &long)]);
    assert!(are_refused(&with_length));
    // A packet without a length has whatever is there, behind options that are taken.
    assert!(!are_refused(&jumbogram(&[0, 1, 4, 0, 0, 0, 0], 0)));
    assert!(are_refused(&jumbogram(&[0, 0x9e, 4, 0, 0, 0, 0], 0)));
}
