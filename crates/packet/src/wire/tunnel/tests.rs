//! Inner headers at known offsets, and whatever bytes may come.

use proptest::prelude::*;

use crate::wire::protocol::{ETHER_ARP, ETHER_VLAN, TCP};
use crate::wire::{FlowKey, Network, build};

use super::*;

fn key(ip_version: u8, protocol: u8) -> FlowKey {
    FlowKey {
        source: 0xc612_0001,
        destination: 0xc612_0002,
        source_port: 4711,
        destination_port: if protocol == UDP { PORT_VXLAN } else { 80 },
        protocol,
        ip_version,
    }
}

/// An IP packet around the given bytes.
fn around(ip_version: u8, protocol: u8, inner: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    build::ip(
        &mut packet,
        &key(ip_version, protocol),
        &build::IpHeader::default(),
        |out| {
            out.extend_from_slice(inner);
        },
    );
    packet
}

fn inner_tcp(ip_version: u8) -> Vec<u8> {
    build::tcp_packet(
        &key(ip_version, TCP),
        &build::TcpHeader::default(),
        b"inner",
    )
}

fn tagged_frame(packet: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    build::ethernet(&mut frame, [2; 6], [4; 6], ETHER_VLAN);
    build::vlan_tag(&mut frame, 7, ETHER_IPV6);
    frame.extend_from_slice(packet);
    frame
}

/// Parses the outer headers and checks what the inner ones find.
fn assert_inner(record: &[u8], inner_version: u8, inner_offset: u16) -> Headers {
    let outer = Headers::parse(LinkType::RawIp, record);
    assert_eq!(outer.fault, None);
    let inner = outer.inner(record).expect("a tunnel");
    assert_eq!(inner.fault, None);
    assert_eq!(inner.network_offset, inner_offset);
    assert_eq!(inner.payload(record), b"inner");
    assert_eq!(
        FlowKey::from_headers(&inner, record),
        Some(key(inner_version, TCP))
    );
    inner
}

#[test]
fn ip_in_ip_of_every_pair() {
    for outer in [4, 6] {
        let outer_bytes = if outer == 4 { 20 } else { 40 };
        for inner in [4, 6] {
            let protocol = if inner == 4 { IPV4 } else { IPV6 };
            let record = around(outer, protocol, &inner_tcp(inner));
            assert_inner(&record, inner, outer_bytes);
        }
    }
}

#[test]
fn gre_with_and_without_its_options() {
    for (flags, header_bytes) in [(0x00, 4), (0x80, 8), (0x20, 8), (0x10, 8), (0xb0, 16)] {
        let mut gre = vec![flags, 0, 0x86, 0xdd];
        gre.resize(header_bytes, 0);
        let record = around(4, GRE, &[gre, inner_tcp(6)].concat());
        assert_inner(&record, 6, 20 + header_bytes as u16);
    }
    let bridged = [vec![0, 0, 0x65, 0x58], tagged_frame(&inner_tcp(6))].concat();
    let inner = assert_inner(&around(6, GRE, &bridged), 6, 40 + 4 + 18);
    let record = around(6, GRE, &bridged);
    assert_eq!(inner.vlan_tcis(&record).collect::<Vec<_>>(), [7]);
    for wrong in [[0x40, 0, 0x08, 0], [0, 1, 0x08, 0]] {
        let record = around(4, GRE, &[&wrong[..], &inner_tcp(4)].concat());
        let outer = Headers::parse(LinkType::RawIp, &record);
        assert_eq!(outer.inner(&record), None, "{wrong:?}");
    }
}

/// A GRE header with a sequence number, and an ERSPAN header of a version.
fn erspan(version: u8) -> Vec<u8> {
    let mut header = vec![0x10, 0, 0x88, 0xbe, 0, 0, 0, 9];
    header.extend([version << 4, 7, 0, 42, 0, 0, 0, 0]);
    header
}

