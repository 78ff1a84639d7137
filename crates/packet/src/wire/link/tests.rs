//! What stands between an Ethernet header and an IP header.

use proptest::prelude::*;

use super::Shim;
use crate::wire::protocol::{
    ETHER_ARP, ETHER_IPV4, ETHER_IPV6, ETHER_MPLS, ETHER_PPPOE_SESSION, ETHER_VLAN, PPP_IPV4,
    PPP_IPV6, TCP,
};
use crate::wire::{Fault, FlowKey, Headers, LinkType, Network, build};

fn key(ip_version: u8) -> FlowKey {
    FlowKey {
        source: 0xc612_0001,
        destination: 0xc612_0002,
        source_port: 4711,
        destination_port: 80,
        protocol: TCP,
        ip_version,
    }
}

fn packet(ip_version: u8) -> Vec<u8> {
    build::tcp_packet(&key(ip_version), &build::TcpHeader::default(), b"inner")
}

/// A tagged frame: 18 bytes, then `shim`, then `packet`.
fn frame(ether_type: u16, shim: &[u8], packet: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    build::ethernet(&mut frame, [2; 6], [4; 6], ETHER_VLAN);
    build::vlan_tag(&mut frame, 7, ether_type);
    frame.extend_from_slice(shim);
    frame.extend_from_slice(packet);
    frame
}

fn pppoe(protocol: u16, length: u16, packet: &[u8]) -> Vec<u8> {
    let mut shim = vec![0x11, 0, 0, 1];
    shim.extend(length.to_be_bytes());
    shim.extend(protocol.to_be_bytes());
    frame(ETHER_PPPOE_SESSION, &shim, packet)
}

fn snap(length: u16, ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let [high, low] = ether_type.to_be_bytes();
    frame(length, &[0xaa, 0xaa, 3, 0, 0, 0, high, low], packet)
}

/// Checks where the IP packet is found, with padding behind it.
fn assert_found(mut record: Vec<u8>, shim: Shim, ip_version: u8, offset: u16) {
    record.extend([0; 6]);
    let headers = Headers::parse(LinkType::Ethernet, &record);
    assert_eq!(headers.fault, None, "{record:02x?}");
    assert_eq!(headers.network_offset, offset);
    assert_eq!(headers.vlan_tcis(&record).collect::<Vec<_>>(), [7]);
    assert_eq!(headers.shim(), Some(shim));
    assert_eq!(headers.payload(&record), b"inner");
    assert_eq!(
        FlowKey::from_headers(&headers, &record),
        Some(key(ip_version))
    );
    assert_eq!(headers.inner(&record), None);
}

fn parse(record: &[u8]) -> Headers {
    Headers::parse(LinkType::Ethernet, record)
}

/// Not IP, and nothing wrong with it.
fn assert_opaque(record: &[u8]) {
    let headers = parse(record);
    assert_eq!((headers.network, headers.fault), (Network::Other, None));
    assert_eq!(headers.shim(), None);
}

#[test]
fn ip_behind_labels() {
    let labels = [0, 0x12, 0x30, 64, 0, 0x45, 0x60, 64, 0, 0x78, 0x91, 64];
    for version in [4, 6] {
        for from in [8, 4, 0] {
            let record = frame(ETHER_MPLS, &labels[from..], &packet(version));
            assert_found(record, Shim::Mpls, version, 18 + 12 - from as u16);
        }
        let explicit_null = if version == 4 { 0x00 } else { 0x20 };
        let record = frame(ETHER_MPLS, &[0, 0, explicit_null | 1, 64], &packet(version));
        assert_found(record, Shim::Mpls, version, 22);
    }
    // A pseudowire's control word, and an explicit null for the other version.
    assert_opaque(&frame(ETHER_MPLS, &labels[8..], &[0; 60]));
    let lie = frame(ETHER_MPLS, &[0, 0, 0x21, 64], &packet(4));
    assert_eq!(parse(&lie).fault, Some(Fault::BadNetworkHeader));
    for cut in 19..30 {
        let record = frame(ETHER_MPLS, &labels, &packet(4));
        assert_eq!(parse(&record[..cut]).fault, Some(Fault::LinkHeaderCut));
    }
    let endless = frame(ETHER_MPLS, &[0; 80], &packet(4));
    assert_eq!(parse(&endless).fault, Some(Fault::BadLinkHeader));
}

