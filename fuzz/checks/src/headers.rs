//! Headers of packets, of every link type, and of the packets inside them.
//!
//! The promises of [`weir_packet::wire`]: offsets are ordered and lie inside
//! the record; nothing behind the packet's own end matters; what a cut hides
//! is not made up; views agree with the offsets; the two directions of a flow
//! share hash and canonical key; and every tunnel leads to a packet further in.

mod seeds;

use weir_packet::wire::views::{Ah, Esp, Gre, Icmp, Ipv4, Ipv6, Sctp, Tcp, Udp, Vxlan};
use weir_packet::wire::{
    Fault, FlowKey, Fragment, Headers, KeyKind, LinkType, Network, internet_checksum,
};

pub use seeds::{WORDS, seeds};

const LINK_TYPES: [LinkType; 9] = [
    LinkType::Ethernet,
    LinkType::RawIp,
    LinkType::RawIpv4,
    LinkType::RawIpv6,
    LinkType::LinuxSll,
    LinkType::LinuxSll2,
    LinkType::Null,
    LinkType::Loop,
    LinkType::Other(147),
];

const KEY_KINDS: [&str; 7] = [
    "source",
    "destination",
    "pair",
    "5-tuple",
    "source/24,48",
    "destination/0,0",
    "source/32,128",
];

/// Panics where a promise of the header parser is broken.
pub fn check(input: &[u8]) {
    for link in LINK_TYPES {
        let headers = Headers::parse(link, input);
        check_in_place(link, input, &headers);
        check_padding(link, input, &headers);
        check_packet(input, &headers);
        check_mirrored(link, input, &headers);
        check_inner(input, headers);
    }
    check_views(input);
}

/// What holds for a packet wherever it was found.
fn check_packet(record: &[u8], headers: &Headers) {
    check_offsets(record, headers);
    check_network(record, headers);
    check_flow(record, headers);
}

/// `network <= transport <= payload <= end <= record length`, and the slices
/// are those that the offsets name.
fn check_offsets(record: &[u8], headers: &Headers) {
    let [network, transport, payload] = [
        headers.network_offset,
        headers.transport_offset,
        headers.payload_offset,
    ]
    .map(usize::from);
    let end = headers.end_offset as usize;
    assert!(network <= transport && transport <= payload, "{headers:?}");
    assert!(payload <= end && end <= record.len(), "{headers:?}");
    assert_eq!(headers.transport(record), &record[transport..end]);
    assert_eq!(headers.payload(record), &record[payload..end]);
    let packet = if headers.is_ip() { network..end } else { 0..0 };
    assert_eq!(headers.ip_packet(record), &record[packet]);
}

/// The network header is what the parser says it is.
fn check_network(record: &[u8], headers: &Headers) {
    let packet = headers.ip_packet(record);
    let (addresses, stated_bytes) = match headers.network {
        Network::Ipv4 => {
            let Some(view) = Ipv4::new(packet) else {
                panic!("an IPv4 header that is none: {headers:?}");
            };
            assert_eq!(view.protocol(), headers.protocol);
            let transport = usize::from(headers.network_offset) + view.header_bytes();
            assert_eq!(usize::from(headers.transport_offset), transport);
            let is_whole = view.fragment_offset() == 0 && !view.more_fragments();
            assert_eq!(headers.fragment == Fragment::Whole, is_whole);
            let addresses = (view.source().into(), view.destination().into());
            (Some(addresses), usize::from(view.total_length()))
        }
        Network::Ipv6 => {
            let Some(view) = Ipv6::new(packet) else {
                panic!("an IPv6 header that is none: {headers:?}");
            };
            let addresses = (view.source().into(), view.destination().into());
            (Some(addresses), 40 + usize::from(view.payload_length()))
        }
        Network::Arp | Network::Other => (None, 0),
    };
    assert_eq!(headers.addresses(record), addresses);
    if headers.is_whole_ip() && says_its_length(packet, headers) {
        assert_eq!(packet.len(), stated_bytes);
    }
}

