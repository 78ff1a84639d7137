use proptest::prelude::*;
use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::{Checksum, FlowKey, internet_checksum};

use super::*;
use crate::wire::{BuildError, ExtendedHeaders, Message, Opcode};

mod by_bits;

/// Bytes of hexadecimal digits; spaces are left out.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

/// A congestion notification of a real adapter, a whole Ethernet frame.
fn notification() -> Vec<u8> {
    hex("e41d2dab2bc2 7cfe90643b32 0800
        45c2003c718c4000401191610a0011010a001201 000012b700280000
        8100ffff4000011800000000 00000000000000000000000000000000 82fd002a")
}

/// A packet of scapy's tests: UC SEND Only with MigReq and two bytes of pad, from the IP header on.
fn scapy_vector() -> Vec<u8> {
    let payload = "4630818be28935d90e9a95505401be885e500000";
    hex(&format!(
        "450100400478400040 11 b4d5 c0a80007c0a80007
        c00012b7 002c aca2
        2460ffff000000d300cf1710 {payload} 78f353f3"
    ))
}

fn parsed(link: LinkType, record: &[u8]) -> Packet<'_> {
    let packet = Packet::parse(link, record).expect("headers in order");
    packet.expect("a packet of InfiniBand or RoCEv2")
}

fn key(ip_version: u8) -> FlowKey {
    let (source, destination) = match ip_version {
        4 => (0xc612_0001, 0xc612_0002),
        _ => (0xfd00 << 112 | 1, 0xfd00 << 112 | 2),
    };
    FlowKey {
        source,
        destination,
        source_port: 0xc000,
        destination_port: ROCEV2_PORT,
        protocol: protocol::UDP,
        ip_version,
    }
}

/// A packet of each carrier, with the link type that shows it.
fn built(message: &Message<'_>, carrier: Carrier) -> (LinkType, Vec<u8>) {
    let mut out = Vec::new();
    let lrh = Lrh {
        virtual_lane: 3,
        service_level: 2,
        destination_lid: 4,
        source_lid: 1,
        ..Lrh::default()
    };
    let grh = Grh {
        traffic_class: 0x12,
        flow_label: 0xabcde,
        source_gid: 0xfe80 << 112 | 1,
        destination_gid: 0xfe80 << 112 | 2,
        ..Grh::default()
    };
    let ip = IpHeader {
        traffic_class: 0x68,
        flow_label: 0x1_2345,
        identification: 1144,
        ..IpHeader::default()
    };
    let (link, result) = match carrier {
        Carrier::Local => (
            LinkType::InfiniBand,
            message.write_native(&mut out, lrh, None),
        ),
        Carrier::Global => (
            LinkType::InfiniBand,
            message.write_native(&mut out, lrh, Some(grh)),
        ),
        Carrier::Ipv4 => (
            LinkType::RawIpv4,
            message.write_rocev2(&mut out, &key(4), &ip),
        ),
        Carrier::Ipv6 => (
            LinkType::RawIpv6,
            message.write_rocev2(&mut out, &key(6), &ip),
        ),
    };
    result.expect("a packet");
    (link, out)
}

const CARRIERS: [Carrier; 4] = [
    Carrier::Local,
    Carrier::Global,
    Carrier::Ipv4,
    Carrier::Ipv6,
];

fn message(opcode: Opcode, payload: &[u8]) -> Message<'_> {
    Message {
        bth: Bth {
            opcode,
            partition_key: 0x8123,
            destination_qp: 0x45,
            psn: 0xff_fffe,
            ..Bth::default()
        },
        extended: ExtendedHeaders::default(),
        payload: if opcode.may_have_payload() {
            payload
        } else {
            &[]
        },
    }
}

#[test]
fn a_recorded_congestion_notification_is_right() {
    let frame = notification();
    let packet = parsed(LinkType::Ethernet, &frame);
    assert_eq!(packet.carrier(), Carrier::Ipv4);
    assert_eq!(packet.bth().opcode, Opcode::CONGESTION_NOTIFICATION);
    assert!(packet.bth().becn && !packet.bth().fecn);
    assert_eq!(packet.bth().destination_qp, 0x118);
    assert_eq!(packet.payload(), [0; 16]);
    assert_eq!(packet.icrc(), Some(0x2a00_fd82));
    assert_eq!(packet.check_icrc(), Verdict::Good);
    assert_eq!(packet.check_vcrc(), Verdict::Absent);
    assert_eq!(packet.ip_range(), Some(14..34));
    assert_eq!(packet.udp_range(), Some(34..42));
    assert_eq!(packet.bth_range(), 42..54);
    assert_eq!(packet.icrc_range(), Some(70..74));
    let addresses = packet.ip_addresses().expect("addresses");
    assert_eq!(addresses.0.to_string(), "10.0.17.1");
    assert_eq!(addresses.1.to_string(), "10.0.18.1");
}