#[test]
fn ip_in_a_pppoe_session() {
    for (version, protocol) in [(4, PPP_IPV4), (6, PPP_IPV6)] {
        let packet = packet(version);
        let record = pppoe(protocol, 2 + packet.len() as u16, &packet);
        assert_found(record, Shim::Pppoe, version, 18 + 8);
    }
    let packet = packet(4);
    let bytes = 2 + packet.len() as u16;
    assert_opaque(&pppoe(0xc021, bytes, &packet));
    let without_protocol = pppoe(PPP_IPV4, 1, &packet);
    let mut of_discovery = pppoe(PPP_IPV4, bytes, &packet);
    of_discovery[19] = 9;
    for record in [without_protocol, of_discovery] {
        assert_eq!(parse(&record).fault, Some(Fault::BadLinkHeader));
    }
    let whole = pppoe(PPP_IPV4, bytes, &packet);
    assert_eq!(parse(&whole[..25]).fault, Some(Fault::LinkHeaderCut));
    // A session's packet ends where its header says, whatever IP claims.
    let short = pppoe(PPP_IPV4, bytes - 1, &packet);
    assert_eq!(parse(&short).fault, Some(Fault::PacketCut));
}

#[test]
fn ip_behind_llc_and_snap() {
    for (version, ether_type) in [(4, ETHER_IPV4), (6, ETHER_IPV6)] {
        let packet = packet(version);
        let record = snap(8 + packet.len() as u16, ether_type, &packet);
        assert_found(record, Shim::LlcSnap, version, 18 + 8);
    }
    let packet = packet(4);
    let bytes = 8 + packet.len() as u16;
    let arp = parse(&snap(36, ETHER_ARP, &[0; 28]));
    assert_eq!(
        (arp.network, arp.fault, arp.shim()),
        (Network::Arp, None, None)
    );
    // Spanning tree, another organisation, tags behind SNAP, a reserved length.
    assert_opaque(&frame(38, &[0x42, 0x42, 3], &[0; 35]));
    assert_opaque(&frame(40, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0], &[0; 32]));
    assert_opaque(&snap(bytes, ETHER_VLAN, &packet));
    assert_opaque(&snap(1501, ETHER_IPV4, &packet));
    let short = snap(bytes - 1, ETHER_IPV4, &packet);
    assert_eq!(parse(&short).fault, Some(Fault::PacketCut));
    assert_eq!(
        parse(&snap(7, ETHER_IPV4, &packet)).fault,
        Some(Fault::LinkHeaderCut)
    );
}

#[test]
fn fragments_name_their_datagram() {
    let mut first = packet(4);
    first[4..6].copy_from_slice(&[0xab, 0xcd]);
    let of = |packet: &[u8]| {
        let headers = Headers::parse(LinkType::RawIp, packet);
        (
            headers.fragment_identification(packet),
            headers.is_protocol_unknown(),
            headers.symmetric_flow_hash(packet),
        )
    };
    assert_eq!(of(&first).0, None, "no fragment");
    first[6] = 0x20;
    assert_eq!(of(&first).0, Some(0xabcd));

    // Hop-by-hop options, the fragment header, destination options, TCP.
    let mut first = packet(6);
    let tcp = first.split_off(40);
    first[6] = 0;
    first[5] += 24;
    first.extend([44, 0, 1, 4, 0, 0, 0, 0]);
    let fragment_at = first.len();
    first.extend([60, 0, 0, 1, 1, 2, 3, 4]);
    first.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    first.extend(tcp);
    let (identification, is_unknown, hash) = of(&first);
    assert_eq!((identification, is_unknown), (Some(0x0102_0304), false));
    let mut later = first.clone();
    later[fragment_at + 3] = 0x11;
    assert_eq!(of(&later), (Some(0x0102_0304), true, hash));
    later[fragment_at] = TCP;
    assert_eq!(of(&later), (Some(0x0102_0304), false, hash));
}

proptest! {
    /// Whatever bytes come, offsets are ordered and lie in the record.
    #[test]
    fn offsets_behind_shims_are_ordered(
        ether_type in prop_oneof![
            Just(ETHER_MPLS), Just(ETHER_PPPOE_SESSION), 0u16..1600,
        ],
        start in prop_oneof![
            Just(vec![]), Just(vec![0xaa, 0xaa, 3, 0, 0, 0, 8, 0]), Just(vec![0x11, 0, 0, 1, 0]),
        ],
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let record = frame(ether_type, &start, &bytes);
        let headers = parse(&record);
        prop_assert!(headers.network_offset <= headers.transport_offset);
        prop_assert!(headers.transport_offset <= headers.payload_offset);
        prop_assert!(!headers.is_ip() || u32::from(headers.payload_offset) <= headers.end_offset);
        prop_assert!(headers.end_offset as usize <= record.len());
    }
}
