use weir_packet::wire::build::IpHeader;
use weir_packet::wire::{FlowKey, Headers, LinkType};

use super::*;
use crate::wire::{Bth, ExtendedHeaders, Lrh, Message, Opcode, Reth};

/// A packet of a flow over IPv4.
fn rocev2(opcode: u8, source: u128, destination_qp: u32, psn: u32, payload: &[u8]) -> Vec<u8> {
    let message = Message {
        bth: Bth {
            opcode: Opcode(opcode),
            partition_key: 0x8001,
            destination_qp,
            psn,
            ..Bth::default()
        },
        extended: ExtendedHeaders {
            reth: Reth {
                dma_bytes: 8192,
                ..Reth::default()
            },
            ..ExtendedHeaders::default()
        },
        payload,
    };
    let key = FlowKey {
        source,
        destination: 0x0a00_0009,
        source_port: 50_000,
        destination_port: 4791,
        protocol: 17,
        ip_version: 4,
    };
    let mut bytes = Vec::new();
    let written = message.write_rocev2(&mut bytes, &key, &IpHeader::default());
    written.expect("a packet");
    bytes
}

fn native(lane: u8, payload: &[u8]) -> Vec<u8> {
    let message = Message {
        bth: Bth {
            opcode: Opcode(0x64),
            partition_key: 0x7fff,
            ..Bth::default()
        },
        payload,
        ..Message::default()
    };
    let lrh = Lrh {
        virtual_lane: lane,
        source_lid: 4,
        destination_lid: 1,
        ..Lrh::default()
    };
    let mut bytes = Vec::new();
    let written = message.write_native(&mut bytes, lrh, None);
    written.expect("a packet");
    bytes
}

fn check(checker: &mut Checker, number: u64, link: LinkType, record: &[u8]) {
    let headers = Headers::parse(link, record);
    checker.check(number, &headers, link, record);
}

fn report_of(packets: &[Vec<u8>]) -> Report {
    let mut checker = Checker::default();
    for (number, packet) in (1..).zip(packets) {
        check(&mut checker, number, LinkType::RawIp, packet);
    }
    checker.report()
}

/// Kind, packet, expected and found value of each finding.
fn findings(report: &Report) -> Vec<(FindingKind, u64, Option<u32>, Option<u32>)> {
    let findings = report.findings.iter();
    findings
        .map(|f| (f.kind, f.packet, f.expected, f.found))
        .collect()
}

#[test]
fn packets_are_counted_by_what_they_are() {
    let mut checker = Checker::default();
    let send = rocev2(4, 1, 7, 1, b"four");
    check(&mut checker, 1, LinkType::RawIp, &send);
    check(&mut checker, 2, LinkType::RawIp, &rocev2(17, 2, 8, 1, b""));
    check(&mut checker, 3, LinkType::RawIp, &send[..45]);
    check(&mut checker, 4, LinkType::RawIp, &send[..30]);
    check(&mut checker, 5, LinkType::InfiniBand, &native(0, b"x"));
    let mut fragment = send.clone();
    fragment[6] |= 0x20;
    check(&mut checker, 6, LinkType::RawIp, &fragment);
    let report = checker.report();
    let counts = [report.rocev2, report.infiniband, report.other, report.cut];
    assert_eq!(counts, [3, 1, 0, 1]);
    assert_eq!(
        report.malformed,
        BTreeMap::from([("fragmented", 1), ("header_cut", 1)])
    );
    assert_eq!(report.fabric_packets(), 6);
    let opcodes = report.opcodes.iter();
    let opcodes: Vec<_> = opcodes
        .map(|row| (&*row.name, row.packets, row.bytes))
        .collect();
    assert_eq!(
        opcodes,
        [
            ("RC SEND Only", 2, 96),
            ("RC Acknowledge", 1, 48),
            ("UD SEND Only", 1, 36)
        ]
    );
    let keys = report.partition_keys.iter();
    let keys: Vec<_> = keys
        .map(|row| (&*row.partition_key, row.full_member, row.packets))
        .collect();
    assert_eq!(keys, [("0x7fff", false, 1), ("0x8001", true, 3)]);
    let verdicts = |good, wrong, absent| Verdicts {
        good,
        wrong,
        absent,
    };
    assert_eq!(report.icrc, verdicts(3, 0, 1));
    assert_eq!(report.vcrc, verdicts(1, 0, 0));
    let pairs = report.queue_pairs.iter();
    let pairs: Vec<_> = pairs
        .map(|row| (&*row.source, row.queue_pair, row.direction, row.packets))
        .collect();
    assert_eq!(
        pairs,
        [
            ("0.0.0.1", 7, Some("request"), 2),
            ("0.0.0.2", 8, Some("response"), 1),
            ("lid:4", 0, Some("request"), 1)
        ]
    );
    // The third packet repeats the first one's number.
    let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(
        kinds,
        [
            FindingKind::PsnRepeated,
            FindingKind::Malformed,
            FindingKind::Malformed
        ]
    );
}