#[test]
fn a_packet_of_scapy_is_right() {
    let bytes = scapy_vector();
    assert_eq!(internet_checksum(&bytes[..20]), 0);
    let packet = parsed(LinkType::RawIp, &bytes);
    assert_eq!(packet.bth().opcode, Opcode(0x24));
    assert!(packet.bth().migration_request);
    assert_eq!(
        (packet.bth().destination_qp, packet.bth().psn),
        (211, 13_571_856)
    );
    assert_eq!((packet.payload().len(), packet.pad_range().len()), (18, 2));
    assert_eq!(
        packet.icrc().map(u32::to_le_bytes),
        Some([0x78, 0xf3, 0x53, 0xf3])
    );
    assert_eq!(packet.check_icrc(), Verdict::Good);
}

#[test]
fn what_is_built_is_read_back() {
    let payload: Vec<u8> = (1..=13).collect();
    for opcode in Opcode::all() {
        for carrier in CARRIERS {
            let message = message(opcode, &payload);
            let (link, bytes) = built(&message, carrier);
            let packet = parsed(link, &bytes);
            assert_eq!(packet.carrier(), carrier);
            let pad_bytes = (4 - message.payload.len() % 4) % 4;
            let bth = Bth {
                pad_bytes: pad_bytes as u8,
                ..message.bth
            };
            assert_eq!(packet.bth(), bth, "{opcode}");
            assert_eq!(packet.payload(), message.payload, "{opcode}");
            assert_eq!(packet.pad_range().len(), pad_bytes);
            assert_eq!(packet.extended_range().len(), opcode.extended_bytes());
            assert_eq!(packet.check_icrc(), Verdict::Good, "{opcode} {carrier:?}");
            let (vcrc, vcrc_bytes) = match carrier.is_rocev2() {
                true => (Verdict::Absent, 0),
                false => (Verdict::Good, 2),
            };
            assert_eq!(packet.check_vcrc(), vcrc);
            assert_eq!(packet.packet_bytes() + vcrc_bytes, bytes.len());
            let icrc = packet.icrc().expect("an ICRC");
            assert_eq!(
                by_bits::icrc(carrier, &bytes, vcrc_bytes),
                icrc,
                "{opcode} {carrier:?}"
            );
        }
    }
}

/// Each extended header has the place that the operation gives it.
#[test]
fn extended_headers_are_read_back() {
    let extended = ExtendedHeaders {
        rdeth: Rdeth {
            reserved: 0,
            ee_context: 1,
        },
        deth: Deth {
            queue_key: 2,
            reserved: 0,
            source_qp: 3,
        },
        reth: Reth {
            virtual_address: 4,
            remote_key: 5,
            dma_bytes: 6,
        },
        atomic_eth: AtomicEth {
            virtual_address: 7,
            remote_key: 8,
            swap_or_add: 9,
            compare: 10,
        },
        aeth: Aeth {
            syndrome: 0x1f,
            msn: 11,
        },
        atomic_ack_eth: AtomicAckEth { original: 12 },
        immediate: ImmDt { data: 13 },
        ieth: Ieth { remote_key: 14 },
    };
    for opcode in Opcode::all() {
        let message = Message {
            extended,
            ..message(opcode, b"")
        };
        let (link, bytes) = built(&message, Carrier::Global);
        let packet = parsed(link, &bytes);
        let kinds: Vec<HeaderKind> = opcode.extended_headers().collect();
        let has = |kind| kinds.contains(&kind);
        assert_eq!(
            packet.rdeth(),
            has(HeaderKind::Rdeth).then_some(extended.rdeth)
        );
        assert_eq!(
            packet.deth(),
            has(HeaderKind::Deth).then_some(extended.deth)
        );
        assert_eq!(
            packet.reth(),
            has(HeaderKind::Reth).then_some(extended.reth)
        );
        assert_eq!(
            packet.atomic_eth(),
            has(HeaderKind::AtomicEth).then_some(extended.atomic_eth)
        );
        assert_eq!(
            packet.aeth(),
            has(HeaderKind::Aeth).then_some(extended.aeth)
        );
        let acknowledged = has(HeaderKind::AtomicAckEth).then_some(extended.atomic_ack_eth);
        assert_eq!(packet.atomic_ack_eth(), acknowledged);
        assert_eq!(
            packet.immediate(),
            has(HeaderKind::ImmDt).then_some(extended.immediate)
        );
        assert_eq!(
            packet.ieth(),
            has(HeaderKind::Ieth).then_some(extended.ieth)
        );
        assert_eq!(packet.grh().map(|grh| grh.flow_label), Some(0xabcde));
        assert_eq!(packet.lrh().map(|lrh| lrh.source_lid), Some(1));
    }
}

