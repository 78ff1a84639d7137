//! Headers cut, lying and nested, against known offsets.

use proptest::prelude::*;

use super::*;
use crate::wire::protocol::{AH, DESTINATION_OPTIONS, HOP_BY_HOP, ROUTING};

/// Ethernet II header with the given EtherType.
fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

fn ipv4(protocol: u8, fragment_field: u16, payload: &[u8]) -> Vec<u8> {
    let total = 20 + payload.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 1]);
    packet.extend(fragment_field.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 198, 18, 1, 1, 198, 18, 2, 2]);
    packet.extend(payload);
    packet
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    packet.extend(Ipv6Addr::LOCALHOST.octets());
    packet.extend(Ipv6Addr::UNSPECIFIED.octets());
    packet.extend(payload);
    packet
}

fn tcp(flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() / 4;
    let mut segment = vec![0x12, 0x67, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2];
    segment.extend([(words as u8) << 4, flags, 1, 0, 0, 0, 0, 0]);
    segment.extend(options);
    segment.extend(payload);
    segment
}

const UDP_HEADER: [u8; 8] = [0x12, 0x67, 0, 53, 0, 8, 0, 0];

#[test]
fn tcp_over_tagged_ethernet() {
    let packet = ipv4(TCP, 0x4000, &tcp(0x12, &[1, 1, 1, 0], b"GET /"));
    let mut tagged = vec![0x20, 0x2a, 0x81, 0x00, 0x00, 0x07, 0x08, 0x00];
    tagged.extend(&packet);
    let mut frame = ethernet(0x88a8, &tagged);
    let end = frame.len() as u32;
    frame.extend([0; 6]);
    let headers = Headers::parse(LinkType::Ethernet, &frame);
    assert_eq!(
        headers,
        Headers {
            network: Network::Ipv4,
            protocol: TCP,
            fragment: Fragment::Whole,
            fault: None,
            ether_type: ETHER_IPV4,
            vlan_offset: 14,
            vlan_tags: 2,
            tcp_flags: 0x12,
            network_offset: 22,
            transport_offset: 42,
            payload_offset: 66,
            source_port: 0x1267,
            destination_port: 80,
            end_offset: end,
        }
    );
    assert_eq!(headers.vlan_tcis(&frame).collect::<Vec<_>>(), [0x202a, 7]);
    assert_eq!(headers.payload(&frame), b"GET /");
    assert_eq!(headers.ip_packet(&frame), &packet[..]);
}

#[test]
fn every_link_type_finds_the_network_header() {
    let four = ipv4(UDP, 0, &UDP_HEADER);
    let six = ipv6(UDP, &UDP_HEADER);
    let with = |prefix: &[u8], packet: &[u8]| [prefix, packet].concat();
    let sll = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x86, 0xdd];
    let mut sll2 = [0u8; 20];
    sll2[..2].copy_from_slice(&[0x08, 0x00]);
    let cases = [
        (LinkType::RawIp, four.clone(), Network::Ipv4, 0),
        (LinkType::RawIp, six.clone(), Network::Ipv6, 0),
        (LinkType::RawIpv4, four.clone(), Network::Ipv4, 0),
        (LinkType::RawIpv6, six.clone(), Network::Ipv6, 0),
        (
            LinkType::CiscoHdlc,
            with(&[0x0f, 0, 8, 0], &four),
            Network::Ipv4,
            4,
        ),
        (LinkType::LinuxSll, with(&sll, &six), Network::Ipv6, 16),
        (LinkType::LinuxSll2, with(&sll2, &four), Network::Ipv4, 20),
        (LinkType::Null, with(&[2, 0, 0, 0], &four), Network::Ipv4, 4),
        (LinkType::Null, with(&[0, 0, 0, 30], &six), Network::Ipv6, 4),
        (LinkType::Loop, with(&[0, 0, 0, 24], &six), Network::Ipv6, 4),
    ];
    for (link, record, network, offset) in cases {
        let headers = Headers::parse(link, &record);
        assert_eq!(headers.fault, None, "{link:?}");
        assert_eq!(headers.network, network, "{link:?}");
        assert_eq!(headers.network_offset, offset, "{link:?}");
        assert_eq!(headers.destination_port, 53, "{link:?}");
    }
    let headers = Headers::parse(LinkType::Other(147), &four);
    assert_eq!(headers.fault, Some(Fault::UnknownLinkType));
}

#[test]
fn a_link_header_that_names_its_protocol_first_may_still_be_cut() {
    let headers = Headers::parse(LinkType::LinuxSll2, &[0x1e, 0]);
    assert_eq!(headers.fault, Some(Fault::LinkHeaderCut));
    assert_eq!((headers.network_offset, headers.end_offset), (0, 0));
}

