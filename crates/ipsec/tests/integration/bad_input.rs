//! Every reason for which a packet is dropped, reached.

use crate::common::{
    TUNNEL4, TUNNEL6, association, between_gateways, ipv4, ipv6, key, null_esp, one, protect, udp,
    unprotect,
};
use proptest::prelude::*;
use weir_ipsec::{DropReason, SOFT_LIFETIME, SaFile, Windows};
use weir_packet::wire::LinkType;
use weir_packet::wire::protocol::{ESP, FRAGMENT, ICMP, IPV4, IPV6, TCP, UDP};

const NULL: &str = "null+hmac-sha1-96";

/// Lets packets without protection pass between those of a tunnel.
const UNCHECKED: &str = "inbound_policy = false\n";

fn outbound(file: &str, record: Vec<u8>) -> Vec<(DropReason, u64)> {
    protect(file, LinkType::RawIp, &[record]).drops()
}

fn inbound(file: &str, record: Vec<u8>) -> Vec<(DropReason, u64)> {
    unprotect(file, LinkType::RawIp, &[record]).drops()
}

/// A tunnel of the NULL cipher that is given a text by a holder of its key.
fn verified(text: &[u8]) -> Vec<(DropReason, u64)> {
    let file = one(NULL, "tunnel", TUNNEL4);
    inbound(&file, between_gateways(ESP, &null_esp(0x1001, 1, text)))
}

/// A text: payload, padding to a multiple of 4, trailer.
fn text(payload: &[u8], next_header: u8) -> Vec<u8> {
    let padding = (payload.len() + 2).next_multiple_of(4) - payload.len() - 2;
    let mut text = payload.to_vec();
    text.extend(1..=padding as u8);
    text.extend([padding as u8, next_header]);
    text
}

#[test]
fn packets_that_cannot_be_protected() {
    let tunnel = one(NULL, "tunnel", TUNNEL4);
    let transport = one(NULL, "transport", "");
    let whole = ipv4(UDP, &udp(50_000, &key(100, 1)));

    let cut = whole[..100].to_vec();
    assert_eq!(outbound(&tunnel, cut), [(DropReason::PacketCut, 1)]);
    let cut_in_udp = whole[..24].to_vec();
    assert_eq!(outbound(&tunnel, cut_in_udp), [(DropReason::PacketCut, 1)]);
    let cut_in_ip = whole[..19].to_vec();
    assert_eq!(
        outbound(&tunnel, cut_in_ip),
        [(DropReason::MalformedHeaders, 1)]
    );

    let mut first = whole.clone();
    first[6] = 0x20;
    let mut later = whole.clone();
    later[7] = 1;
    let mut later6 = ipv6(FRAGMENT, &[UDP, 0, 0, 8, 0, 0, 0, 1]);
    for fragment in [first, later] {
        assert_eq!(
            outbound(&transport, fragment),
            [(DropReason::FragmentUnprotectable, 1)]
        );
    }
    assert_eq!(
        outbound(&transport, later6.clone()),
        [(DropReason::FragmentUnprotectable, 1)]
    );
    // An atomic fragment (RFC 6946) is a whole datagram.
    later6[43] = 0;
    assert_eq!(outbound(&transport, later6), []);

    let too_long = ipv4(99, &key(65_515, 1));
    assert_eq!(outbound(&tunnel, too_long), [(DropReason::TooLong, 1)]);
    // 20 outer, 8 ESP, 20 + 100 + 8 inner with 2 of padding and 2 of trailer,
    // 12 of ICV.
    for (mtu, drops) in [(172, &[][..]), (171, &[(DropReason::TooLong, 1)])] {
        let file = one(NULL, "tunnel", &format!("{TUNNEL4}\nmtu = {mtu}"));
        assert_eq!(outbound(&file, whole.clone()), drops);
    }

    let router = one(NULL, "tunnel", &format!("{TUNNEL4}\ndecrement_ttl = true"));
    let mut last_hop = ipv4(99, &[]);
    last_hop[8] = 1;
    assert_eq!(outbound(&router, last_hop), [(DropReason::TtlExceeded, 1)]);
}

