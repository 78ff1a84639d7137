//! Files that lie, end early or are something else.

use std::io::{self, Read};
use std::path::Path;

use weir_packet::file::{CaptureError, Format, Reader};

use super::samples::*;

/// The one error of a damaged capture; its message names the file, and a byte unless it is
/// the first.
fn error_of(bytes: &[u8]) -> CaptureError {
    let error = read(bytes).error.expect("an error");
    let message = error.to_string();
    assert!(message.starts_with("sample: "), "{message}");
    let is_at_begin = matches!(error, CaptureError::NotACapture { .. });
    assert!(is_at_begin || message.contains("byte"), "{message}");
    assert!(message.contains(';'), "{message}");
    error
}

fn pcap_of(records: &[&[u8]]) -> Vec<u8> {
    let mut file = pcap_header(Order::Little, MICROSECONDS, 1);
    for bytes in records {
        file.extend(pcap_record(Order::Little, 1, 2, 0, bytes));
    }
    file
}

fn pcapng_start() -> Vec<u8> {
    let mut file = section(Order::Little);
    file.extend(interface(Order::Little, 1, 0, &[]));
    file
}

#[test]
fn what_is_not_a_capture_is_named() {
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"ab", "2 bytes"),
        (b"hello, world", "68, 65"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh91AY", "bzip2"),
        (b"PK\x03\x04", "zip"),
        (b"snoop\0\0\0", "snoop"),
        (b"\x34\xcd\xb2\xa1\x02\x00\x04\x00", "1990s"),
    ] {
        let error = error_of(bytes);
        assert!(matches!(error, CaptureError::NotACapture { .. }));
        assert!(error.to_string().contains(word), "{error}");
    }
    let twice = gzip(&gzip(&pcap_of(&[b"abc"])));
    assert!(error_of(&twice).to_string().contains("twice"));
}

#[test]
fn a_missing_file_and_a_folder_are_io_errors() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path(), &folder.path().join("missing.pcap")] {
        let error = Reader::open(path).err().expect("an error");
        assert!(matches!(error, CaptureError::Io { .. }), "{error}");
        assert!(error.to_string().contains(&path.display().to_string()));
    }
    assert!(Reader::open_tsh(Path::new("/nonexistent/trace")).is_err());
}

