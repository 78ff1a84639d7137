//! Each format, byte order, resolution and compression, known answers.

use weir_packet::file::{Format, Interface, Reader};
use weir_packet::wire::LinkType;

use super::samples::*;

/// A capture spelled out, independent of every builder: little-endian,
/// microseconds, raw IP, one record of 4 of 1500 bytes at 1.000002 s.
const SPELLED_OUT: [u8; 44] = [
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0,
    0, // file
    1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0xdc, 0x05, 0, 0, // record
    0x45, 0x00, 0x05, 0xdc,
];

#[test]
fn pcap_spelled_out() {
    let outcome = read(&SPELLED_OUT);
    let expected = Interface {
        link: LinkType::RawIp,
        snap_bytes: 262_144,
        name: None,
    };
    assert_eq!(outcome.interfaces, [expected]);
    let expected = record(1_000_002_000, 0, 1500, &[0x45, 0x00, 0x05, 0xdc]);
    assert_eq!(outcome.whole(), [expected]);
}

#[test]
fn pcap_in_both_orders_and_resolutions() {
    for order in ORDERS {
        for (magic, fraction_ns) in [(MICROSECONDS, 1000), (NANOSECONDS, 1)] {
            let mut file = pcap_header(order, magic, 1);
            file.extend(pcap_record(order, 1_700_000_000, 999_999, 60, b"first"));
            file.extend(pcap_record(order, u32::MAX, u32::MAX, 0, b""));
            let records = read(&file).whole();
            assert_eq!(
                records,
                [
                    record(
                        1_700_000_000_000_000_000 + 999_999 * fraction_ns,
                        0,
                        60,
                        b"first"
                    ),
                    record(
                        u64::from(u32::MAX) * (1_000_000_000 + fraction_ns),
                        0,
                        0,
                        b""
                    ),
                ],
                "{order:?} {magic:x}"
            );
        }
    }
}

#[test]
fn pcap_with_a_wire_length_below_the_captured_one() {
    let mut file = pcap_header(Order::Little, MICROSECONDS, 1);
    file.extend(pcap_record(Order::Little, 1, 0, 2, b"longer"));
    assert_eq!(
        read(&file).whole(),
        [record(1_000_000_000, 0, 6, b"longer")]
    );
}

#[test]
fn pcap_before_version_2_4_has_its_lengths_in_either_order() {
    let mut file = pcap_header(Order::Little, MICROSECONDS, 1);
    file[6] = 2;
    for (first, second) in [(3u32, 90u32), (90, 3)] {
        file.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        file.extend(first.to_le_bytes());
        file.extend(second.to_le_bytes());
        file.extend(b"abc");
    }
    let expected = record(1_000_000_000, 0, 90, b"abc");
    assert_eq!(read(&file).whole(), [expected.clone(), expected]);
}

#[test]
fn link_types_known_and_unknown() {
    for (number, link) in [
        (0, LinkType::Null),
        (1, LinkType::Ethernet),
        (101, LinkType::RawIp),
        (108, LinkType::Loop),
        (113, LinkType::LinuxSll),
        (276, LinkType::LinuxSll2),
        (147, LinkType::Other(147)),
        (197, LinkType::Erf),
        (247, LinkType::InfiniBand),
        // Four bytes of frame check sequence, announced in the upper half.
        (0x5400_0001, LinkType::Ethernet),
    ] {
        let file = pcap_header(Order::Big, NANOSECONDS, number);
        assert_eq!(read(&file).interfaces[0].link, link);
    }
}

#[test]
fn pcapng_packet_blocks_of_all_kinds_in_both_orders() {
    for order in ORDERS {
        let mut file = section(order);
        file.extend(interface(order, 1, 0, &[]));
        let named = option(order, 2, b"veth0");
        file.extend(interface(order, 101, 4, &[named, option(order, 9, &[9])]));

        file.extend(enhanced(order, 1, 0x1234_5678_9abc_def0, 99, b"enhanced"));

        let mut simple = order.u32(9).to_vec();
        simple.extend(b"simple!!!");
        file.extend(block(order, 3, &simple));

        let mut obsolete = order.u16(1).to_vec();
        obsolete.extend(order.u16(7));
        for field in [0, 5, 3, 1000] {
            obsolete.extend(order.u32(field));
        }
        obsolete.extend(b"old");
        file.extend(block(order, 2, &obsolete));

        let outcome = read(&file);
        assert_eq!(outcome.interfaces.len(), 2);
        assert_eq!(outcome.interfaces[0].link, LinkType::Ethernet);
        assert_eq!(
            outcome.interfaces[1],
            Interface {
                link: LinkType::RawIp,
                snap_bytes: 4,
                name: Some("veth0".to_owned())
            }
        );
        assert_eq!(
            outcome.whole(),
            [
                record(0x1234_5678_9abc_def0, 1, 99, b"enhanced"),
                record(0, 0, 9, b"simple!!!"),
                record(5, 1, 1000, b"old"),
            ]
        );
    }
}

#[test]
fn pcapng_simple_packets_are_cut_at_the_snap_length() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 1, 4, &[]));
    let mut simple = order.u32(1500).to_vec();
    simple.extend(b"four");
    file.extend(block(order, 3, &simple));
    assert_eq!(read(&file).whole(), [record(0, 0, 1500, b"four")]);
}