#[test]
fn congestion_that_the_ends_cannot_be_told_of_drops_the_packet() {
    let esp = null_esp(0x1001, 1, &text(&ipv4(99, &[]), IPV4));
    let mut marked = between_gateways(ESP, &esp);
    marked[1] |= 0b11;
    let file = one(NULL, "tunnel", TUNNEL4);
    let run = unprotect(&file, LinkType::RawIpv4, &[marked]);
    assert_eq!(run.drops(), [(DropReason::CongestionUnmarkable, 1)]);
}

#[test]
fn links_of_one_ip_version_cannot_change_it() {
    let file = one(NULL, "tunnel", TUNNEL6);
    let run = protect(&file, LinkType::RawIpv4, &[ipv4(99, &[])]);
    assert_eq!(run.drops(), [(DropReason::NoSecurityAssociation, 1)]);
    let esp = null_esp(0x1001, 1, &text(&ipv6(99, &[]), IPV6));
    let file = one(NULL, "tunnel", TUNNEL4);
    let run = unprotect(&file, LinkType::RawIpv4, &[between_gateways(ESP, &esp)]);
    assert_eq!(run.drops(), [(DropReason::BadInnerPacket, 1)]);
}

#[test]
fn esp_packets_that_are_refused_before_they_are_verified() {
    let gcm = one("aes-128-gcm-16", "tunnel", TUNNEL4);
    let protected = protect(&gcm, LinkType::RawIp, &[ipv4(99, &key(40, 1))])
        .records
        .remove(0);
    let esp = protected[20..].to_vec();

    // Header, IV, shortest text and tag are 36 bytes; texts end on 4.
    for bytes in (0..36).chain([37, 38, 39, 41]) {
        let short = between_gateways(ESP, &esp[..bytes]);
        assert_eq!(
            inbound(&gcm, short),
            [(DropReason::EspLength, 1)],
            "{bytes}"
        );
    }
    let cbc = one("aes-128-cbc+hmac-sha1-96", "tunnel", TUNNEL4);
    let odd = between_gateways(ESP, &esp[..8 + 16 + 20 + 12]);
    assert_eq!(inbound(&cbc, odd), [(DropReason::EspLength, 1)]);

    assert_eq!(
        inbound(&gcm, protected[..60].to_vec()),
        [(DropReason::PacketCut, 1)]
    );

    let mut fragment = protected.clone();
    fragment[6] = 0x20;
    assert_eq!(inbound(&gcm, fragment), [(DropReason::EspFragment, 1)]);
    let gcm6 = one("aes-128-gcm-16", "tunnel", TUNNEL6);
    let mut fragment6 = ipv6(FRAGMENT, &[&[ESP, 0, 0, 9, 0, 0, 0, 1][..], &esp].concat());
    fragment6[8..40].fill(0);
    fragment6[8..10].copy_from_slice(&[0xfd, 0]);
    fragment6[24..26].copy_from_slice(&[0xfd, 0]);
    (fragment6[23], fragment6[39]) = (1, 2);
    assert_eq!(
        inbound(&gcm6, fragment6.clone()),
        [(DropReason::EspFragment, 1)]
    );
    fragment6[43] = 1;
    assert_eq!(inbound(&gcm6, fragment6), [(DropReason::EspFragment, 1)]);

    let mut other_spi = protected.clone();
    other_spi[23] ^= 1;
    assert_eq!(inbound(&gcm, other_spi), [(DropReason::UnknownSpi, 1)]);
    let mut other_end = protected.clone();
    other_end[19] ^= 1;
    let clear_text = [(DropReason::UnprotectedInbound, 1)];
    assert_eq!(inbound(&gcm, other_end), clear_text, "for someone else");
    let in_udp = between_gateways(UDP, &udp(4500, &esp));
    let nat_t = one(
        "aes-128-gcm-16",
        "tunnel",
        &format!("{TUNNEL4}\nnat_t = true"),
    );
    assert_eq!(inbound(&nat_t, in_udp.clone()), []);
    assert_eq!(
        inbound(&nat_t, protected.clone()),
        [(DropReason::UnknownSpi, 1)]
    );
    assert_eq!(inbound(&gcm, in_udp), clear_text, "without NAT-T it is UDP");
    let short = between_gateways(UDP, &udp(4500, &esp[..6]));
    assert_eq!(inbound(&nat_t, short), [(DropReason::EspLength, 1)]);

    for place in [24, 28, 40, protected.len() - 1] {
        let mut forged = protected.clone();
        forged[place] ^= 0x40;
        assert_eq!(
            inbound(&gcm, forged),
            [(DropReason::IntegrityFailed, 1)],
            "{place}"
        );
    }
}

