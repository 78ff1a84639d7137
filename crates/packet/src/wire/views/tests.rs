//! Known headers, field by field. IPv4, IPv6, TCP and UDP are compared with
//! another library in `tests/etherparse.rs`.

use super::*;

#[test]
fn sctp_fields() {
    let bytes = [0x0b, 0x59, 0x0b, 0x5a, 1, 2, 3, 4, 5, 6, 7, 8, 99];
    let view = Sctp::new(&bytes).expect("whole");
    assert_eq!((view.source_port(), view.destination_port()), (2905, 2906));
    assert_eq!(view.verification_tag(), 0x0102_0304);
    assert_eq!(view.checksum(), 0x0506_0708);
    assert!(Sctp::new(&bytes[..11]).is_none());
}

#[test]
fn icmp_fields() {
    let bytes = [8, 1, 0xf7, 0xff, 0, 1, 0, 2, 42];
    let view = Icmp::new(&bytes).expect("whole");
    assert_eq!((view.icmp_type(), view.code()), (8, 1));
    assert_eq!(
        (view.checksum(), view.rest_of_header()),
        (0xf7ff, 0x0001_0002)
    );
    assert_eq!(view.body(), [42]);
    assert!(Icmp::new(&bytes[..7]).is_none());
}

#[test]
fn esp_fields() {
    let bytes = [0, 0, 0x10, 0, 0, 0, 0, 7, 1, 2, 3];
    let view = Esp::new(&bytes).expect("whole");
    assert_eq!(view.security_parameters_index(), 0x1000);
    assert_eq!(view.sequence_number(), 7);
    assert_eq!(view.protected(), [1, 2, 3]);
    assert!(Esp::new(&bytes[..7]).is_none());
}

#[test]
fn ah_fields() {
    // HMAC-SHA1-96 as in RFC 4302: payload length 4, that is 24 bytes.
    let mut bytes = [0; 25];
    bytes[..12].copy_from_slice(&[6, 4, 0, 0, 0, 0, 0, 9, 0, 0, 0, 3]);
    bytes[12..24].fill(0xaa);
    let view = Ah::new(&bytes).expect("whole");
    assert_eq!((view.next_header(), view.header_bytes()), (6, 24));
    assert_eq!(view.reserved(), 0);
    assert_eq!(view.security_parameters_index(), 9);
    assert_eq!(view.sequence_number(), 3);
    assert_eq!(view.integrity_check_value(), [0xaa; 12]);
    assert_eq!(view.payload(), [0]);
    assert!(Ah::new(&bytes[..23]).is_none());
    bytes[1] = 0;
    assert!(Ah::new(&bytes).is_none(), "shorter than its fixed fields");
}

#[test]
fn gre_fields_move_with_the_flags() {
    let words = [1, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, 77];
    let gre = |flags: u8| [&[flags, 0, 8, 0][..], &words].concat();
    type Fields = (Option<u16>, Option<u32>, Option<u32>);
    let cases: [(u8, Fields, usize); 5] = [
        (0x00, (None, None, None), 4),
        (0x80, (Some(0x0102), None, None), 8),
        (0x20, (None, Some(0x0102_0000), None), 8),
        (0x30, (None, Some(0x0102_0000), Some(3)), 12),
        (0xb0, (Some(0x0102), Some(3), Some(4)), 16),
    ];
    for (flags, fields, header_bytes) in cases {
        let bytes = gre(flags);
        let view = Gre::new(&bytes).expect("whole");
        assert_eq!(
            (view.checksum(), view.key(), view.sequence_number()),
            fields,
            "{flags:#x}"
        );
        assert_eq!(
            (view.header_bytes(), view.protocol_type()),
            (header_bytes, 0x0800)
        );
        assert_eq!(view.payload(), &bytes[header_bytes..]);
        assert!(Gre::new(&bytes[..header_bytes - 1]).is_none());
    }
    assert!(Gre::new(&gre(0x40)).is_none(), "source routes");
    assert!(
        Gre::new(&[0x20, 1, 0x88, 0x0b, 0, 0, 0, 0]).is_none(),
        "version 1"
    );
}

#[test]
fn vxlan_fields() {
    let bytes = [8, 0, 0, 0, 0x12, 0x34, 0x56, 0, 1];
    let view = Vxlan::new(&bytes).expect("whole");
    assert_eq!(view.vxlan_network_identifier(), 0x12_3456);
    assert_eq!(view.frame(), [1]);
    assert!(Vxlan::new(&bytes[..7]).is_none());
    assert!(Vxlan::new(&[0; 8]).is_none());
}