#[test]
fn pcapng_sections_number_their_interfaces_anew() {
    let mut file = Vec::new();
    for (order, link) in [(Order::Little, 1), (Order::Big, 101)] {
        file.extend(section(order));
        file.extend(interface(order, link, 0, &[]));
        file.extend(interface(order, 113, 0, &[]));
        file.extend(enhanced(order, 1, 2, 3, b"two"));
        file.extend(enhanced(order, 0, 1, 3, b"one"));
    }
    let outcome = read(&file);
    let links: Vec<_> = outcome.interfaces.iter().map(|known| known.link).collect();
    assert_eq!(
        links,
        [
            LinkType::Ethernet,
            LinkType::LinuxSll,
            LinkType::RawIp,
            LinkType::LinuxSll
        ]
    );
    let interfaces: Vec<_> = outcome
        .whole()
        .iter()
        .map(|found| found.interface)
        .collect();
    assert_eq!(interfaces, [1, 0, 3, 2]);
}

#[test]
fn pcapng_time_resolutions_and_offsets() {
    let order = Order::Big;
    let hour = option(order, 14, &order.u64(3600));
    let before = option(order, 14, &order.u64((-10i64) as u64));
    let mut file = section(order);
    for options in [
        vec![],
        vec![option(order, 9, &[3])],
        vec![option(order, 9, &[0x80 | 10]), hour],
        vec![option(order, 9, &[9]), before],
        vec![option(order, 9, &[12])],
    ] {
        file.extend(interface(order, 1, 0, &options));
    }
    for number in 0..5 {
        file.extend(enhanced(order, number, 10_240_000_000, 0, b""));
    }
    let times: Vec<_> = read(&file)
        .whole()
        .iter()
        .map(|found| found.timestamp_ns)
        .collect();
    assert_eq!(
        times,
        [
            10_240_000_000_000,
            10_240_000_000_000_000,
            10_000_000_000_000_000 + 3_600_000_000_000,
            240_000_000,
            10_240_000,
        ]
    );
}

#[test]
fn pcapng_other_blocks_are_skipped_and_counted() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(block(order, 4, &[0; 8]));
    file.extend(interface(order, 1, 0, &[]));
    file.extend(block(order, 0xbad, &[1, 2, 3, 4]));
    file.extend(enhanced(order, 0, 1000, 3, b"abc"));
    file.extend(block(order, 0x8000_0001, &vec![7; 3_000_000]));
    file.extend(enhanced(order, 0, 2000, 3, b"def"));
    file.extend(block(order, 5, &[0; 12]));
    let outcome = read(&file);
    assert_eq!(outcome.skipped_blocks, 4);
    assert_eq!(
        outcome.whole(),
        [
            record(1_000_000, 0, 3, b"abc"),
            record(2_000_000, 0, 3, b"def")
        ]
    );
}

#[test]
fn pcapng_interfaces_are_known_before_the_first_record() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 101, 0, &[]));
    file.extend(enhanced(order, 0, 0, 0, b""));
    let reader = Reader::from_read("sample", Box::new(std::io::Cursor::new(file))).unwrap();
    assert_eq!(reader.format(), Format::PcapNg);
    assert_eq!(reader.interfaces().len(), 1);
}

#[test]
fn tsh_by_name() {
    let mut file = tsh_record(1_000, 0, 250_000, 1500);
    file.extend(tsh_record(1_001, 2, 999_999, 28));
    file.extend(tsh_record(1_002, 1, 0, 0));
    for (name, bytes) in [
        ("trace.tsh", file.clone()),
        ("TRACE.TSH.GZ", gzip(&file)),
        ("trace.tsh.zst", zstd(&file)),
    ] {
        let outcome = read_named(name, &bytes);
        assert_eq!(outcome.interfaces.len(), 3);
        for (number, known) in outcome.interfaces.iter().enumerate() {
            assert_eq!(known.link, LinkType::RawIp);
            assert_eq!(known.name, Some(format!("if{number}")));
        }
        assert_eq!(
            outcome.whole(),
            [
                record(1_000_250_000_000, 0, 1500, &file[8..44]),
                // A UDP packet of 28 bytes: what follows in the record is not of it.
                record(1_001_999_999_000, 2, 28, &file[52..80]),
                // A total length that cannot be.
                record(1_002_000_000_000, 1, 36, &file[96..132]),
            ]
        );
    }
}

#[test]
fn tsh_from_a_file_of_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    std::fs::write(&path, tsh_record(5, 0, 6, 40)).unwrap();
    let reader = Reader::open_tsh(&path).unwrap();
    assert_eq!(reader.format(), Format::Tsh);
    assert_eq!(reader.total_bytes(), Some(44));
    assert_eq!(read_from(Ok(reader)).whole().len(), 1);
}

#[test]
fn compressed_captures_are_recognised_by_their_contents() {
    let mut file = pcap_header(Order::Little, NANOSECONDS, 1);
    for number in 0..1000 {
        file.extend(pcap_record(Order::Little, number, 0, 100, &noise(100, 5)));
    }
    let expected = read(&file).whole();
    assert_eq!(expected.len(), 1000);

    let (first, second) = file.split_at(file.len() / 2);
    let members = [gzip(first), gzip(second)].concat();
    let frames = [zstd(first), zstd(second)].concat();
    for compressed in [gzip(&file), members, zstd(&file), frames] {
        assert_eq!(read(&compressed).whole(), expected);
    }
}

#[test]
fn progress_counts_the_compressed_file() {
    let mut file = pcap_header(Order::Little, NANOSECONDS, 1);
    file.extend(pcap_record(
        Order::Little,
        1,
        0,
        100_000,
        &noise(100_000, 1),
    ));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.pcap.gz");
    let compressed = gzip(&file);
    std::fs::write(&path, &compressed).unwrap();

    let mut reader = Reader::open(&path).unwrap();
    assert_eq!(reader.total_bytes(), Some(compressed.len() as u64));
    let mut records = Vec::new();
    while reader.fill(1, 1, &mut records).unwrap().is_some() {}
    assert_eq!(records.len(), 1);
    assert_eq!(reader.bytes_read(), compressed.len() as u64);
}