#[test]
fn ipv6_extensions_are_walked() {
    let chain = [
        &[ROUTING, 0, 0, 0, 0, 0, 0, 0][..],
        &[DESTINATION_OPTIONS, 0, 0, 0, 0, 0, 0, 0],
        &[AH, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[UDP, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0],
        &UDP_HEADER,
    ]
    .concat();
    let packet = ipv6(HOP_BY_HOP, &chain);
    let headers = Headers::parse(LinkType::RawIp, &packet);
    assert_eq!(headers.fault, None);
    assert_eq!((headers.protocol, headers.transport_offset), (UDP, 88));
    assert_eq!(headers.payload_offset, 96);
}

#[test]
fn endless_extension_chain_is_a_fault() {
    let packet = ipv6(HOP_BY_HOP, &[0; 8 * 4000]);
    let headers = Headers::parse(LinkType::RawIp, &packet);
    assert_eq!(headers.fault, Some(Fault::ExtensionChain));
    assert!(headers.is_ip() && !headers.is_whole_ip());
}

#[test]
fn fragments_have_no_ports_after_the_first() {
    let first = ipv4(UDP, 0x2000, &UDP_HEADER);
    let later = ipv4(UDP, 0x2001, &UDP_HEADER);
    let parse = |packet: &[u8]| Headers::parse(LinkType::RawIp, packet);
    assert_eq!(parse(&first).fragment, Fragment::First);
    assert_eq!(parse(&first).destination_port, 53);
    assert_eq!(parse(&later).fragment, Fragment::Later);
    assert_eq!(parse(&later).destination_port, 0);

    let header = |field: u16| {
        let [high, low] = field.to_be_bytes();
        [UDP, 0, high, low, 0, 0, 0, 9]
    };
    let six = |field| ipv6(FRAGMENT, &[&header(field)[..], &UDP_HEADER].concat());
    assert_eq!(parse(&six(0)).fragment, Fragment::Whole);
    assert_eq!(parse(&six(1)).fragment, Fragment::First);
    assert_eq!(parse(&six(8)).fragment, Fragment::Later);
    assert_eq!(parse(&six(8)).transport_offset, 48);
    assert_eq!(parse(&six(8)).destination_port, 0);
}

#[test]
fn lying_lengths_are_named() {
    let parse = |packet: &[u8]| Headers::parse(LinkType::RawIpv4, packet);
    let good = ipv4(UDP, 0, &UDP_HEADER);

    let mut version = good.clone();
    version[0] = 0x55;
    assert_eq!(parse(&version).fault, Some(Fault::BadNetworkHeader));

    let mut header_length = good.clone();
    header_length[0] = 0x44;
    assert_eq!(parse(&header_length).fault, Some(Fault::BadNetworkHeader));

    let mut total_below_header = good.clone();
    total_below_header[3] = 19;
    assert_eq!(
        parse(&total_below_header).fault,
        Some(Fault::BadNetworkHeader)
    );

    let mut total_above_record = good.clone();
    total_above_record[3] = 200;
    let headers = parse(&total_above_record);
    assert_eq!(headers.fault, Some(Fault::PacketCut));
    assert_eq!(headers.end_offset as usize, good.len());
    assert_eq!(headers.destination_port, 53);

    let mut data_offset = ipv4(TCP, 0, &tcp(2, &[], &[]));
    data_offset[32] = 0x40;
    assert_eq!(parse(&data_offset).fault, Some(Fault::BadTransportHeader));
    data_offset[32] = 0xf0;
    assert_eq!(parse(&data_offset).fault, Some(Fault::BadTransportHeader));
    data_offset[3] = 0xff;
    assert_eq!(parse(&data_offset).fault, Some(Fault::TransportHeaderCut));
    let too_short_for_ports = ipv4(UDP, 0, &UDP_HEADER[..3]);
    assert_eq!(
        parse(&too_short_for_ports).fault,
        Some(Fault::BadTransportHeader)
    );
}

#[test]
fn every_cut_of_a_packet_has_a_fault() {
    let frame = ethernet(ETHER_IPV4, &ipv4(TCP, 0, &tcp(2, &[1; 8], b"data")));
    for length in 0..frame.len() {
        let headers = Headers::parse(LinkType::Ethernet, &frame[..length]);
        assert!(headers.fault.is_some(), "cut to {length} bytes");
    }
    assert_eq!(Headers::parse(LinkType::Ethernet, &frame).fault, None);
}

proptest! {
    /// The promise that everything behind the parser builds on.
    #[test]
    fn offsets_are_ordered_and_inside_the_record(
        link in 0u32..280,
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        looks_like in 0u8..4,
    ) {
        let start = if bytes.len() > 60 { 14 } else { 0 };
        if looks_like > 0 && bytes.len() > 60 {
            bytes[12] = if looks_like == 1 { 0x08 } else { 0x86 };
            bytes[13] = if looks_like == 1 { 0x00 } else { 0xdd };
            bytes[start] = if looks_like == 1 { 0x46 } else { 0x60 };
            bytes[start + if looks_like == 1 { 2 } else { 4 }] = 0;
        }
        let headers = Headers::parse(LinkType::from_dlt(link), &bytes);
        prop_assert!(headers.network_offset <= headers.transport_offset);
        prop_assert!(headers.transport_offset <= headers.payload_offset);
        if headers.is_ip() {
            prop_assert!(u32::from(headers.payload_offset) <= headers.end_offset, "{:?}", headers);
            prop_assert!(headers.addresses(&bytes).is_some());
        }
        prop_assert!(headers.end_offset as usize <= bytes.len());
    }
}

/// Read from the record, or said by the one who wrote it.
#[test]
fn encapsulated_packets_are_described_as_they_are_read() {
    let inner = ipv4(6, 0, &tcp(2, &[], b"payload"));
    let vlan = [&[0, 7, 0x08, 0x00], &inner[..]].concat();
    for (frame, tags) in [
        (ethernet(0x0800, &inner), &[][..]),
        (ethernet(0x8100, &vlan), &[0x81, 0, 0, 7]),
    ] {
        let esp = [0x11; 60];
        for (outer, network, ether_type, header_bytes) in [
            (ipv4(50, 0x4000, &esp), Network::Ipv4, [0x08, 0x00], 20),
            (ipv6(50, &esp), Network::Ipv6, [0x86, 0xdd], 40),
        ] {
            let mut headers = Headers::parse(LinkType::Ethernet, &frame);
            let record = [&frame[..12], tags, &ether_type, &outer].concat();
            headers.encapsulate(network, 50, header_bytes, record.len() as u32);
            assert_eq!(headers, Headers::parse(LinkType::Ethernet, &record));
        }
    }
}

/// A TCP segment behind hop-by-hop options, in an IPv6 packet that says its length is 0.
fn unstated(options: [u8; 6], segment: &[u8]) -> Vec<u8> {
    let mut packet = ipv6(HOP_BY_HOP, &[&[TCP, 0][..], &options, segment].concat());
    packet[4..6].fill(0);
    packet
}

#[test]
fn jumbograms_are_as_long_as_their_option_says() {
    let segment = tcp(0x10, &[], &[7; 70_000]);
    let length = 8 + segment.len() as u32;
    let [a, b, c, d] = length.to_be_bytes();
    let packet = unstated([194, 4, a, b, c, d], &segment);
    for padding in [0, 6] {
        let record = [&packet[..], &vec![0; padding]].concat();
        let headers = Headers::parse(LinkType::RawIp, &record);
        assert_eq!((headers.fault, headers.destination_port), (None, 80));
        assert_eq!(headers.payload(&record), &[7; 70_000]);
    }
    let cut = Headers::parse(LinkType::RawIp, &packet[..200]);
    assert_eq!(
        (cut.fault, cut.destination_port),
        (Some(Fault::PacketCut), 80)
    );
    // Shorter ones have no need of the option, and no right to it.
    let packet = unstated([194, 4, 0, 0, 0, 28], &tcp(0x10, &[], b""));
    let fault = Headers::parse(LinkType::RawIp, &packet).fault;
    assert_eq!(fault, Some(Fault::BadNetworkHeader));
}

#[test]
fn segments_too_long_for_their_length_field_end_with_the_record() {
    let segment = tcp(0x10, &[], &[7; 70_000]);
    let mut four = ipv4(TCP, 0x4000, &segment);
    four[2..4].fill(0);
    let mut six = ipv6(TCP, &segment);
    six[4..6].fill(0);
    for packet in [four, six] {
        let headers = Headers::parse(LinkType::RawIp, &packet);
        assert_eq!((headers.fault, headers.destination_port), (None, 80));
        assert_eq!(headers.payload(&packet), &[7; 70_000]);
        // What a wire can carry has a length.
        let short = Headers::parse(LinkType::RawIp, &packet[..1500]);
        assert_ne!(short.payload(&packet), &[7; 1460]);
        assert_ne!((short.fault, short.destination_port), (None, 80));
    }
}

#[test]
fn hop_by_hop_options_without_a_length_end_with_the_record() {
    let packet = unstated([1, 4, 0, 0, 0, 0], &tcp(0x18, &[], b"GET /"));
    let headers = Headers::parse(LinkType::RawIp, &packet);
    assert_eq!(
        (headers.fault, headers.payload(&packet)),
        (None, &b"GET /"[..])
    );
    // Linux takes no fragment without a length, whole or not.
    let whole = [&[TCP, 0, 0, 0, 0, 0, 0, 9][..], &tcp(0x18, &[], b"GET /")].concat();
    for behind in [FRAGMENT, DESTINATION_OPTIONS] {
        let mut rest = vec![behind, 0, 1, 4, 0, 0, 0, 0];
        if behind == DESTINATION_OPTIONS {
            rest.extend([FRAGMENT, 0, 1, 4, 0, 0, 0, 0]);
        }
        rest.extend(&whole);
        let mut packet = ipv6(HOP_BY_HOP, &rest);
        packet[4..6].fill(0);
        let fault = Headers::parse(LinkType::RawIp, &packet).fault;
        assert_eq!(fault, Some(Fault::BadNetworkHeader));
    }
}
