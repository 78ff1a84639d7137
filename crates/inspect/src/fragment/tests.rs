//! Fragments in any order, and hostile ones.

use proptest::prelude::*;
use weir_packet::wire::protocol::UDP;
use weir_packet::wire::{Headers, LinkType};

use super::*;
use crate::test_packets::ipv4;

const ENDS: (u32, u32) = (0x0a00_0001, 0x0a00_0002);

fn take(reassembler: &mut Reassembler, packet: &[u8], now_ns: u64) -> Option<Vec<u8>> {
    let packet = Packet {
        headers: Headers::parse(LinkType::RawIp, packet),
        bytes: packet,
        timestamp_ns: now_ns,
        ..Packet::default()
    };
    let mut whole = Vec::new();
    let taken = reassembler.take(&packet, &mut whole);
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
        let mut reassembler = Reassembler::default();
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
fn what_contradicts_itself_is_given_up() {
    let payload: Vec<u8> = (0..32).collect();
    let mut other = payload.clone();
    other[10] = 99;
    let mut reassembler = Reassembler::default();
    for packet in [
        fragment4(&payload, 0, 16),
        // Other bytes for a place that was seen.
        fragment4(&other, 8, 24),
        fragment4(&payload, 16, 32),
    ] {
        assert_eq!(take(&mut reassembler, &packet, 0), None);
    }
    assert_eq!(reassembler.counts().refused, 1);
    // A second end, and a piece behind the first.
    assert_eq!(
        take(&mut reassembler, &fragment4(&payload[..24], 16, 24), 0),
        None
    );
    assert_eq!(reassembler.counts().refused, 2);
}

#[test]
fn floods_stay_bounded_and_late_datagrams_go() {
    let payload = vec![0; 64_000];
    let mut reassembler = Reassembler::default();
    for source in 0..5000u32 {
        let packet = ipv4(UDP, (source, 1), 0x2000 | 7000, &payload[..800]);
        assert_eq!(take(&mut reassembler, &packet, 0), None);
        assert!(reassembler.bytes <= MAX_BYTES && reassembler.datagrams.len() <= MAX_DATAGRAMS);
    }
    let counts = reassembler.counts();
    assert_eq!(counts.evicted, 5000 - reassembler.datagrams.len() as u64);
    take(&mut reassembler, &fragment4(&payload, 0, 8), TIMEOUT_NS + 1);
    assert_eq!(reassembler.datagrams.len(), 1);
}