#[test]
fn replays_and_number_zero() {
    for esn in [false, true] {
        let file = UNCHECKED.to_owned()
            + &one(
                "aes-128-gcm-16",
                "tunnel",
                &format!("{TUNNEL4}\nesn = {esn}"),
            );
        let records: Vec<Vec<u8>> = (0..200).map(|bytes| ipv4(99, &key(bytes, 1))).collect();
        let protected = protect(&file, LinkType::RawIp, &records).records;

        // In one batch: both copies pass the window before either is verified.
        let twice: Vec<Vec<u8>> = protected[..3]
            .iter()
            .flat_map(|p| [p.clone(), p.clone()])
            .collect();
        let run = unprotect(&file, LinkType::RawIp, &twice);
        assert_eq!(run.drops(), [(DropReason::Replay, 3)]);
        assert_eq!(run.records, records[..3]);

        // Number 200, then the window's left edge, then what lies left of it,
        // in a batch of its own after 256 more records.
        let mut order = vec![protected[199].clone()];
        order.extend(std::iter::repeat_n(ipv4(ICMP, &key(8, 1)), 256));
        order.extend([protected[136].clone(), protected[135].clone()]);
        let run = unprotect(&file, LinkType::RawIp, &order);
        let expected = if esn {
            // Left of the window is taken for 2^32 ahead, where it does not verify.
            DropReason::IntegrityFailed
        } else {
            DropReason::Replay
        };
        assert_eq!(run.drops(), [(expected, 1)]);
        assert_eq!(run.records.last(), Some(&records[136]));
    }
    let file = one(NULL, "tunnel", TUNNEL4);
    let zero = null_esp(0x1001, 0, &text(&ipv4(99, &[]), IPV4));
    assert_eq!(
        inbound(&file, between_gateways(ESP, &zero)),
        [(DropReason::Replay, 1)]
    );
}

/// A forged packet must not move the window: the real one still comes in.
#[test]
fn forgeries_do_not_move_the_window() {
    let file = UNCHECKED.to_owned() + &one(NULL, "tunnel", TUNNEL4);
    let real = between_gateways(ESP, &null_esp(0x1001, 1, &text(&ipv4(99, &[]), IPV4)));
    let mut forged = null_esp(0x1001, 5000, &text(&ipv4(99, &[]), IPV4));
    forged.reverse();
    forged[..8].copy_from_slice(&null_esp(0x1001, 5000, &[0; 4])[..8]);
    let mut records = vec![between_gateways(ESP, &forged)];
    records.extend(std::iter::repeat_n(ipv4(ICMP, &key(8, 1)), 256));
    records.push(real);
    let run = unprotect(&file, LinkType::RawIp, &records);
    assert_eq!(run.drops(), [(DropReason::IntegrityFailed, 1)]);
    assert_eq!(run.records.last(), Some(&ipv4(99, &[])));
}