/// Which bytes a router may change without the ICRC's becoming wrong: one list per carrier, of
/// offsets and the bits that are free.
#[test]
fn the_icrc_leaves_out_what_routers_change_and_nothing_else() {
    let opcode = Opcode(0x65);
    for carrier in CARRIERS {
        let (link, bytes) = built(&message(opcode, b"eight by"), carrier);
        let packet = parsed(link, &bytes);
        let bth = packet.bth_range().start;
        let covered = packet.icrc_range().expect("an ICRC").start;
        let free: Vec<(usize, u8)> = match carrier {
            // VL.
            Carrier::Local => vec![(0, 0xf0)],
            // The LRH; traffic class, flow label, hop limit.
            Carrier::Global => (0..8)
                .map(|at| (at, 0xff))
                .chain([(8, 0x0f), (9, 0xff), (10, 0xff), (11, 0xff), (15, 0xff)])
                .collect(),
            // Type of service, TTL, both checksums.
            Carrier::Ipv4 => [1, 8, 10, 11, 26, 27].map(|at| (at, 0xff)).to_vec(),
            Carrier::Ipv6 => vec![
                (0, 0x0f),
                (1, 0xff),
                (2, 0xff),
                (3, 0xff),
                (7, 0xff),
                (46, 0xff),
                (47, 0xff),
            ],
        };
        let is_free = |at: usize, bit: u8| {
            at == bth + Bth::RESV8A
                || free
                    .iter()
                    .any(|(free, bits)| *free == at && bits & bit != 0)
        };
        let icrc = packet.computed_icrc();
        for at in 0..covered {
            for bit in (0..8).map(|shift| 1 << shift) {
                let mut changed = bytes.clone();
                changed[at] ^= bit;
                let changed_icrc = crc::icrc(carrier, &changed[..covered]);
                let same = changed_icrc == icrc;
                assert_eq!(
                    same,
                    is_free(at, bit),
                    "{carrier:?}, byte {at}, bit {bit:02x}"
                );
            }
        }
    }
}

#[test]
fn frames_may_have_tags_and_padding() {
    let (_, packet) = built(&message(Opcode(0x11), b""), Carrier::Ipv4);
    let mut frame = Vec::new();
    build::ethernet(&mut frame, [2; 6], [4; 6], protocol::ETHER_QINQ);
    build::vlan_tag(&mut frame, 7, protocol::ETHER_VLAN);
    build::vlan_tag(&mut frame, 42, protocol::ETHER_IPV4);
    frame.extend(&packet);
    frame.extend([0x55; 9]);
    let tagged = parsed(LinkType::Ethernet, &frame);
    assert_eq!(tagged.ip_range(), Some(22..42));
    assert_eq!(tagged.check_icrc(), Verdict::Good);
    assert_eq!(tagged.aeth(), Some(Aeth::default()));
}

#[test]
fn native_packets_lie_behind_erf_headers_too() {
    let (_, packet) = built(&message(Opcode(0x04), b"payload"), Carrier::Global);
    let mut record = vec![0; 16];
    record[8] = 0x80 | 21;
    record.extend([0; 8]);
    record.extend(&packet);
    let record_bytes = record.len().next_multiple_of(8);
    record[10..12].copy_from_slice(&(record_bytes as u16).to_be_bytes());
    // Records are padded to 8 bytes.
    record.resize(record_bytes, 0xee);
    let found = parsed(LinkType::Erf, &record);
    assert_eq!(found.lrh_range(), Some(24..32));
    assert_eq!(found.grh_range(), Some(32..72));
    assert_eq!(found.payload(), b"payload");
    assert_eq!(found.check_icrc(), Verdict::Good);
    assert_eq!(found.check_vcrc(), Verdict::Good);
    record[8] = 2;
    assert_eq!(Packet::parse(LinkType::Erf, &record), Ok(None));
}