#[test]
fn erspan_holds_a_mirrored_frame() {
    let of_type_1 = vec![0, 0, 0x88, 0xbe];
    for (header, header_bytes) in [(of_type_1, 4), (erspan(1), 8 + 8)] {
        let mirrored = [header, tagged_frame(&inner_tcp(6))].concat();
        let record = around(4, GRE, &mirrored);
        let inner = assert_inner(&record, 6, 20 + header_bytes + 18);
        assert_eq!(inner.vlan_tcis(&record).collect::<Vec<_>>(), [7]);
    }
    for wrong in [
        [erspan(2), tagged_frame(&inner_tcp(6))].concat(),
        erspan(1)[..15].to_vec(),
    ] {
        let record = around(4, GRE, &wrong);
        let outer = Headers::parse(LinkType::RawIp, &record);
        assert_eq!(outer.inner(&record), None);
    }
}

#[test]
fn gre_and_vxlan_hold_what_is_behind_labels() {
    let labelled = [&[0, 0x01, 0x01, 64][..], &inner_tcp(4)].concat();
    let gre = [&[0, 0, 0x88, 0x47][..], &labelled].concat();
    assert_inner(&around(4, GRE, &gre), 4, 20 + 4 + 4);
    let mut vxlan = vec![8, 0, 0, 0, 0, 0, 42, 0];
    build::ethernet(&mut vxlan, [2; 6], [4; 6], 0x8847);
    vxlan.extend(&labelled);
    let record = build::udp_packet(&key(4, UDP), &vxlan);
    assert_inner(&record, 4, 20 + 8 + 8 + 14 + 4);
}

#[test]
fn vxlan_holds_a_frame() {
    let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0][..], &tagged_frame(&inner_tcp(6))].concat();
    let record = build::udp_packet(&key(4, UDP), &vxlan);
    assert_inner(&record, 6, 20 + 8 + 8 + 18);
    let without_flag = build::udp_packet(&key(4, UDP), &[0; 80]);
    let outer = Headers::parse(LinkType::RawIp, &without_flag);
    assert_eq!(outer.inner(&without_flag), None);
}