#[test]
fn versions_from_the_future_are_refused() {
    let mut pcap = pcap_of(&[b"abc"]);
    pcap[4] = 3;
    let mut pcapng = pcapng_start();
    pcapng[12] = 2;
    for (file, expected) in [(pcap, Format::Pcap), (pcapng, Format::PcapNg)] {
        match error_of(&file) {
            CaptureError::UnsupportedVersion { format, .. } => assert_eq!(format, expected),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_record_longer_than_any_is_refused_after_those_before() {
    let mut pcap = pcap_of(&[b"good", b"bad"]);
    pcap[24 + 20 + 8..][..4].copy_from_slice(&262_145u32.to_le_bytes());
    let outcome = read(&pcap);
    assert_eq!(outcome.records.len(), 1);
    match outcome.error {
        Some(CaptureError::RecordTooLong {
            offset,
            captured_bytes,
            ..
        }) => assert_eq!((offset, captured_bytes), (44, 262_145)),
        other => panic!("{other:?}"),
    }

    let mut pcapng = pcapng_start();
    pcapng.extend(enhanced(Order::Little, 0, 0, 0, &vec![0; 262_145]));
    assert!(matches!(
        error_of(&pcapng),
        CaptureError::RecordTooLong { .. }
    ));
}

#[test]
fn a_snap_length_longer_than_any_record_is_accepted() {
    let mut file = pcap_of(&[b"abc"]);
    file[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    let outcome = read(&file);
    assert_eq!(outcome.interfaces[0].snap_bytes, u32::MAX);
    assert_eq!(outcome.whole().len(), 1);
}

#[test]
fn impossible_block_lengths_are_refused() {
    for block_type in [1u32, 6, 0x0a0d_0d0a, 0x8000_1234] {
        for length in [0u32, 4, 8, 11, 13, 29] {
            let mut file = pcapng_start();
            let offset = file.len() as u64;
            file.extend(block_type.to_le_bytes());
            file.extend(length.to_le_bytes());
            file.extend(0x1a2b_3c4du32.to_le_bytes());
            file.extend([0; 64]);
            match error_of(&file) {
                CaptureError::BlockLength {
                    offset: found,
                    block_bytes,
                    ..
                } => assert_eq!((found, block_bytes), (offset, length)),
                other => panic!("{block_type:x} {length}: {other}"),
            }
        }
    }
}

#[test]
fn a_packet_block_of_gigabytes_is_refused_without_reading_it() {
    let mut file = pcapng_start();
    file.extend(6u32.to_le_bytes());
    file.extend(0xffff_fff0u32.to_le_bytes());
    file.extend([0; 100]);
    assert!(matches!(error_of(&file), CaptureError::BlockLength { .. }));
}

#[test]
fn an_unknown_block_of_gigabytes_that_ends_early_is_a_truncation() {
    let mut file = pcapng_start();
    file.extend(enhanced(Order::Little, 0, 0, 0, b"good"));
    let offset = file.len() as u64;
    file.extend(0x8000_0001u32.to_le_bytes());
    file.extend(0xffff_fff0u32.to_le_bytes());
    file.extend(vec![0; 700_000]);
    let outcome = read(&file);
    assert_eq!(outcome.records.len(), 1);
    match outcome.error {
        Some(CaptureError::Truncated { offset: found, .. }) => assert_eq!(found, offset),
        other => panic!("{other:?}"),
    }
}

#[test]
fn block_lengths_that_disagree_are_refused() {
    // A packet, an interface, a short and a long unknown block.
    for (block_type, body_bytes) in [(6, 20), (1, 8), (99, 0), (99, 900_000)] {
        let mut file = pcapng_start();
        let offset = file.len() as u64;
        file.extend(block(Order::Little, block_type, &vec![0; body_bytes]));
        let trailer = file.len() - 4;
        file[trailer] ^= 0x40;
        match error_of(&file) {
            CaptureError::BlockLengthsDisagree { offset: found, .. } => assert_eq!(found, offset),
            other => panic!("{block_type}: {other}"),
        }
    }
}

#[test]
fn malformed_blocks_are_refused() {
    let order = Order::Little;
    let mut no_order = section(order);
    no_order[8] ^= 1;
    let mut lying_record = enhanced(order, 0, 0, 0, b"abcd");
    lying_record[20] = 5;
    let mut lying_simple = order.u32(9).to_vec();
    lying_simple.extend(b"12345678");
    let mut long_option = option(order, 2, b"eth0");
    long_option[2] = 200;
    for (start, broken) in [
        (Vec::new(), no_order),
        (
            Vec::new(),
            block(order, 0x0a0d_0d0a, &order.u32(0x1a2b_3c4d)),
        ),
        (pcapng_start(), lying_record),
        (pcapng_start(), block(order, 6, &[0; 16])),
        (pcapng_start(), block(order, 3, &[])),
        (pcapng_start(), block(order, 3, &lying_simple)),
        (pcapng_start(), block(order, 1, &[0; 4])),
        (pcapng_start(), interface(order, 1, 0, &[long_option])),
        (
            pcapng_start(),
            interface(order, 1, 0, &[option(order, 9, &[6, 6])]),
        ),
        (
            pcapng_start(),
            interface(order, 1, 0, &[option(order, 14, &[0; 4])]),
        ),
    ] {
        let offset = start.len() as u64;
        let file = [start, broken].concat();
        match error_of(&file) {
            CaptureError::Malformed { offset: found, .. } => assert_eq!(found, offset),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn records_on_undeclared_interfaces_are_refused() {
    let order = Order::Little;
    let packet = enhanced(order, 1, 0, 0, b"abc");
    let mut simple_first = section(order);
    simple_first.extend(block(order, 3, &[0; 4]));
    let mut next_section = pcapng_start();
    next_section.extend(section(order));
    next_section.extend(enhanced(order, 0, 0, 0, b"abc"));
    for file in [
        [pcapng_start(), packet].concat(),
        simple_first,
        next_section,
    ] {
        assert!(matches!(
            error_of(&file),
            CaptureError::UndeclaredInterface { .. }
        ));
    }
}

#[test]
fn declarations_without_end_are_refused() {
    let mut file = section(Order::Little);
    let declaration = interface(Order::Little, 1, 0, &[]);
    for _ in 0..65_537 {
        file.extend(&declaration);
    }
    assert!(matches!(
        error_of(&file),
        CaptureError::TooManyInterfaces { .. }
    ));
}

#[test]
fn interface_names_are_cut() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 1, 0, &[option(order, 2, &[b'n'; 9000])]));
    file.extend(interface(order, 1, 0, &[option(order, 2, b"eth0\0\0")]));
    let interfaces = read(&file).interfaces;
    assert_eq!(interfaces[0].name.as_ref().map(String::len), Some(255));
    assert_eq!(interfaces[1].name.as_deref(), Some("eth0"));
}

#[test]
fn what_cannot_be_tsh_is_refused() {
    let mut second_too_long = tsh_record(1, 0, 0, 40);
    second_too_long[5..8].copy_from_slice(&[0xff; 3]);
    let mut ipv6 = tsh_record(1, 0, 0, 40);
    ipv6[8] = 0x60;
    for file in [second_too_long, ipv6] {
        let error = read_named("trace.tsh", &file).error;
        assert!(matches!(error, Some(CaptureError::Malformed { .. })));
    }
}

/// Cuts `file` at every byte. Records whose end lies in front of the cut are
/// delivered, then the cut is reported, unless it falls on one of `ends`.
fn cut_everywhere(name: &str, file: &[u8], ends: &[usize], header_bytes: usize) {
    let expected = read_named(name, file).whole();
    for cut in 0..file.len() {
        let outcome = read_named(name, &file[..cut]);
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        if cut < header_bytes {
            assert!(outcome.error.is_some(), "cut at {cut}");
            assert!(outcome.records.is_empty());
            continue;
        }
        assert_eq!(outcome.records, expected[..whole], "cut at {cut}");
        if cut == header_bytes || ends.contains(&cut) {
            assert!(outcome.error.is_none(), "cut at {cut}");
        } else {
            let error = outcome.error.expect("a truncation");
            assert!(error.is_truncation(), "cut at {cut}: {error}");
        }
    }
}

#[test]
fn pcap_cut_everywhere() {
    for order in ORDERS {
        let mut file = pcap_header(order, NANOSECONDS, 1);
        let mut ends = Vec::new();
        for length in [0, 1, 17, 60] {
            file.extend(pcap_record(order, 1, 2, 99, &noise(length, 3)));
            ends.push(file.len());
        }
        cut_everywhere("sample", &file, &ends, 24);
    }
}

#[test]
fn pcapng_cut_everywhere() {
    for order in ORDERS {
        let mut file = section(order);
        file.extend(interface(order, 1, 0, &[]));
        let header_bytes = file.len();
        let mut ends = Vec::new();
        for length in [0, 1, 17, 60] {
            file.extend(enhanced(order, 0, 2, 99, &noise(length, 3)));
            ends.push(file.len());
        }
        // A cut between section header and interface is a clean end too.
        let expected = read(&file).whole();
        for cut in 1..file.len() {
            let outcome = read(&file[..cut]);
            let whole = ends.iter().filter(|&&end| end <= cut).count();
            assert_eq!(outcome.records, expected[..whole], "cut at {cut}");
            let clean = cut == 28 || cut == header_bytes || ends.contains(&cut);
            assert_eq!(outcome.error.is_none(), clean, "cut at {cut}");
            if cut >= 4 && !clean {
                assert!(outcome.error.unwrap().is_truncation(), "cut at {cut}");
            }
        }
    }
}

#[test]
fn tsh_cut_everywhere() {
    let records: Vec<_> = (0..3).map(|number| tsh_record(number, 0, 7, 40)).collect();
    cut_everywhere("trace.tsh", &records.concat(), &[44, 88, 132], 44);
}

#[test]
fn compressed_captures_cut_everywhere() {
    let lengths = [60, 1, 300, 9];
    let packets: Vec<_> = lengths.iter().map(|&length| noise(length, 8)).collect();
    let packets: Vec<_> = packets.iter().map(Vec::as_slice).collect();
    let file = pcap_of(&packets);
    let expected = read(&file).whole();
    for compressed in [gzip(&file), zstd(&file)] {
        for cut in 4..compressed.len() {
            let outcome = read(&compressed[..cut]);
            assert!(
                outcome.error.expect("a truncation").is_truncation(),
                "cut at {cut}"
            );
            assert_eq!(outcome.records, expected[..outcome.records.len()]);
        }
    }
}

#[test]
fn a_long_compressed_capture_yields_what_lies_before_the_cut() {
    let packets: Vec<_> = (0..1000).map(|number| noise(1000, number)).collect();
    let packets: Vec<_> = packets.iter().map(Vec::as_slice).collect();
    let file = pcap_of(&packets);
    let expected = read(&file).whole();
    for compressed in [gzip(&file), zstd(&file)] {
        let outcome = read(&compressed[..compressed.len() - 200_000]);
        assert!(outcome.error.expect("a truncation").is_truncation());
        assert!(outcome.records.len() > 600, "{}", outcome.records.len());
        assert!(outcome.records == expected[..outcome.records.len()]);
    }
}

#[test]
fn damaged_compression_is_named() {
    let file = pcap_of(&[&noise(50_000, 2)]);
    for (mut compressed, expected) in [(gzip(&file), "gzip"), (zstd(&file), "zstd")] {
        // The checksum, so that the damage is certain to be noticed.
        let last = compressed.len() - if expected == "gzip" { 8 } else { 1 };
        compressed[last] ^= 1;
        let outcome = read(&compressed);
        assert_eq!(outcome.records.len(), 1);
        match outcome.error {
            Some(CaptureError::Decompression { method, .. }) => assert_eq!(method, expected),
            other => panic!("{other:?}"),
        }
    }
}

/// Fails after its bytes, as a disk does.
struct Failing(io::Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        match self.0.read(target)? {
            0 => Err(io::Error::other("medium error")),
            bytes => Ok(bytes),
        }
    }
}

#[test]
fn a_failing_disk_is_reported_after_the_whole_records() {
    let file = pcap_of(&[b"one", b"two"]);
    let disk = Failing(io::Cursor::new(file));
    let outcome = read_from(Reader::from_read("disk", Box::new(disk)));
    assert_eq!(outcome.records.len(), 2);
    match outcome.error {
        Some(CaptureError::Io { offset, action, .. }) => {
            assert_eq!((offset, action), (24 + 19 + 19, "reading"));
        }
        other => panic!("{other:?}"),
    }
}