#[test]
fn verified_texts_that_are_no_packets() {
    let inner = ipv4(99, &key(6, 1));
    assert_eq!(verified(&text(&inner, IPV4)), []);

    let padded = |padding: [u8; 4]| [&inner[..], &padding, &[4, IPV4]].concat();
    assert_eq!(verified(&padded([1, 2, 3, 4])), []);
    assert_eq!(
        verified(&padded([1, 2, 2, 4])),
        [(DropReason::BadPadding, 1)]
    );
    assert_eq!(
        verified(&padded([0, 0, 0, 0])),
        [(DropReason::BadPadding, 1)]
    );
    assert_eq!(
        verified(&[7, 1, 2, 3, 2, 3, 3, IPV4]),
        [(DropReason::BadPadding, 1)]
    );
    assert_eq!(verified(&[1, 2, 9, IPV4]), [(DropReason::BadPadding, 1)]);

    assert_eq!(verified(&text(&[], 59)), [(DropReason::DummyPacket, 1)]);
    assert_eq!(verified(&text(&inner, 59)), [(DropReason::DummyPacket, 1)]);

    let bad = [(DropReason::BadInnerPacket, 1)];
    assert_eq!(verified(&text(&inner, IPV6)), bad, "another version");
    assert_eq!(
        verified(&text(&inner, UDP)),
        bad,
        "no packet in tunnel mode"
    );
    assert_eq!(verified(&text(&[], IPV4)), bad, "nothing");
    assert_eq!(
        verified(&text(&inner[..24], IPV4)),
        bad,
        "longer than the text"
    );
    let mut version = inner.clone();
    version[0] = 0x55;
    assert_eq!(verified(&text(&version, IPV4)), bad);
    let extensions = ipv6(0, &[0, 200, 1, 4, 0, 0, 0, 0]);
    assert_eq!(
        verified(&text(&extensions, IPV6)),
        bad,
        "a header beyond the end"
    );
}

/// RFC 4303, section 2.7: bytes behind the inner packet are padding.
#[test]
fn the_inner_length_governs() {
    let inner = ipv4(99, &key(6, 1));
    let padded = [inner.clone(), vec![0xaa; 300]].concat();
    let esp = null_esp(0x1001, 1, &text(&padded, IPV4));
    let file = one(NULL, "tunnel", TUNNEL4);
    let run = unprotect(&file, LinkType::RawIp, &[between_gateways(ESP, &esp)]);
    assert_eq!((run.drops(), run.records), (vec![], vec![inner]));
}

#[test]
fn inner_packets_outside_of_the_selectors() {
    let file = association("one", 0x1001, NULL, "tunnel", TUNNEL4)
        + "[[policy]]\nsource = \"198.18.1.0/24\"\nprotocol = \"udp\"\ndestination_port = 50000\n\
           action = \"protect\"\nsa = \"one\"\n";
    let esp = |inner: &[u8]| between_gateways(ESP, &null_esp(0x1001, 1, &text(inner, IPV4)));
    let mismatch = [(DropReason::SelectorMismatch, 1)];
    assert_eq!(inbound(&file, esp(&ipv4(UDP, &udp(50_000, &[])))), []);
    assert_eq!(inbound(&file, esp(&ipv4(UDP, &udp(50_001, &[])))), mismatch);
    assert_eq!(
        inbound(&file, esp(&ipv4(TCP, &udp(50_000, &key(20, 1))))),
        mismatch
    );
    let mut elsewhere = ipv4(UDP, &udp(50_000, &[]));
    elsewhere[14] = 9;
    assert_eq!(inbound(&file, esp(&elsewhere)), mismatch);
    let mut fragment = ipv4(UDP, &udp(50_000, &[]));
    fragment[6] = 0x20;
    assert_eq!(inbound(&file, esp(&fragment)), [], "it shows its ports");
    fragment[23] ^= 1;
    assert_eq!(inbound(&file, esp(&fragment)), mismatch);
    fragment[7] = 1;
    let missing = [(DropReason::FirstFragmentMissing, 1)];
    assert_eq!(inbound(&file, esp(&fragment)), missing, "it shows none");
}