#[test]
fn gre_of_pptp() {
    let bytes = [
        0x30, 0x81, 0x88, 0x0b, 0, 2, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 3,
    ];
    let view = EnhancedGre::new(&bytes).expect("whole");
    assert_eq!((view.header_bytes(), view.payload_length()), (16, 2));
    assert_eq!((view.call_id(), view.payload()), (7, &[0xff, 3][..]));
    assert!(EnhancedGre::new(&bytes[..15]).is_none(), "cut");
    for (at, byte) in [(0, 0xb0), (0, 0x10), (1, 0x82), (1, 0), (2, 8)] {
        let mut other = bytes;
        other[at] = byte;
        assert!(EnhancedGre::new(&other).is_none(), "byte {at}");
    }
}

#[test]
fn network_service_header() {
    let bytes = [0x0f, 0xc3, 2, 3, 0, 1, 2, 255, 9, 9, 9, 9, 8];
    let view = Nsh::new(&bytes).expect("whole");
    assert_eq!(
        (view.header_bytes(), view.protocol_type()),
        (12, Some(0x6558))
    );
    assert_eq!(
        (view.service_path_identifier(), view.payload()),
        (0x102, &[8][..])
    );
    assert!(Nsh::new(&bytes[..11]).is_none(), "metadata cut");
    for (at, byte) in [(0, 0x4f), (1, 0xc1)] {
        let mut other = bytes;
        other[at] = byte;
        assert!(Nsh::new(&other).is_none(), "byte {at}");
    }
}

#[test]
fn geneve_fields() {
    let bytes = [0x01, 0, 0x65, 0x58, 0x12, 0x34, 0x56, 0, 9, 9, 9, 9, 1];
    let view = Geneve::new(&bytes).expect("whole");
    assert_eq!(view.virtual_network_identifier(), 0x12_3456);
    assert_eq!((view.protocol_type(), view.payload()), (0x6558, &[1][..]));
    assert!(Geneve::new(&bytes[..11]).is_none(), "options cut");
    assert!(Geneve::new(&[0x40; 8]).is_none(), "version 1");
}

#[test]
fn erspan_fields() {
    let bytes = [0x10, 7, 0x10, 0x2a, 0, 0, 0, 0, 1];
    let view = Erspan::new(&bytes).expect("whole");
    assert_eq!((view.session_id(), view.frame()), (42, &[1][..]));
    assert!(Erspan::new(&bytes[..7]).is_none());
    assert!(Erspan::new(&[0x20; 8]).is_none(), "type III");
}

#[test]
fn pppoe_fields() {
    let bytes = [0x11, 0, 0x12, 0x34, 0, 3, 0, 0x57, 1, 2];
    let view = Pppoe::new(&bytes).expect("whole");
    assert_eq!((view.session_id(), view.length()), (0x1234, 3));
    assert_eq!((view.protocol(), view.payload()), (0x57, &[1][..]));
    assert!(Pppoe::new(&bytes[..7]).is_none());
    for (at, wrong) in [(0, 0x21), (1, 0x09), (5, 1)] {
        let mut bytes = bytes;
        bytes[at] = wrong;
        assert!(Pppoe::new(&bytes).is_none(), "byte {at}");
    }
}

#[test]
fn lying_lengths_make_no_view() {
    let mut ip = [0u8; 60];
    for (first, is_whole) in [(0x45, true), (0x4f, true), (0x44, false), (0x65, false)] {
        ip[0] = first;
        assert_eq!(Ipv4::new(&ip).is_some(), is_whole, "{first:#x}");
    }
    ip[0] = 0x4f;
    assert!(Ipv4::new(&ip[..59]).is_none());
    ip[0] = 0x60;
    assert!(Ipv6::new(&ip[..40]).is_some() && Ipv6::new(&ip[..39]).is_none());
    let mut tcp = [0u8; 24];
    for (offset, is_whole) in [(0x50, true), (0x60, true), (0x40, false), (0x70, false)] {
        tcp[12] = offset;
        assert_eq!(Tcp::new(&tcp).is_some(), is_whole, "{offset:#x}");
    }
    let udp = [0, 1, 0, 2, 0, 10, 0, 0, 1, 2, 3];
    assert_eq!(Udp::new(&udp).map(|view| view.payload()), Some(&[1, 2][..]));
    let udp = [0, 1, 0, 2, 0, 3, 0, 0, 1, 2, 3];
    assert_eq!(Udp::new(&udp).map(|view| view.payload()), Some(&[][..]));
}

#[test]
fn tcp_options_end_where_they_make_no_sense() {
    let options = |options: &[u8]| {
        let mut tcp = vec![0; 20];
        tcp[12] = (5 + options.len() as u8 / 4) << 4;
        tcp.extend_from_slice(options);
        let view = Tcp::new(&tcp).expect("whole");
        view.options()
            .map(|option| (option.kind, option.data.to_vec()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        options(&[2, 4, 0x05, 0xb4, 1, 1, 4, 2, 0, 3, 3, 7]),
        [(2, vec![0x05, 0xb4]), (4, vec![])]
    );
    assert_eq!(options(&[3, 1, 0, 0]), []);
    assert_eq!(options(&[1, 3, 4, 0]), []);
    assert_eq!(options(&[1, 1, 1, 3]), []);
}