/// Whether the length field of an IP packet is not 0: as long as their option says, or as the record
/// is, are jumbograms and what an interface has yet to cut.
fn says_its_length(packet: &[u8], headers: &Headers) -> bool {
    let length_at = match headers.network {
        Network::Ipv4 => 2,
        _ => 4,
    };
    let length = packet.get(length_at..length_at + 2);
    length.is_some_and(|length| *length != [0, 0])
}

/// Only IP packets have a flow; its two directions have one canonical key.
fn check_flow(record: &[u8], headers: &Headers) {
    let Some(key) = FlowKey::from_headers(headers, record) else {
        assert!(!headers.is_ip());
        assert_eq!(headers.symmetric_flow_hash(record), 0);
        return;
    };
    assert!(headers.is_ip());
    assert_eq!(key.reversed().reversed(), key);
    assert_eq!(key.canonical().0, key.reversed().canonical().0);
    assert_eq!(key.words() == key.reversed().words(), key == key.reversed());
    if headers.fragment != Fragment::Whole {
        assert_eq!((key.source_port, key.destination_port), (0, 0));
    }
    for name in KEY_KINDS {
        let Ok(kind) = name.parse::<KeyKind>() else {
            panic!("{name} is no kind of key");
        };
        let part = key.project(kind);
        assert_eq!(part.project(kind), part);
        assert!(!part.display(kind).to_string().is_empty());
    }
}

/// A place that was used before gets the same headers.
fn check_in_place(link: LinkType, record: &[u8], headers: &Headers) {
    let mut place = Headers {
        network: Network::Ipv6,
        protocol: 0xff,
        fragment: Fragment::Later,
        fault: Some(Fault::PacketCut),
        ether_type: 0xffff,
        vlan_offset: 0xffff,
        vlan_tags: 0xff,
        tcp_flags: 0xff,
        network_offset: 0xffff,
        transport_offset: 0xffff,
        payload_offset: 0xffff,
        source_port: 0xffff,
        destination_port: 0xffff,
        end_offset: 0xffff_ffff,
    };
    place.parse_in_place(link, record);
    assert_eq!(place, *headers);
}

/// What lies behind a whole packet does not matter where it says how long it is.
fn check_padding(link: LinkType, record: &[u8], headers: &Headers) {
    if headers.is_whole_ip() && says_its_length(headers.ip_packet(record), headers) {
        let mut bare = record[..headers.end_offset as usize].to_vec();
        assert_eq!(Headers::parse(link, &bare), *headers);
        bare.extend([0xa5; 46]);
        assert_eq!(Headers::parse(link, &bare), *headers);
    }
}

/// The same packet with source and destination exchanged belongs to the other
/// direction of the same flow.
fn check_mirrored(link: LinkType, record: &[u8], headers: &Headers) {
    let Some(key) = FlowKey::from_headers(headers, record) else {
        return;
    };
    let mut mirrored = record.to_vec();
    let network = usize::from(headers.network_offset);
    match headers.network {
        Network::Ipv4 => exchange(&mut mirrored, network + 12, 4),
        _ => exchange(&mut mirrored, network + 8, 16),
    }
    if (headers.source_port, headers.destination_port) != (0, 0) {
        exchange(&mut mirrored, usize::from(headers.transport_offset), 2);
    }
    let mirrored_headers = Headers::parse(link, &mirrored);
    assert_eq!(
        FlowKey::from_headers(&mirrored_headers, &mirrored),
        Some(key.reversed())
    );
    assert_eq!(
        mirrored_headers.symmetric_flow_hash(&mirrored),
        headers.symmetric_flow_hash(record)
    );
}

/// Exchanges two neighbouring fields of that many bytes.
fn exchange(bytes: &mut [u8], at: usize, field_bytes: usize) {
    let (left, right) = bytes[at..at + 2 * field_bytes].split_at_mut(field_bytes);
    left.swap_with_slice(right);
}

