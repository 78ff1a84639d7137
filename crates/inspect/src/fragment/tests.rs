//! Fragments in any order, and hostile ones.

use proptest::prelude::*;
use weir_packet::wire::protocol::UDP;
use weir_packet::wire::{Headers, LinkType, internet_checksum};
use weir_select::AddressSet;

use super::piece::FRAGMENT_HEADER;
use super::*;
use crate::test_packets::ipv4;

const ENDS: (u32, u32) = (0x0a00_0001, 0x0a00_0002);

fn sensor() -> Reassembler {
    Reassembler::new(Vec::new(), false)
}

fn taken(reassembler: &mut Reassembler, packet: &[u8], now_ns: u64) -> (Taken, Vec<u8>) {
    let packet = Packet {
        headers: Headers::parse(LinkType::RawIp, packet),
        bytes: packet,
        timestamp_ns: now_ns,
        ..Packet::default()
    };
    let mut whole = Vec::new();
    (reassembler.take(&packet, &mut whole), whole)
}

fn take(reassembler: &mut Reassembler, packet: &[u8], now_ns: u64) -> Option<Vec<u8>> {
    let (taken, whole) = taken(reassembler, packet, now_ns);
    (taken == Taken::Completes).then_some(whole)
}

/// A fragment of `payload` from `start` to `end`.
fn fragment4(payload: &[u8], start: usize, end: usize) -> Vec<u8> {
    let more = if end < payload.len() { 0x2000 } else { 0 };
    ipv4(UDP, ENDS, more | (start / 8) as u16, &payload[start..end])
}

fn fragment6(payload: &[u8], start: usize, end: usize) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(((8 + 8 + end - start) as u16).to_be_bytes());
    // Hop-by-hop options in front of the fragment header.
    packet.extend([0, 64]);
    packet.extend([[0xfd; 16], [0xfe; 16]].concat());
    packet.extend([FRAGMENT_HEADER, 0, 1, 4, 0, 0, 0, 0]);
    let place = start as u16 | u16::from(end < payload.len());
    packet.extend([UDP, 0]);
    packet.extend(place.to_be_bytes());
    packet.extend([0, 0, 0, 7]);
    packet.extend_from_slice(&payload[start..end]);
    packet
}

proptest! {
    /// Any order, with repetitions: the datagram comes once, when the last
    /// piece is there.
    #[test]
    fn any_order_gives_the_datagram(
        payload in proptest::collection::vec(any::<u8>(), 17..90),
        order in Just((0..12usize).collect::<Vec<_>>()).prop_shuffle(),
        is_ipv6 in any::<bool>(),
    ) {
        let pieces: Vec<(usize, usize)> = (0..payload.len())
            .step_by(8)
            .map(|start| (start, payload.len().min(start + 8)))
            .collect();
        let mut reassembler = sensor();
        let mut found = Vec::new();
        for piece in order.iter().filter_map(|n| pieces.get(*n)) {
            let make = if is_ipv6 { fragment6 } else { fragment4 };
            found.extend(take(&mut reassembler, &make(&payload, piece.0, piece.1), 5));
        }
        prop_assert_eq!(found.len(), 1);
        let headers = Headers::parse(LinkType::RawIp, &found[0]);
        prop_assert_eq!(headers.fragment, Fragment::Whole);
        prop_assert_eq!(headers.transport(&found[0]), &payload[..]);
        prop_assert_eq!(reassembler.counts().reassembled, 1);
        prop_assert_eq!(reassembler.bytes, 0);
    }
}

#[test]
fn a_datagram_has_a_right_header_checksum() {
    let payload: Vec<u8> = (0..32).collect();
    let mut reassembler = sensor();
    assert_eq!(
        take(&mut reassembler, &fragment4(&payload, 16, 32), 0),
        None
    );
    let whole = take(&mut reassembler, &fragment4(&payload, 0, 16), 0).expect("whole");
    assert_eq!(internet_checksum(&whole[..20]), 0);
}