/// Every cut is a cut: no header of a shorter record is made up, and no check value.
#[test]
fn every_cut_is_noticed() {
    for opcode in Opcode::all() {
        for carrier in CARRIERS {
            let (link, bytes) = built(&message(opcode, b"some payload."), carrier);
            let whole = parsed(link, &bytes);
            let icrc_end = whole.icrc_range().expect("an ICRC").end;
            for end in 0..bytes.len() {
                let cut = &bytes[..end];
                match Packet::parse(link, cut) {
                    Ok(Some(packet)) => {
                        assert!(end >= whole.extended_range().end);
                        assert_eq!(packet.is_cut(), end < icrc_end);
                        let verdict = match end < icrc_end {
                            true => Verdict::Absent,
                            false => Verdict::Good,
                        };
                        assert_eq!(packet.check_icrc(), verdict, "{opcode} {carrier:?} {end}");
                        assert_eq!(packet.check_vcrc(), Verdict::Absent);
                        assert!(whole.payload().starts_with(packet.payload()));
                        assert_eq!(packet.extended_range(), whole.extended_range());
                    }
                    Ok(None) => assert!(carrier.is_rocev2() && end < whole.bth_range().start),
                    Err(Fault::HeaderCut(_)) => assert!(end < whole.extended_range().end),
                    Err(other) => panic!("{opcode} {carrier:?} {end}: {other}"),
                }
            }
        }
    }
}

