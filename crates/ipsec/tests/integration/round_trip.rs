//! What was protected comes back byte for byte, over suites, modes, families,
//! link types and lengths, many packets to a batch.

use crate::common::{
    ANY_SUITE, TUNNEL4, TUNNEL6, between_gateways, ipv4, ipv6, key, keyed_association, one,
    protect, protect_stage, udp, unprotect, unprotect_stage,
};
use proptest::prelude::*;
use weir_crypto::{Aead, Suite};
use weir_ipsec::DropReason;
use weir_packet::wire::protocol::{
    DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, ICMP, ROUTING, TCP, UDP,
};
use weir_packet::wire::{Checksum, Headers, LinkType, Network};

/// An IP packet with a payload of the given length.
fn packet(version: u8, protocol: u8, payload_bytes: usize) -> Vec<u8> {
    let payload = key(payload_bytes, version.wrapping_mul(31));
    if version == 6 {
        ipv6(protocol, &payload)
    } else {
        ipv4(protocol, &payload)
    }
}

/// The packet with a right checksum in its TCP or UDP header, if it has one.
fn with_checksum(mut packet: Vec<u8>) -> Vec<u8> {
    let headers = Headers::parse(LinkType::RawIp, &packet);
    let at = match headers.protocol {
        _ if headers.fault.is_some() => return packet,
        TCP => 16,
        UDP => 6,
        _ => return packet,
    };
    let transport = usize::from(headers.transport_offset);
    if headers.protocol == UDP {
        let bytes = (packet.len() - transport) as u16;
        packet[transport + 4..][..2].copy_from_slice(&bytes.to_be_bytes());
    }
    packet[transport + at..][..2].fill(0);
    let sum = match transport_sum(&packet) {
        0 => 0xffff,
        sum => sum,
    };
    packet[transport + at..][..2].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The checksum over pseudo-header and segment: 0 over a right one.
fn transport_sum(packet: &[u8]) -> u16 {
    let headers = Headers::parse(LinkType::RawIp, packet);
    let addresses = match headers.network {
        Network::Ipv6 => &packet[8..40],
        _ => &packet[12..20],
    };
    let segment = headers.transport(packet);
    Checksum::new()
        .add_pseudo_header(addresses, headers.protocol, segment.len() as u32)
        .add(segment)
        .finish()
}

/// A link header in front of IP of this version, tags included.
fn link_header(link: LinkType, version: u8, tags: u8) -> Vec<u8> {
    let ether_type: [u8; 2] = if version == 6 {
        [0x86, 0xdd]
    } else {
        [0x08, 0x00]
    };
    let mut tagged = Vec::new();
    for tag in 0..tags {
        tagged.extend([0x81, 0x00, 0x20, tag]);
    }
    tagged.extend(ether_type);
    let family = if version == 6 { 30 } else { 2 };
    match link {
        LinkType::Ethernet => [key(12, 9), tagged].concat(),
        LinkType::LinuxSll => [key(14, 9), tagged].concat(),
        LinkType::LinuxSll2 => {
            let (first, rest) = tagged.split_at(2);
            [first, &[0; 18], rest].concat()
        }
        LinkType::Null => vec![family, 0, 0, 0],
        LinkType::Loop => vec![0, 0, 0, if version == 6 { 24 } else { 2 }],
        _ => Vec::new(),
    }
}

const LINKS: [LinkType; 6] = [
    LinkType::Ethernet,
    LinkType::RawIp,
    LinkType::LinuxSll,
    LinkType::LinuxSll2,
    LinkType::Null,
    LinkType::Loop,
];

fn suite() -> impl Strategy<Value = Suite> {
    let suites: Vec<Suite> = Suite::all().filter(|suite| suite.is_esp()).collect();
    (0..suites.len()).prop_map(move |index| suites[index])
}

fn mode() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop_oneof![
        Just(("tunnel", TUNNEL4)),
        Just(("tunnel", TUNNEL6)),
        Just(("transport", ""))
    ]
}

/// Whether the text of a packet cannot be read.
fn encrypts(suite: Suite) -> bool {
    suite.key_bytes() > 0 && !matches!(suite, Suite::Aead(Aead::AesGmac(_)))
}