#[test]
fn geneve_holds_a_frame_or_a_packet_behind_its_options() {
    let to_geneve = FlowKey {
        destination_port: PORT_GENEVE,
        ..key(4, UDP)
    };
    let frame = tagged_frame(&inner_tcp(6));
    let packet = inner_tcp(4);
    for (ether_type, carried, version, before) in
        [(ETHER_BRIDGED, &frame, 6, 18), (ETHER_IPV4, &packet, 4, 0)]
    {
        let [high, low] = ether_type.to_be_bytes();
        let header = [2, 0, high, low, 0, 0, 42, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        let record = build::udp_packet(&to_geneve, &[&header[..], carried].concat());
        assert_inner(&record, version, 20 + 8 + 16 + before);
    }
}

/// PPP around a packet, in the ways that its header can be shortened.
fn ppp(packet: &[u8]) -> [Vec<u8>; 4] {
    let low = if packet[0] >> 4 == 4 { 0x21 } else { 0x57 };
    [&[0xff, 3, 0, low][..], &[0xff, 3, low], &[0, low], &[low]]
        .map(|header| [header, packet].concat())
}

#[test]
fn gre_of_pptp_holds_ppp() {
    for (flags, header_bytes) in [
        ([0x20, 1], 8),
        ([0x30, 1], 12),
        ([0x20, 0x81], 12),
        ([0x30, 0x81], 16),
    ] {
        for version in [4, 6] {
            for frame in ppp(&inner_tcp(version)) {
                let mut gre = vec![flags[0], flags[1], 0x88, 0x0b];
                gre.extend((frame.len() as u16).to_be_bytes());
                gre.resize(header_bytes, 0);
                let before = frame.len() - inner_tcp(version).len();
                let record = around(4, GRE, &[gre, frame].concat());
                assert_inner(&record, version, (20 + header_bytes + before) as u16);
            }
        }
    }
    // An acknowledgement alone, PPP's own control, and flags that PPTP has not.
    for wrong in [
        vec![0x20, 0x81, 0x88, 0x0b, 0, 0, 0, 7, 0, 0, 0, 1],
        [
            &[0x20, 1, 0x88, 0x0b, 0, 4, 0, 7, 0xff, 3, 0xc0, 0x21][..],
            &[1; 40],
        ]
        .concat(),
        [&[0xa0, 1, 0x88, 0x0b, 0, 0, 0, 7, 0x21][..], &inner_tcp(4)].concat(),
    ] {
        let record = around(4, GRE, &wrong);
        let outer = Headers::parse(LinkType::RawIp, &record);
        assert_eq!(outer.inner(&record), None, "{wrong:?}");
    }
}

#[test]
fn teredo_holds_ipv6_behind_its_indications() {
    let from_server = FlowKey {
        source_port: PORT_TEREDO,
        destination_port: 50_000,
        ..key(4, UDP)
    };
    let origin = [&[0, 0][..], &[9; 6]].concat();
    let authentication = [&[0, 1, 2, 3][..], &[9; 14]].concat();
    for before in [
        vec![],
        origin.clone(),
        authentication.clone(),
        [authentication, origin].concat(),
    ] {
        let record = build::udp_packet(&from_server, &[&before[..], &inner_tcp(6)].concat());
        assert_inner(&record, 6, (20 + 8 + before.len()) as u16);
    }
    for other in [&b"anything else"[..], &inner_tcp(4), &[0, 1, 200, 200]] {
        let record = build::udp_packet(&from_server, other);
        let outer = Headers::parse(LinkType::RawIp, &record);
        assert_eq!(outer.inner(&record), None);
    }
}

/// Parses a frame without an IP packet of its own, and checks what is in it.
fn assert_in_frame(record: &[u8], inner_version: u8, inner_offset: usize) {
    let outer = Headers::parse(LinkType::Ethernet, record);
    assert_eq!((outer.network, outer.fault), (Network::Other, None));
    let inner = outer.inner(record).expect("a packet");
    assert_eq!(
        (inner.fault, usize::from(inner.network_offset)),
        (None, inner_offset)
    );
    assert_eq!(
        FlowKey::from_headers(&inner, record),
        Some(key(inner_version, TCP))
    );
}

#[test]
fn frames_hold_what_is_behind_control_words_service_headers_and_ppp() {
    let frame = |ether_type, parts: &[&[u8]]| {
        let mut frame = Vec::new();
        build::ethernet(&mut frame, [2; 6], [4; 6], ether_type);
        frame.extend(parts.concat());
        frame
    };
    let pseudowire = [&[0, 0x01, 0x01, 64][..], &[0; 4]].concat();
    let record = frame(ETHER_MPLS, &[&pseudowire, &tagged_frame(&inner_tcp(6))]);
    assert_in_frame(&record, 6, 14 + 4 + 4 + 18);
    // Another pseudowire's cells, which are no frame.
    let record = frame(ETHER_MPLS, &[&pseudowire, &[0; 60]]);
    assert_eq!(
        Headers::parse(LinkType::Ethernet, &record).inner(&record),
        None
    );

    let nsh = |protocol, words: u8, packet: &[u8]| {
        let mut header = vec![0x0f, 0xc0 | words, 1, protocol, 0, 0, 1, 255];
        header.resize(4 * usize::from(words.min(6)), 0);
        frame(ETHER_NSH, &[&header, packet])
    };
    assert_in_frame(&nsh(1, 6, &inner_tcp(4)), 4, 14 + 24);
    assert_in_frame(&nsh(2, 2, &inner_tcp(6)), 6, 14 + 8);
    assert_in_frame(&nsh(3, 2, &tagged_frame(&inner_tcp(6))), 6, 14 + 8 + 18);
    for wrong in [
        nsh(9, 6, &inner_tcp(4)),
        nsh(1, 1, &inner_tcp(4)),
        nsh(1, 63, &inner_tcp(4)),
    ] {
        assert_eq!(
            Headers::parse(LinkType::Ethernet, &wrong).inner(&wrong),
            None
        );
    }

    let session = [
        &[0x11, 0, 0, 1][..],
        &(1 + inner_tcp(4).len() as u16).to_be_bytes(),
        &[0x21],
    ]
    .concat();
    assert_in_frame(
        &frame(ETHER_PPPOE_SESSION, &[&session, &inner_tcp(4)]),
        4,
        14 + 6 + 1,
    );
}

#[test]
fn inner_arp_is_arp_and_inner_nonsense_a_fault() {
    let mut frame = vec![8, 0, 0, 0, 0, 0, 42, 0];
    build::ethernet(&mut frame, [2; 6], [4; 6], ETHER_ARP);
    let record = build::udp_packet(&key(6, UDP), &frame);
    let outer = Headers::parse(LinkType::RawIp, &record);
    let inner = outer.inner(&record).expect("a tunnel");
    assert_eq!((inner.network, inner.fault), (Network::Arp, None));

    let record = build::udp_packet(&key(6, UDP), &frame[..12]);
    let outer = Headers::parse(LinkType::RawIp, &record);
    let inner = outer.inner(&record).expect("a tunnel");
    assert_eq!(inner.fault, Some(crate::wire::Fault::LinkHeaderCut));
}

#[test]
fn inner_packet_ends_with_the_outer_one() {
    let mut record = around(4, IPV4, &inner_tcp(4));
    let end = record.len();
    // The inner packet claims the bytes that pad the outer one.
    record[23] += 6;
    record.extend([0; 6]);
    let inner = Headers::parse(LinkType::RawIp, &record)
        .inner(&record)
        .expect("a tunnel");
    assert_eq!(inner.fault, Some(crate::wire::Fault::PacketCut));
    assert_eq!(inner.end_offset as usize, end);
}

#[test]
fn plain_packets_and_fragments_have_no_inner_headers() {
    let plain = inner_tcp(4);
    assert_eq!(Headers::parse(LinkType::RawIp, &plain).inner(&plain), None);
    let mut fragment = around(4, IPV4, &inner_tcp(4));
    fragment[6] = 0x20;
    assert_eq!(
        Headers::parse(LinkType::RawIp, &fragment).inner(&fragment),
        None
    );
}

proptest! {
    /// Tunnels in tunnels until something is not one: every level keeps the
    /// order of offsets, and the walk ends.
    #[test]
    fn inner_offsets_are_ordered_and_inside_the_outer_packet(
        protocol in prop_oneof![Just(IPV4), Just(IPV6), Just(GRE), Just(UDP)],
        wraps in proptest::collection::vec(any::<bool>(), 0..12),
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        plausible in any::<[bool; 2]>(),
    ) {
        if plausible[0] && bytes.len() > 12 {
            bytes[..4].copy_from_slice(&[0, 0, 0x65, 0x58]);
        }
        if plausible[1] && bytes.len() > 30 {
            bytes[16..20].copy_from_slice(&[0x08, 0x00, 0x45, 0]);
        }
        let mut record = match protocol {
            UDP => build::udp_packet(&key(4, UDP), &[&[8, 0, 0, 0, 0, 0, 0, 0][..], &bytes].concat()),
            protocol => around(4, protocol, &bytes),
        };
        for is_six in wraps {
            record = around(if is_six { 6 } else { 4 }, if record[0] >> 4 == 4 { IPV4 } else { IPV6 }, &record);
        }
        let mut headers = Headers::parse(LinkType::RawIp, &record);
        while let Some(inner) = headers.inner(&record) {
            prop_assert!(inner.network_offset > headers.network_offset);
            prop_assert!(inner.network_offset <= inner.transport_offset);
            prop_assert!(inner.transport_offset <= inner.payload_offset);
            prop_assert!(!inner.is_ip() || u32::from(inner.payload_offset) <= inner.end_offset);
            prop_assert!(inner.end_offset <= headers.end_offset);
            headers = inner;
        }
    }
}