/// The fault of a packet after a change.
fn fault_of(carrier: Carrier, payload: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Option<Fault> {
    let (link, mut bytes) = built(&message(Opcode(0x04), payload), carrier);
    change(&mut bytes);
    Packet::parse(link, &bytes).err()
}

#[test]
fn lengths_and_versions_that_lie_have_a_reason() {
    use Carrier::{Global, Ipv4, Ipv6, Local};
    let disagree = |outer_bytes, inner_bytes| {
        Some(Fault::LengthsDisagree {
            outer_bytes,
            inner_bytes,
        })
    };
    assert_eq!(
        fault_of(Local, b"", |b| b[0] |= 2),
        Some(Fault::LinkVersion(2))
    );
    let raw = Some(Fault::NoTransport(LinkNextHeader::Ip));
    assert_eq!(fault_of(Local, b"", |b| b[1] = b[1] & !3 | 1), raw);
    let short = |kind| Some(Fault::TooShort(kind));
    assert_eq!(fault_of(Local, b"", |b| b[5] = 5), short(HeaderKind::Bth));
    assert_eq!(fault_of(Local, b"", |b| b[5] = 0), short(HeaderKind::Bth));
    assert_eq!(fault_of(Global, b"", |b| b[5] = 11), short(HeaderKind::Grh));
    // Bytes beyond the record are cut, not believed.
    let (link, mut bytes) = built(&message(Opcode(0x04), b""), Local);
    bytes[4] |= 7;
    assert!(parsed(link, &bytes).is_cut());
    assert_eq!(fault_of(Global, b"", |b| b[13] += 1), disagree(16, 17));
    assert_eq!(
        fault_of(Global, b"", |b| b[8] = 0x40),
        Some(Fault::GrhVersion(4))
    );
    assert_eq!(
        fault_of(Global, b"", |b| b[14] = 17),
        Some(Fault::GrhNextHeader(17))
    );
    let version = Some(Fault::TransportVersion(5));
    assert_eq!(fault_of(Local, b"", |b| b[9] |= 5), version);
    assert_eq!(fault_of(Ipv4, b"", |b| b[29] |= 5), version);
    assert_eq!(fault_of(Ipv4, b"", |b| b[25] += 4), disagree(24, 28));
    assert_eq!(fault_of(Ipv6, b"", |b| b[5] -= 4), disagree(20, 24));
    assert_eq!(
        fault_of(Ipv4, b"", |b| b[6] = 0x20),
        Some(Fault::Fragmented)
    );
    let shorter = fault_of(Ipv4, b"", |b| {
        b[3] -= 1;
        b[25] -= 1;
    });
    assert_eq!(shorter, short(HeaderKind::Bth));
    let odd = fault_of(Ipv4, b"1234", |b| {
        b[3] -= 1;
        b[25] -= 1;
    });
    assert_eq!(odd, Some(Fault::Unaligned(3)));
    let pad = Some(Fault::PadTooLong {
        pad_bytes: 3,
        available_bytes: 0,
    });
    assert_eq!(fault_of(Local, b"", |b| b[9] |= 0x30), pad);
    // READ requests end with their header.
    let request = fault_of(Local, &[0; 20], |b| b[8] = 0x0c);
    assert_eq!(request, Some(Fault::UnexpectedPayload(4)));
    assert_eq!(
        fault_of(Local, b"1234", |b| b[8] = 0x0c),
        short(HeaderKind::Reth)
    );
    // An unknown operation may have any.
    assert_eq!(fault_of(Local, b"1234", |b| b[8] = 0xa4), None);
}

#[test]
fn options_of_ip_are_refused() {
    let (_, packet) = built(&message(Opcode(0x04), b""), Carrier::Ipv4);
    let mut longer = packet.clone();
    longer[0] = 0x46;
    longer[3] += 4;
    longer.splice(20..20, [1, 1, 1, 0]);
    assert_eq!(
        Packet::parse(LinkType::RawIp, &longer),
        Err(Fault::IpOptions)
    );
    let (_, packet) = built(&message(Opcode(0x04), b""), Carrier::Ipv6);
    let mut longer = packet.clone();
    longer[5] += 8;
    longer[6] = protocol::DESTINATION_OPTIONS;
    longer.splice(40..40, [protocol::UDP, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(
        Packet::parse(LinkType::RawIp, &longer),
        Err(Fault::IpOptions)
    );
}

#[test]
fn what_cannot_be_stated_is_not_built() {
    let most_native = 8188 - 24;
    let mut out = vec![7];
    let mut native = |bytes: usize| {
        let payload = vec![0; bytes];
        message(Opcode(0x04), &payload).write_native(&mut out, Lrh::default(), None)
    };
    assert_eq!(native(most_native), Ok(()));
    assert!(matches!(
        native(most_native + 1),
        Err(BuildError::TooLong { bytes: 8192, .. })
    ));
    let too_long = vec![0; 65_535];
    let message = message(Opcode(0x04), &too_long);
    let mut out = vec![7];
    for ip_version in [4, 6] {
        let result = message.write_rocev2(&mut out, &key(ip_version), &IpHeader::default());
        assert!(matches!(result, Err(BuildError::TooLong { .. })));
    }
    let acknowledgement = Message {
        payload: b"x",
        ..self::message(Opcode(0x11), b"")
    };
    let result = acknowledgement.write_native(&mut out, Lrh::default(), None);
    assert_eq!(result, Err(BuildError::UnexpectedPayload(Opcode(0x11))));
    assert_eq!(out, [7]);
}

proptest! {
    /// Any bytes are parsed, in every link type, and ranges lie in the record in order.
    #[test]
    fn no_bytes_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        lnh in 2u8..4,
        words in any::<u8>(),
    ) {
        let mut native = bytes.clone();
        if let [vl, sl, _, _, high, low, ..] = &mut native[..] {
            *vl &= 0xf0;
            *sl = *sl & !3 | lnh;
            (*high, *low) = (0, words & 0x1f);
        }
        for link in [LinkType::Ethernet, LinkType::RawIp, LinkType::Erf, LinkType::InfiniBand] {
            for record in [&bytes, &native] {
                if let Ok(Some(packet)) = Packet::parse(link, record) {
                    let ranges = [packet.bth_range(), packet.extended_range(), packet.payload_range(), packet.pad_range()];
                    for pair in ranges.windows(2) {
                        prop_assert_eq!(pair[0].end, pair[1].start);
                    }
                    prop_assert!(ranges[3].end <= record.len());
                    packet.check_icrc();
                    packet.check_vcrc();
                }
            }
        }
    }

    /// Packets of random contents are right by the second implementation, and their UDP checksum is.
    #[test]
    fn random_packets_are_right(
        code in any::<u8>(),
        partition_key in any::<u16>(),
        psn in 0u32..1 << 24,
        payload in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let mut message = message(Opcode(code), &payload);
        (message.bth.partition_key, message.bth.psn) = (partition_key, psn);
        for carrier in CARRIERS {
            let (link, bytes) = built(&message, carrier);
            let packet = parsed(link, &bytes);
            let after = if carrier.is_rocev2() { 0 } else { 2 };
            prop_assert_eq!(packet.icrc(), Some(by_bits::icrc(carrier, &bytes, after)));
            prop_assert_eq!(packet.payload(), message.payload);
            if let Some(udp) = packet.udp_range() {
                let addresses = match carrier {
                    Carrier::Ipv4 => &bytes[12..20],
                    _ => &bytes[8..40],
                };
                let datagram = &bytes[udp.start..];
                let sum = Checksum::new().add_pseudo_header(addresses, protocol::UDP, datagram.len() as u32);
                prop_assert_eq!(sum.add(datagram).finish(), 0);
            }
        }
    }
}