/// Around the soft lifetime packets are counted one by one, and not in the way
/// that the others of the batch go; some are too long for the tunnel.
#[test]
fn numbers_follow_the_order_of_arrival_whichever_way_packets_go() {
    let more = format!("{TUNNEL4}\nsoft_lifetime = {{ packets = 20 }}\nmtu = 1400");
    for suite in [
        "aes-128-gcm-16",
        "chacha20-poly1305",
        "aes-128-ctr+hmac-sha2-256-128",
    ] {
        let file = one(suite, "tunnel", &more);
        let records: Vec<Vec<u8>> = (0..90)
            .map(|number| packet(4, 99, if number % 30 == 17 { 1390 } else { number }))
            .collect();
        let protected = protect(&file, LinkType::RawIp, &records);
        assert_eq!(protected.drops(), [(DropReason::TooLong, 3)]);
        let numbers: Vec<u32> = protected
            .records
            .iter()
            .map(|record| u32::from_be_bytes(record[24..28].try_into().expect("four bytes")))
            .collect();
        assert_eq!(numbers, (1..=87).collect::<Vec<u32>>(), "{suite}");
        let back = unprotect(&file, LinkType::RawIp, &protected.records);
        assert_eq!(back.drops(), []);
        assert_eq!(back.records.len(), 87);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn records_come_back_byte_for_byte(
        suite in suite(),
        (mode, tunnel) in mode(),
        esn: bool,
        nat_t: bool,
        link in prop::sample::select(&LINKS[..]),
        tags in 0u8..3,
        shapes in prop::collection::vec(
            (prop::sample::select(vec![4u8, 6]), prop::sample::select(vec![ICMP, TCP, UDP, 99]), 0usize..1600),
            1..40,
        ),
    ) {
        let more = format!("{tunnel}\nesn = {esn}\nnat_t = {nat_t}");
        let file = one(&suite.name().to_string(), mode, &more);
        let records: Vec<Vec<u8>> = shapes
            .iter()
            .map(|&(version, protocol, bytes)| {
                let header = link_header(link, version, tags);
                let mut packet = packet(version, protocol, bytes);
                if nat_t && mode == "transport" {
                    // Wrong ones would be corrected.
                    packet = with_checksum(packet);
                }
                [header, packet].concat()
            })
            .collect();
        let protected = protect(&file, link, &records);
        prop_assert_eq!(protected.drops(), []);
        prop_assert_eq!(protect_stage(&protected).protected(), records.len() as u64);
        for ((before, after), (_, _, payload_bytes)) in
            records.iter().zip(&protected.records).zip(&shapes)
        {
            let headers = Headers::parse(link, after);
            prop_assert!(headers.fault.is_none());
            prop_assert!(after.len() > before.len());
            if encrypts(suite) && *payload_bytes >= 24 {
                let end = &before[before.len() - 24..];
                prop_assert!(!after.windows(24).any(|bytes| bytes == end), "in clear text");
            }
        }
        let back = unprotect(&file, link, &protected.records);
        prop_assert_eq!(back.drops(), []);
        prop_assert_eq!(unprotect_stage(&back).unprotected(), records.len() as u64);
        prop_assert_eq!(&back.records, &records);
    }

    #[test]
    fn one_flipped_bit_of_an_esp_packet_is_noticed(
        suite in suite(),
        (mode, tunnel) in mode(),
        esn: bool,
        bytes in 0usize..100,
        place: prop::sample::Index,
        bit in 0u8..8,
    ) {
        let file = one(&suite.name().to_string(), mode, &format!("{tunnel}\nesn = {esn}"));
        let record = packet(4, 99, bytes);
        let mut protected = protect(&file, LinkType::RawIp, std::slice::from_ref(&record)).records.remove(0);
        let esp = usize::from(Headers::parse(LinkType::RawIp, &protected).payload_offset);
        let place = esp + place.index(protected.len() - esp);
        protected[place] ^= 1 << bit;
        let back = unprotect(&file, LinkType::RawIp, &[protected]);
        prop_assert_eq!(back.records.len(), 0);
    }
}

#[test]
fn every_suite_mode_and_family_at_every_small_length() {
    for suite in Suite::all().filter(|suite| suite.is_esp()) {
        for (mode, tunnel) in [("tunnel", TUNNEL4), ("tunnel", TUNNEL6), ("transport", "")] {
            let file = one(&suite.name().to_string(), mode, tunnel);
            let records: Vec<Vec<u8>> = (0..40)
                .flat_map(|bytes| [packet(4, 99, bytes), packet(6, 99, bytes)])
                .collect();
            let protected = protect(&file, LinkType::RawIp, &records);
            let back = unprotect(&file, LinkType::RawIp, &protected.records);
            assert_eq!(
                (back.drops(), back.records),
                (vec![], records),
                "{suite} {mode}"
            );
        }
    }
}

#[test]
fn the_longest_packets() {
    for (tunnel, version, longest_protected) in [
        (TUNNEL4, 4, 65_535),
        (TUNNEL6, 4, 65_575),
        (TUNNEL6, 6, 65_575),
    ] {
        let file = one("aes-128-gcm-16", "tunnel", tunnel);
        let lengths = longest_protected - 140..longest_protected - 20;
        let fits = lengths
            .clone()
            .map(|bytes| {
                packet(
                    version,
                    99,
                    (bytes - if version == 6 { 40 } else { 20 }).min(65_515),
                )
            })
            .collect::<Vec<_>>();
        let protected = protect(&file, LinkType::RawIp, &fits);
        let longest = protected.records.iter().map(Vec::len).max().unwrap_or(0);
        assert!(longest <= longest_protected && longest > longest_protected - 4 - 40);
        let back = unprotect(&file, LinkType::RawIp, &protected.records);
        assert_eq!(back.drops(), []);
        assert!(!back.records.is_empty());
        assert_eq!(back.records[..], fits[..back.records.len()]);
    }
}

#[test]
fn link_padding_goes_and_nothing_else() {
    let ethernet = link_header(LinkType::Ethernet, 4, 0);
    let inner = packet(4, 99, 1);
    let mut padded = [ethernet.clone(), inner.clone()].concat();
    padded.resize(60, 0);
    let file = one("aes-128-gcm-16", "tunnel", TUNNEL4);
    let mut protected = protect(&file, LinkType::Ethernet, &[padded]).records;
    // On its way the protected frame may be padded too.
    protected[0].extend([0; 9]);
    let back = unprotect(&file, LinkType::Ethernet, &protected);
    assert_eq!(back.records, [[ethernet, inner].concat()]);
}

#[test]
fn fragments_pass_through_tunnels_as_packets() {
    let mut first = packet(4, UDP, 64);
    first[6] = 0x20;
    let mut later = packet(4, UDP, 64);
    later[7] = 9;
    let later6 = ipv6(
        FRAGMENT,
        &[&[UDP, 0, 0, 9, 0, 0, 0, 1][..], &key(40, 3)].concat(),
    );
    let records = [first, later, later6];
    for tunnel in [TUNNEL4, TUNNEL6] {
        let file = one("aes-128-gcm-16", "tunnel", tunnel);
        let protected = protect(&file, LinkType::RawIp, &records);
        assert_eq!(
            unprotect(&file, LinkType::RawIp, &protected.records).records,
            records
        );
    }
}

/// RFC 4303, section 3.1.1: hop-by-hop, routing and fragment headers stay in
/// front of ESP, destination options behind it unless routing follows.
#[test]
fn transport_mode_keeps_extension_headers_and_options_where_they_belong() {
    let extension = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
    let chain = |headers: &[u8]| {
        let mut payload = Vec::new();
        for next in &headers[1..] {
            payload.extend(extension(*next));
        }
        payload.extend(udp(50_000, &key(33, 5)));
        ipv6(headers[0], &payload)
    };
    let mut options = packet(4, UDP, 32);
    options[0] = 0x48;
    let file = one("aes-128-ctr+hmac-sha2-256-128", "transport", "");
    for (record, esp_offset) in [
        (chain(&[UDP]), 40),
        (chain(&[HOP_BY_HOP, UDP]), 48),
        (chain(&[DESTINATION_OPTIONS, UDP]), 40),
        (
            chain(&[
                HOP_BY_HOP,
                DESTINATION_OPTIONS,
                ROUTING,
                DESTINATION_OPTIONS,
                UDP,
            ]),
            64,
        ),
        (options, 32),
    ] {
        let protected = protect(&file, LinkType::RawIp, std::slice::from_ref(&record));
        let headers = Headers::parse(LinkType::RawIp, &protected.records[0]);
        assert_eq!(
            (headers.protocol, headers.transport_offset),
            (50, esp_offset)
        );
        let back = unprotect(&file, LinkType::RawIp, &protected.records);
        assert_eq!(back.records, [record]);
    }
}

/// RFC 3948: ESP in UDP; over IPv6 with the checksum that RFC 8200 asks for.
#[test]
fn nat_t_frames_are_right() {
    for (tunnel, offset) in [(TUNNEL4, 20), (TUNNEL6, 40)] {
        let more = format!("{tunnel}\nnat_t = {{ source_port = 4501 }}");
        let file = one("aes-128-gcm-16", "tunnel", &more);
        let record = packet(4, 99, 50);
        let protected = protect(&file, LinkType::RawIp, std::slice::from_ref(&record)).records;
        let headers = Headers::parse(LinkType::RawIp, &protected[0]);
        assert_eq!(headers.fault, None);
        assert_eq!(
            (headers.protocol, usize::from(headers.transport_offset)),
            (UDP, offset)
        );
        assert_eq!(
            (headers.source_port, headers.destination_port),
            (4501, 4500)
        );
        let datagram = headers.transport(&protected[0]);
        assert_eq!(datagram[4..6], (datagram.len() as u16).to_be_bytes());
        if headers.network == Network::Ipv6 {
            let sum = Checksum::new()
                .add_pseudo_header(&protected[0][8..40], UDP, datagram.len() as u32)
                .add(datagram);
            assert_eq!(sum.finish(), 0);
        } else {
            assert_eq!(datagram[6..8], [0, 0]);
        }
        let back = unprotect(&file, LinkType::RawIp, &protected);
        assert_eq!(back.records, [record]);
    }
}

/// RFC 3948, section 3.1.2: the addresses that the inner checksum covers are those of before the
/// translator.
#[test]
fn checksums_are_right_behind_a_translator() {
    let segment = |protocol, bytes| match protocol {
        UDP => udp(4000, &key(bytes, 3)),
        _ => [&key(12, 3)[..], &[0x50, 0x10], &key(6 + bytes, 5)].concat(),
    };
    let behind = |nat_t: &str, original: &[u8], translates: bool| {
        let file = one("aes-128-gcm-16", "transport", nat_t);
        let mut protected = protect(&file, LinkType::RawIp, &[original.to_vec()]).records;
        let packet = &mut protected[0];
        if translates {
            let is_ipv4 = packet[0] >> 4 == 4;
            packet[if is_ipv4 { 15 } else { 23 }] ^= 0x5a;
            if is_ipv4 {
                packet[10..12].fill(0);
                let sum = Checksum::new().add(&packet[..20]).finish();
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
        let mut back = unprotect(&file, LinkType::RawIp, &protected);
        assert_eq!(back.drops(), []);
        back.records.remove(0)
    };
    for protocol in [TCP, UDP] {
        for bytes in [0, 1, 40, 41] {
            for original in [
                ipv4(protocol, &segment(protocol, bytes)),
                ipv6(protocol, &segment(protocol, bytes)),
            ] {
                let original = with_checksum(original);
                assert_eq!(transport_sum(&original), 0);
                assert_eq!(behind("nat_t = true", &original, false), original);
                let translated = behind("nat_t = true", &original, true);
                assert_ne!(translated, original);
                assert_eq!(transport_sum(&translated), 0, "{protocol} {bytes}");
                // Without UDP in front nothing was translated that could be corrected.
                assert_ne!(transport_sum(&behind("", &original, true)), 0);
            }
        }
    }
    // A datagram without a checksum stays without one.
    let original = ipv4(UDP, &udp(4000, b"no checksum"));
    let translated = behind("nat_t = true", &original, true);
    assert_eq!(
        (&original[26..28], &translated[26..28]),
        (&[0, 0][..], &[0, 0][..])
    );
    // The end of a datagram by its own length is not that of the packet.
    let mut odd = with_checksum(ipv4(UDP, &udp(4000, b"and more")));
    odd.extend([7, 7]);
    let bytes = (odd.len() as u16).to_be_bytes();
    odd[2..4].copy_from_slice(&bytes);
    odd[10..12].fill(0);
    let sum = Checksum::new().add(&odd[..20]).finish();
    odd[10..12].copy_from_slice(&sum.to_be_bytes());
    let translated = behind("nat_t = true", &odd, true);
    let (datagram, rest) = translated[20..].split_at(8 + 8);
    let sum = Checksum::new()
        .add_pseudo_header(&translated[12..20], UDP, datagram.len() as u32)
        .add(datagram);
    assert_eq!((sum.finish(), rest), (0, &[7, 7][..]));
}

/// IKE, keepalives and stubs on the NAT-T port are not ESP.
#[test]
fn what_is_no_esp_on_the_nat_t_port_passes_by() {
    let file = "inbound_policy = false\n".to_owned()
        + &one(
            "aes-128-gcm-16",
            "tunnel",
            &format!("{TUNNEL4}\nnat_t = true"),
        );
    let records: Vec<Vec<u8>> = [&[0xff][..], &[0, 0, 0, 0, 1, 2, 3, 4], &[1, 2]]
        .iter()
        .map(|payload| between_gateways(UDP, &udp(4500, payload)))
        .collect();
    let run = unprotect(&file, LinkType::RawIp, &records);
    assert_eq!((run.drops(), run.records), (vec![], records));
}

/// A second tunnel inside the first one: the record is grown twice.
#[test]
fn tunnels_nest() {
    let outer = one("aes-256-gcm-16", "tunnel", TUNNEL6);
    let inner = one("aes-128-cbc+hmac-sha1-96", "tunnel", TUNNEL4);
    let records: Vec<Vec<u8>> = (0..300).map(|bytes| packet(4, 99, bytes)).collect();
    let once = protect(&inner, LinkType::RawIp, &records);
    let twice = protect(&outer, LinkType::RawIp, &once.records);
    let back = unprotect(&outer, LinkType::RawIp, &twice.records);
    assert_eq!(
        unprotect(&inner, LinkType::RawIp, &back.records).records,
        records
    );
}

/// RFC 6040: congestion on the way through the tunnel reaches the inner
/// packet, unless its transport knows no ECN.
#[test]
fn congestion_marks_come_out_of_the_tunnel() {
    for (version, tunnel) in [(4, TUNNEL4), (6, TUNNEL4), (4, TUNNEL6), (6, TUNNEL6)] {
        let file = one("aes-128-gcm-16", "tunnel", tunnel);
        let class = |packet: &[u8]| {
            if packet[0] >> 4 == 6 {
                packet[0] << 4 | packet[1] >> 4
            } else {
                packet[1]
            }
        };
        let mark = |packet: &mut Vec<u8>, ecn: u8| {
            if packet[0] >> 4 == 6 {
                packet[1] = packet[1] & !0x30 | ecn << 4;
            } else {
                packet[1] = packet[1] & !3 | ecn;
            }
        };
        for (inner_ecn, expected) in [(0, None), (1, Some(3)), (2, Some(3)), (3, Some(3))] {
            let mut record = packet(version, 99, 30);
            mark(&mut record, inner_ecn);
            let mut protected = protect(&file, LinkType::RawIp, &[record]).records;
            assert_eq!(class(&protected[0]) & 3, inner_ecn, "copied on the way in");
            mark(&mut protected[0], 3);
            let back = unprotect(&file, LinkType::RawIp, &protected);
            let ecn = back.records.first().map(|packet| class(packet) & 3);
            assert_eq!(ecn, expected, "inner {inner_ecn}");
        }
    }
}

#[test]
fn routers_decrement_and_captures_do_not() {
    let ttl = |packet: &[u8]| {
        if packet[0] >> 4 == 6 {
            packet[7]
        } else {
            packet[8]
        }
    };
    for version in [4, 6] {
        let record = packet(version, 99, 30);
        for (decrement, expected) in [(false, 63), (true, 61)] {
            let more = format!("{TUNNEL4}\ndecrement_ttl = {decrement}");
            let file = one("aes-128-gcm-16", "tunnel", &more);
            let protected = protect(&file, LinkType::RawIp, std::slice::from_ref(&record)).records;
            let back = unprotect(&file, LinkType::RawIp, &protected);
            assert_eq!(ttl(&back.records[0]), expected);
            assert_eq!(
                Headers::parse(LinkType::RawIp, &back.records[0]).fault,
                None
            );
        }
    }
}

/// As many protocols as there are suites follow it without an extension header
/// of IPv6 among them.
const FIRST_PROTOCOL: usize = 61;

/// Associations of every suite in one batch, each with packets of its own.
#[test]
fn suites_mix_in_a_batch() {
    let suites: Vec<String> = Suite::all()
        .filter(|suite| suite.is_esp())
        .map(|suite| suite.name().to_string())
        .collect();
    let mut file = ANY_SUITE.to_owned();
    for (index, suite) in suites.iter().enumerate() {
        let spi = 0x1000 + index as u32;
        let more = format!("{TUNNEL4}\nesn = {}", index % 2 == 0);
        file += &keyed_association(suite, spi, suite, "tunnel", &more, index as u8);
    }
    for (index, suite) in suites.iter().enumerate() {
        let protocol = FIRST_PROTOCOL + index;
        file +=
            &format!("[[policy]]\nprotocol = {protocol}\naction = \"protect\"\nsa = {suite:?}\n");
    }
    let records: Vec<Vec<u8>> = (0..1000)
        .map(|n| {
            packet(
                if n % 3 == 0 { 6 } else { 4 },
                (FIRST_PROTOCOL + n % suites.len()) as u8,
                n,
            )
        })
        .collect();
    let protected = protect(&file, LinkType::RawIp, &records);
    assert_eq!(protected.drops(), []);
    let back = unprotect(&file, LinkType::RawIp, &protected.records);
    assert_eq!((back.drops(), back.records), (vec![], records));
    let reports = protect_stage(&protected).reports();
    assert_eq!(reports.len(), suites.len());
    let packets: u64 = reports.iter().map(|report| report.traffic.packets).sum();
    assert_eq!(packets, 1000);
}
