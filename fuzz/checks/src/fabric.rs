//! Packets of InfiniBand and RoCEv2, in every link type that carries them.
//!
//! The promises of [`weir_fabric`]: the parts of a packet follow each other and lie inside the
//! record; its headers are written as they were read; a cut packet has no verdict; one changed bit
//! in what a check value covers makes it wrong; and a checker counts every packet once.

mod seeds;

use weir_fabric::check::Checker;
use weir_fabric::wire::{Bth, Packet, Verdict};
use weir_packet::wire::{Headers, LinkType};

pub(crate) use seeds::packets;
pub use seeds::{WORDS, seeds};

const LINK_TYPES: [LinkType; 4] = [
    LinkType::Ethernet,
    LinkType::RawIp,
    LinkType::InfiniBand,
    LinkType::Erf,
];

/// Panics where a promise of the packet parser or of the checker is broken.
pub fn check(input: &[u8]) {
    let mut checker = Checker::default();
    for (number, link) in (1..).zip(LINK_TYPES) {
        let headers = Headers::parse(link, input);
        checker.check(number, &headers, link, input);
        if let Ok(Some(packet)) = Packet::parse(link, input) {
            check_parts(input, &packet);
            check_headers(input, &packet);
            check_cuts(link, input, &packet);
            check_flips(link, input, &packet);
        }
    }
    let report = checker.report();
    let all = report.fabric_packets() + report.other;
    assert_eq!(all, LINK_TYPES.len() as u64);
}

/// Headers, payload, pad and check values lie one behind the other.
fn check_parts(record: &[u8], packet: &Packet<'_>) {
    let in_front = [
        packet.lrh_range(),
        packet.grh_range(),
        packet.ip_range(),
        packet.udp_range(),
    ];
    let mut ranges: Vec<_> = in_front.into_iter().flatten().collect();
    ranges.extend([packet.bth_range(), packet.extended_range()]);
    ranges.extend([packet.payload_range(), packet.pad_range()]);
    ranges.extend(packet.icrc_range());
    ranges.extend(packet.vcrc_range());
    for pair in ranges.windows(2) {
        assert_eq!(pair[0].end, pair[1].start, "{packet:?}");
    }
    assert!(ranges.iter().all(|range| range.start <= range.end));
    assert!(ranges.iter().all(|range| range.end <= record.len()));
    assert_eq!(packet.is_cut(), packet.icrc_range().is_none());
    assert_eq!(packet.payload(), &record[packet.payload_range()]);
}

/// Headers keep every bit, and each that the operation calls for can be read.
fn check_headers(record: &[u8], packet: &Packet<'_>) {
    let bth: [u8; Bth::BYTES] = packet.bth().to_bytes();
    assert_eq!(bth, record[packet.bth_range()]);
    if let Some((lrh, range)) = packet.lrh().zip(packet.lrh_range()) {
        assert_eq!(lrh.to_bytes(), record[range]);
    }
    if let Some((grh, range)) = packet.grh().zip(packet.grh_range()) {
        assert_eq!(grh.to_bytes(), record[range]);
    }
    let mut bytes = Vec::new();
    macro_rules! add {
        ($($header:ident),*) => {$(
            bytes.extend(packet.$header().into_iter().flat_map(|header| header.to_bytes()));
        )*};
    }
    add!(
        rdeth,
        deth,
        reth,
        atomic_eth,
        aeth,
        atomic_ack_eth,
        immediate,
        ieth
    );
    assert_eq!(bytes, record[packet.extended_range()]);
}

/// A shorter record has a shorter packet, or none, and never another one.
fn check_cuts(link: LinkType, record: &[u8], packet: &Packet<'_>) {
    let end = packet.pad_range().end;
    for cut in [end, end.saturating_sub(1), packet.bth_range().end] {
        let shorter = &record[..cut];
        if let Ok(Some(found)) = Packet::parse(link, shorter) {
            assert!(found.is_cut(), "{found:?}");
            assert_eq!(found.bth(), packet.bth());
            assert_eq!(found.check_icrc(), Verdict::Absent);
            assert_eq!(found.check_vcrc(), Verdict::Absent);
        }
    }
}

/// The last bit that a check value covers, and those of the check values.
fn check_flips(link: LinkType, record: &[u8], packet: &Packet<'_>) {
    let Some(icrc) = packet.icrc_range() else {
        return;
    };
    let verdicts = |at: usize| {
        let mut changed = record.to_vec();
        changed[at] ^= 1;
        let found = Packet::parse(link, &changed).ok().flatten();
        found.map(|found| (found.check_icrc(), found.check_vcrc()))
    };
    if packet.check_icrc() == Verdict::Good {
        // The packet number's last bit, and the ICRC's first one.
        for at in [packet.bth_range().end - 1, icrc.start] {
            let found = verdicts(at).map(|(icrc, _)| icrc);
            assert_eq!(found, Some(Verdict::Wrong));
        }
    }
    if packet.check_vcrc() == Verdict::Good {
        let found = verdicts(icrc.start).map(|(_, vcrc)| vcrc);
        assert_eq!(found, Some(Verdict::Wrong));
    }
}