#[test]
fn wrong_check_values_are_named() {
    let mut checker = Checker::default();
    let mut packet = rocev2(4, 1, 7, 1, b"four");
    packet[40] ^= 1;
    check(&mut checker, 1, LinkType::RawIp, &packet);
    // The VCRC covers the virtual lane, the ICRC does not.
    let mut moved = native(0, b"four");
    moved[0] ^= 0xf0;
    check(&mut checker, 2, LinkType::InfiniBand, &moved);
    let mut management = native(15, b"four");
    management[30] ^= 1;
    check(&mut checker, 3, LinkType::InfiniBand, &management);
    let report = checker.report();
    let (icrc, vcrc) = (FindingKind::IcrcWrong, FindingKind::VcrcWrong);
    let named: Vec<_> = report.findings.iter().map(|f| (f.kind, f.packet)).collect();
    assert_eq!(named, [(icrc, 1), (vcrc, 2), (icrc, 3), (vcrc, 3)]);
    assert!(report.findings.iter().all(|f| f.expected != f.found));
    assert_eq!((report.icrc.good, report.icrc.wrong), (1, 2));
    assert_eq!(report.icrc_wrong_on_vl15, 1);
    assert_eq!((report.vcrc.good, report.vcrc.wrong), (0, 2));
    assert_eq!(report.findings_total, 4);
}

#[test]
fn packet_numbers_are_followed_per_queue_pair_and_direction() {
    let report = report_of(&[
        rocev2(4, 1, 7, 10, b""),
        rocev2(17, 1, 7, 99, b""),
        rocev2(4, 2, 7, 500, b""),
        rocev2(4, 1, 7, 13, b""),
        rocev2(17, 1, 7, 98, b""),
        // Datagrams are numbered by their sender over all receivers.
        rocev2(0x64, 1, 7, 1, b""),
        rocev2(0x64, 1, 7, 9, b""),
        // A READ request of 8,192 bytes, and what may follow it.
        rocev2(12, 2, 7, 501, b""),
        rocev2(4, 2, 7, 503, b""),
        rocev2(4, 2, 7, 0x90_0000, b""),
    ]);
    let (gap, repeated) = (FindingKind::PsnGap, FindingKind::PsnRepeated);
    assert_eq!(
        findings(&report),
        [
            (gap, 4, Some(11), Some(13)),
            (repeated, 5, Some(99), Some(98)),
            (FindingKind::PsnJump, 10, Some(504), Some(0x90_0000)),
        ]
    );
    let numbers = PacketNumbers {
        gaps: 1,
        missing: 2,
        repeated: 1,
        jumps: 1,
    };
    assert_eq!(report.packet_numbers, numbers);
    let of_first = report.queue_pairs.iter().find(|row| {
        (&*row.source, row.direction, row.transport) == ("0.0.0.1", Some("request"), Some("RC"))
    });
    let of_first = of_first.expect("a row");
    assert_eq!(
        (of_first.packets, of_first.gaps, of_first.missing),
        (2, 1, 2)
    );
}

#[test]
fn tables_and_findings_are_bounded() {
    let mut checker = Checker::default();
    let pairs = QUEUE_PAIRS_MAX as u32 + 50;
    for destination_qp in 0..pairs {
        let mut packet = rocev2(4, 1, destination_qp, 1, b"");
        packet[30] ^= 1;
        check(&mut checker, 1, LinkType::RawIp, &packet);
    }
    let report = checker.report();
    assert_eq!(report.queue_pairs.len(), QUEUE_PAIRS_MAX);
    assert_eq!(report.queue_pairs_untracked, 50);
    assert_eq!(report.findings.len(), FINDINGS_MAX);
    assert_eq!(report.findings_total, u64::from(pairs));
    assert_eq!(report.icrc.wrong, u64::from(pairs));
}