#[test]
fn clear_text_where_protection_is_asked_for() {
    let file = |checked: bool| {
        format!("default = \"bypass\"\ninbound_policy = {checked}\n")
            + &association("one", 0x1001, NULL, "tunnel", TUNNEL4)
            + "[[policy]]\nsource = \"198.18.1.0/24\"\naction = \"protect\"\nsa = \"one\"\n\
               [[policy]]\nsource = \"fd00:1::/48\"\naction = \"discard\"\n"
    };
    assert_eq!(inbound(&file(false), ipv4(99, &[])), []);
    assert_eq!(
        inbound(&file(true), ipv4(99, &[])),
        [(DropReason::UnprotectedInbound, 1)]
    );
    assert_eq!(
        inbound(&file(true), ipv6(99, &[])),
        [(DropReason::PolicyDiscard, 1)]
    );
    assert_eq!(
        outbound(&file(true), ipv6(99, &[])),
        [(DropReason::PolicyDiscard, 1)]
    );
    assert_eq!(inbound(&file(true), between_gateways(99, &[])), []);
    let strict = file(true).replace("bypass", "discard");
    assert_eq!(
        outbound(&strict, between_gateways(99, &[])),
        [(DropReason::NoPolicy, 1)]
    );
    assert_eq!(
        inbound(&strict, between_gateways(99, &[])),
        [(DropReason::NoPolicy, 1)]
    );
}

#[test]
fn lifetimes_end_on_both_sides() {
    let more =
        format!("{TUNNEL4}\nsoft_lifetime = {{ packets = 3 }}\nhard_lifetime = {{ packets = 5 }}");
    let limited = one(NULL, "tunnel", &more);
    let unlimited = one(NULL, "tunnel", TUNNEL4);
    let records: Vec<Vec<u8>> = (0..8).map(|bytes| ipv4(99, &key(bytes, 1))).collect();
    let soft = |events: &[weir_stream::Event]| {
        let told: Vec<_> = events
            .iter()
            .map(|event| (event.arrival, event.kind.word(), event.members.as_deref()))
            .collect();
        let members = Some("\"soft_lifetime\":{\"spi\":4097}");
        assert_eq!(told, [(Some(3), &SOFT_LIFETIME, members)]);
    };

    let run = protect(&limited, LinkType::RawIp, &records);
    assert_eq!(run.drops(), [(DropReason::LifetimeExpired, 3)]);
    soft(&run.events);
    let all = protect(&unlimited, LinkType::RawIp, &records);
    let run = unprotect(&limited, LinkType::RawIp, &all.records);
    assert_eq!(run.drops(), [(DropReason::LifetimeExpired, 3)]);
    assert_eq!(run.records, records[..5]);
    soft(&run.events);
}

/// 2^20 blocks of 8 bytes are 8 MiB (NIST SP 800-67): 3DES ends there whatever
/// the file says.
#[test]
fn triple_des_ends_at_its_suites_limit() {
    let file = one("3des-cbc+hmac-sha1-96", "tunnel", TUNNEL4);
    // Texts of 64 KiB less 512 bytes: 8128 blocks each, 129 of them in 2^20.
    let records: Vec<Vec<u8>> = (0..131).map(|_| ipv4(99, &key(65_024 - 22, 1))).collect();
    let run = protect(&file, LinkType::RawIp, &records);
    assert_eq!(run.drops(), [(DropReason::LifetimeExpired, 2)]);
}