/// Every tunnel leads further into the record, and never behind its own end.
fn check_inner(record: &[u8], outermost: Headers) {
    let mut outer = outermost;
    while let Some(inner) = outer.inner(record) {
        let is_further_in = inner.network_offset > outer.network_offset;
        assert!(is_further_in || inner.fault == Some(Fault::BadLinkHeader));
        assert!(inner.end_offset <= outer.end_offset);
        check_packet(record, &inner);
        outer = inner;
    }
}

/// A view exists or not; where it does, every field can be read, and its
/// parts are parts of the bytes that it was made of.
fn check_views(bytes: &[u8]) {
    let mut part_bytes = Vec::new();
    if let Some(view) = Ipv4::new(bytes) {
        let _ = (view.dscp(), view.ecn(), view.identification());
        let _ = (view.dont_fragment(), view.time_to_live());
        let _ = (view.header_checksum(), view.total_length());
        part_bytes.extend([view.header().len(), view.options().len()]);
        assert_eq!(view.header().len(), view.header_bytes());
        assert_eq!(view.options().len() + 20, view.header_bytes());
    }
    if let Some(view) = Ipv6::new(bytes) {
        let _ = (view.dscp(), view.ecn(), view.flow_label());
        let _ = (view.next_header(), view.hop_limit());
        assert_eq!(view.traffic_class(), view.dscp() << 2 | view.ecn());
    }
    if let Some(view) = Tcp::new(bytes) {
        let _ = (view.source_port(), view.destination_port(), view.window());
        let _ = (view.sequence_number(), view.acknowledgment_number());
        let _ = (view.flags(), view.checksum(), view.urgent_pointer());
        let option_bytes: usize = view.options().map(|option| option.data.len()).sum();
        assert!(option_bytes + 20 <= view.header_bytes());
        assert_eq!(view.header_bytes() + view.payload().len(), bytes.len());
        part_bytes.push(option_bytes);
    }
    if let Some(view) = Udp::new(bytes) {
        let _ = (view.source_port(), view.destination_port());
        let _ = (view.length(), view.checksum());
        part_bytes.push(view.payload().len());
    }
    if let Some(view) = Sctp::new(bytes) {
        let _ = (view.source_port(), view.destination_port());
        let _ = (view.verification_tag(), view.checksum());
    }
    if let Some(view) = Icmp::new(bytes) {
        let _ = (view.icmp_type(), view.code(), view.checksum());
        let _ = view.rest_of_header();
        part_bytes.push(view.body().len());
    }
    if let Some(view) = Esp::new(bytes) {
        let _ = (view.security_parameters_index(), view.sequence_number());
        part_bytes.push(view.protected().len());
    }
    if let Some(view) = Ah::new(bytes) {
        let _ = (view.next_header(), view.reserved());
        let _ = (view.security_parameters_index(), view.sequence_number());
        assert_eq!(view.header_bytes() + view.payload().len(), bytes.len());
        part_bytes.push(view.integrity_check_value().len());
    }
    if let Some(view) = Gre::new(bytes) {
        let _ = (view.protocol_type(), view.checksum());
        let _ = (view.key(), view.sequence_number());
        assert_eq!(view.header_bytes() + view.payload().len(), bytes.len());
    }
    if let Some(view) = Vxlan::new(bytes) {
        assert!(view.vxlan_network_identifier() < 1 << 24);
        part_bytes.push(view.frame().len());
    }
    assert!(part_bytes.iter().all(|part| *part <= bytes.len()));
    check_checksum(bytes);
}

/// A packet that carries its checksum sums up to zero (RFC 1071).
fn check_checksum(bytes: &[u8]) {
    let mut summed = bytes[..bytes.len() & !1].to_vec();
    let checksum = internet_checksum(&summed);
    summed.extend(checksum.to_be_bytes());
    assert_eq!(internet_checksum(&summed), 0);
}