/// A fragment with bytes of its own from one unit of 8 bytes to another; units are written as letters.
fn units(start: usize, text: &str, is_last: bool) -> Vec<u8> {
    let more = if is_last { 0 } else { 0x2000 };
    let bytes: Vec<u8> = text.bytes().flat_map(|letter| [letter; 8]).collect();
    ipv4(UDP, ENDS, more | start as u16, &bytes)
}

/// What a receiver makes of fragments: a letter per unit.
fn assembled(overlap: Overlap, fragments: &[(usize, &str, bool)]) -> Option<String> {
    let policy = HostPolicy {
        hosts: AddressSet::prefix("10.0.0.2/32".parse().expect("a prefix")),
        overlap,
    };
    let mut reassembler = Reassembler::new(vec![policy], false);
    let mut found = None;
    for (start, text, is_last) in fragments {
        let whole = take(&mut reassembler, &units(*start, text, *is_last), 0);
        found = found.or(whole);
    }
    let whole = found?;
    let letters = whole[20..].chunks(8).map(|unit| char::from(unit[0]));
    Some(letters.collect())
}

#[test]
fn overlapping_fragments_are_kept_as_their_receiver_does() {
    type Fragments<'a> = &'a [(usize, &'a str, bool)];
    let cases: [(Fragments<'_>, [Option<&str>; 4]); 6] = [
        // Within a run: Linux leaves it out.
        (
            &[(0, "aaa", false), (1, "b", false), (3, "c", true)],
            [Some("aaac"), Some("aaac"), Some("aaac"), Some("abac")],
        ),
        // A run that was appended to is one.
        (
            &[
                (0, "aa", false),
                (2, "aa", false),
                (1, "bb", false),
                (4, "c", true),
            ],
            [Some("aaaac"), Some("aabac"), Some("aaaac"), Some("abbac")],
        ),
        // Two runs: the fragment lies in neither, and Linux gives up.
        (
            &[
                (2, "aa", false),
                (0, "aa", false),
                (1, "bb", false),
                (4, "c", true),
            ],
            [None, Some("aabac"), Some("aaaac"), Some("abbac")],
        ),
        (
            &[(0, "aa", false), (1, "bb", false), (3, "c", true)],
            [None, Some("aabc"), Some("aabc"), Some("abbc")],
        ),
        (
            &[(1, "aa", false), (0, "bbbb", false), (4, "c", true)],
            [None, Some("bbbbc"), Some("baabc"), Some("bbbbc")],
        ),
        // The last fragment twice, with other bytes.
        (
            &[(1, "a", true), (1, "b", true), (0, "c", false)],
            [Some("ca"), Some("ca"), Some("ca"), Some("cb")],
        ),
    ];
    for (fragments, expected) in cases {
        for (overlap, expected) in [Overlap::Linux, Overlap::Bsd, Overlap::First, Overlap::Last]
            .into_iter()
            .zip(expected)
        {
            let found = assembled(overlap, fragments);
            assert_eq!(found.as_deref(), expected, "{overlap:?} {fragments:?}");
        }
    }
}

#[test]
fn uneven_fragments_are_cut_by_linux() {
    let mut reassembler = sensor();
    let first = ipv4(UDP, ENDS, 0x2000, b"aaaaaaaabbb");
    assert_eq!(take(&mut reassembler, &first, 0), None);
    let whole = take(&mut reassembler, &ipv4(UDP, ENDS, 1, b"ccc"), 0).expect("whole");
    assert_eq!(&whole[20..], b"aaaaaaaaccc");
}

#[test]
fn ends_that_contradict_give_up_the_datagram() {
    let payload: Vec<u8> = (0..32).collect();
    let mut reassembler = sensor();
    let orders: [&[Vec<u8>]; 2] = [
        &[
            fragment4(&payload[..24], 16, 24),
            fragment4(&payload, 24, 32),
            fragment4(&payload, 0, 16),
        ],
        &[
            fragment4(&payload, 16, 24),
            fragment4(&payload[..16], 8, 16),
            fragment4(&payload, 0, 8),
        ],
    ];
    for (refused, packets) in (1..).zip(orders) {
        for packet in packets {
            assert_eq!(take(&mut reassembler, packet, 0), None);
        }
        assert_eq!(reassembler.counts().refused, refused);
        // The last one waits again.
        assert_eq!(reassembler.datagrams.len(), 1);
        reassembler = sensor_with(&reassembler);
    }
}

fn sensor_with(other: &Reassembler) -> Reassembler {
    Reassembler {
        counts: other.counts,
        ..sensor()
    }
}

/// Of IPv6, the next header of the first fragment alone counts (RFC 8200, section 4.5).
#[test]
fn fragments_of_ipv6_may_name_other_next_headers() {
    let payload: Vec<u8> = (0..32).collect();
    let mut second = fragment6(&payload, 16, 32);
    assert_eq!(second[48], UDP);
    second[48] = 6;
    let mut reassembler = sensor();
    assert_eq!(take(&mut reassembler, &second, 0), None);
    let whole = take(&mut reassembler, &fragment6(&payload, 0, 16), 0).expect("whole");
    assert_eq!((whole[6], &whole[40..]), (UDP, &payload[..]));
}

/// A datagram of two fragments survives a flood of first ones from anywhere between them.
#[test]
fn floods_evict_each_other() {
    let payload = vec![7; 4000];
    let mut reassembler = sensor();
    take(&mut reassembler, &fragment4(&payload, 0, 1000), 0);
    take(&mut reassembler, &fragment4(&payload, 1000, 2000), 0);
    for source in 0..100_000u32 {
        let packet = ipv4(UDP, (source, 1), 0x2000 | 7000, &payload[..800]);
        assert_eq!(take(&mut reassembler, &packet, 0), None);
        assert!(reassembler.bytes <= MAX_BYTES && reassembler.datagrams.len() <= MAX_DATAGRAMS);
    }
    let counts = reassembler.counts();
    assert_eq!(counts.evicted, 100_001 - reassembler.datagrams.len() as u64);
    let last = take(&mut reassembler, &fragment4(&payload, 2000, 4000), 0);
    assert_eq!(last.expect("whole").len(), 20 + 4000);
}

#[test]
fn late_fragments_begin_anew() {
    let payload: Vec<u8> = (0..32).collect();
    let mut reassembler = sensor();
    take(&mut reassembler, &fragment4(&payload, 0, 16), 0);
    let late = take(
        &mut reassembler,
        &fragment4(&payload, 16, 32),
        LINUX_IPV4_TIMEOUT_NS + 1,
    );
    assert_eq!(late, None);
    let whole = take(
        &mut reassembler,
        &fragment4(&payload, 0, 16),
        LINUX_IPV4_TIMEOUT_NS + 2,
    );
    assert!(whole.is_some());
    assert_eq!(reassembler.bytes, 0);
}

/// What an inline inspector has no space for does not go on, and what contradicts does not reach the
/// receiver, whose datagram waits on.
#[test]
fn inline_nothing_is_completed_unseen() {
    let payload = vec![7; 4000];
    let mut reassembler = Reassembler::new(Vec::new(), true);
    take(&mut reassembler, &fragment4(&payload, 0, 1000), 0);
    let conflict = ipv4(UDP, ENDS, 0x2000 | 100, &[8; 400]);
    assert_eq!(taken(&mut reassembler, &conflict, 0).0, Taken::Refused);
    let mut refused = 0;
    for source in 0..50_000u32 {
        let packet = ipv4(UDP, (source, 1), 0x2000 | 7000, &payload[..800]);
        match taken(&mut reassembler, &packet, 0).0 {
            Taken::Refused => refused += 1,
            other => assert_eq!(other, Taken::Nothing),
        }
        assert!(reassembler.bytes <= MAX_BYTES + 2000);
    }
    assert_eq!(refused, 50_001 - reassembler.datagrams.len());
    assert_eq!(reassembler.counts().evicted, 0);
    // There is space when those that wait are late.
    let later_ns = TIMEOUT_NS + 1;
    let packet = ipv4(UDP, (1, 1), 0x2000, &payload[..800]);
    assert_eq!(taken(&mut reassembler, &packet, later_ns).0, Taken::Nothing);
}