fn any_file() -> impl Strategy<Value = String> {
    let shapes = prop::sample::select(vec![
        ("tunnel", TUNNEL4, ""),
        ("tunnel", TUNNEL4, "nat_t = true"),
        ("transport", "", ""),
        ("transport", "", "nat_t = true"),
    ]);
    (shapes, any::<bool>()).prop_map(|((mode, tunnel, nat_t), esn)| {
        one(NULL, mode, &format!("{tunnel}\n{nat_t}\nesn = {esn}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Whatever a holder of the key sends, nothing panics, and what comes out
    /// is a whole IP packet.
    #[test]
    fn any_verified_text_is_a_packet_or_refused(
        file in any_file(),
        text in prop::collection::vec(any::<u8>(), 0..120),
        tail in prop_oneof![Just(vec![0, 4]), Just(vec![0, 41]), Just(vec![1, 1, 6]), Just(vec![])],
        in_udp: bool,
    ) {
        let mut text = text;
        text.extend(tail);
        let esp = null_esp(0x1001, 1, &text);
        let record = if in_udp {
            between_gateways(UDP, &udp(4500, &esp))
        } else {
            between_gateways(ESP, &esp)
        };
        let file = SaFile::parse("t".as_ref(), &file).expect("a right file");
        let mut stage = file.unprotect(&Windows::Empty, 1).expect("keys").remove(0);
        if let Ok(Some(inner)) = stage.unprotect_record(LinkType::RawIp, &record) {
            let headers = weir_packet::wire::Headers::parse(LinkType::RawIp, &inner);
            prop_assert!(headers.is_whole_ip());
            prop_assert_eq!(headers.end_offset as usize, inner.len());
        }
    }

    #[test]
    fn any_bytes_are_protected_or_refused(
        file in any_file(),
        link in prop::sample::select(vec![
            LinkType::Ethernet, LinkType::RawIp, LinkType::RawIpv6, LinkType::LinuxSll,
            LinkType::LinuxSll2, LinkType::Null, LinkType::Other(9),
        ]),
        start in prop::sample::select(vec![
            vec![], vec![0x45, 0, 0, 40], vec![0x4f, 0, 0, 60], vec![0x60, 0, 0, 0, 0, 20, 0, 1],
            vec![0x60, 0, 0, 0, 0, 0, 44, 1],
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..150),
    ) {
        let record = [start, rest].concat();
        let run = protect(&file, link, std::slice::from_ref(&record));
        prop_assert_eq!(run.records.len() as u64 + run.drops().iter().map(|(_, n)| n).sum::<u64>(), 1);
        let run = unprotect(&file, link, &[record]);
        prop_assert!(run.records.len() <= 1);
    }
}

/// A receiver that starts in the middle of a stream finds the high half of the
/// numbers (RFC 4303, appendix A3), and forgeries do not lead it astray.
#[test]
fn a_fresh_receiver_finds_the_high_half() {
    for (suite, high) in [
        ("aes-128-gcm-16", 1u64),
        ("aes-128-gcm-16", 20),
        ("aes-128-cbc+hmac-sha1-96", 3),
    ] {
        let esp = |low: u64| {
            let payload = udp(9, &low.to_be_bytes());
            crate::common::seal_with_number(suite, high << 32 | low, &ipv4(UDP, &payload))
        };
        let records: Vec<Vec<u8>> = (1..=600)
            .map(|low| between_gateways(ESP, &esp(low)))
            .collect();
        let file = one(suite, "tunnel", &format!("{TUNNEL4}\nesn = true"));
        let run = unprotect(&file, LinkType::RawIp, &records);
        let drops = run.drops();
        assert!(
            matches!(drops[..], [(DropReason::IntegrityFailed, failed)] if failed < 600),
            "{suite} {high}: {drops:?}"
        );
        // A receiver with `expected_sequence` opens at once, and nothing older.
        let more = format!(
            "{TUNNEL4}\nesn = true\nexpected_sequence = {}",
            high << 32 | 300
        );
        let run = unprotect(
            &one(suite, "tunnel", &more),
            LinkType::RawIp,
            &records[299..],
        );
        assert_eq!((run.drops(), run.records.len()), (vec![], 301));
        let run = unprotect(
            &one(suite, "tunnel", &more),
            LinkType::RawIp,
            &records[290..299],
        );
        assert_eq!(run.records.len(), 0);
    }
}
