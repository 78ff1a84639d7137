//! Records across block boundaries, quotas, recycling, slow pipes.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use weir_packet::file::{BLOCK_BYTES, Reader};

use super::samples::*;

fn capture(lengths: &[usize]) -> Vec<u8> {
    let mut file = pcap_header(Order::Little, NANOSECONDS, 1);
    for (number, &length) in lengths.iter().enumerate() {
        let bytes = noise(length, number as u64);
        file.extend(pcap_record(Order::Little, number as u32, 0, 0, &bytes));
    }
    file
}

fn capture_ng(lengths: &[usize]) -> Vec<u8> {
    let order = Order::Big;
    let mut file = section(order);
    file.extend(interface(order, 1, 0, &[option(order, 9, &[9])]));
    for (number, &length) in lengths.iter().enumerate() {
        let time_ns = number as u64 * 1_000_000_000;
        file.extend(enhanced(
            order,
            0,
            time_ns,
            0,
            &noise(length, number as u64),
        ));
    }
    file
}

fn check(lengths: &[usize]) {
    let expected: Vec<_> = lengths
        .iter()
        .enumerate()
        .map(|(number, &length)| {
            let time_ns = number as u64 * 1_000_000_000;
            record(time_ns, 0, length as u32, &noise(length, number as u64))
        })
        .collect();
    for file in [capture(lengths), capture_ng(lengths)] {
        assert!(read(&file).whole() == expected);
    }
}

#[test]
fn records_straddle_blocks() {
    check(&[1000; 900]);
}

#[test]
fn records_end_at_and_around_the_end_of_a_block() {
    for slack in 0..40 {
        // The second header begins `slack` bytes in front of the block's end.
        check(&[BLOCK_BYTES - 24 - 16 - slack, 100, 0, 7]);
    }
}

#[test]
fn records_near_the_greatest_length() {
    check(&[250_000, 1, 262_144, 250_001, 0, 262_143, 262_144, 60, 60]);
}

#[test]
fn quotas_hold() {
    let file = capture(&[100; 5000]);
    let mut reader = Reader::from_read("sample", Box::new(io::Cursor::new(file))).unwrap();
    let mut entries = Vec::new();
    let mut total = 0;
    // One record is given even where it exceeds the quota, and 0 records are 1.
    for (max_records, max_bytes, expected) in [
        (256, 10_000, 100),
        (7, 10_000, 7),
        (256, 99, 1),
        (256, 0, 1),
        (0, 1000, 1),
        (256, 199, 1),
    ] {
        entries.clear();
        assert!(
            reader
                .fill(max_records, max_bytes, &mut entries)
                .unwrap()
                .is_some()
        );
        assert_eq!(entries.len(), expected);
        total += expected;
    }
    entries.clear();
    while reader
        .fill(usize::MAX, usize::MAX, &mut entries)
        .unwrap()
        .is_some()
    {}
    assert_eq!(total + entries.len(), 5000);
}

#[test]
fn entries_are_appended() {
    let file = capture(&[10; 4]);
    let mut reader = Reader::from_read("sample", Box::new(io::Cursor::new(file))).unwrap();
    let mut entries = Vec::new();
    let first = reader.fill(2, usize::MAX, &mut entries).unwrap().unwrap();
    let second = reader.fill(2, usize::MAX, &mut entries).unwrap().unwrap();
    assert_eq!(entries.len(), 4);
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn blocks_are_recycled_and_held_ones_left_alone() {
    let lengths = vec![1000; 4000];
    let file = capture(&lengths);
    let mut reader = Reader::from_read("sample", Box::new(io::Cursor::new(file))).unwrap();
    let mut entries = Vec::new();
    let held = reader.fill(1, usize::MAX, &mut entries).unwrap().unwrap();
    let held_entry = entries[0];
    let mut places = std::collections::BTreeSet::new();
    entries.clear();
    while let Some(block) = reader.fill(64, usize::MAX, &mut entries).unwrap() {
        places.insert(block.as_ptr() as usize);
    }
    assert_eq!(entries.len(), 3999);
    // The held one, and two that take turns; the last may be a small copy.
    assert!(places.len() <= 4, "{} blocks", places.len());
    assert_eq!(held_entry.bytes(&held), noise(1000, 0));
}

/// Gives the bytes in pieces of one length.
struct Trickle {
    bytes: Vec<u8>,
    position: usize,
    piece: usize,
}

impl Read for Trickle {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.position..];
        let taken = rest.len().min(self.piece).min(target.len());
        target[..taken].copy_from_slice(&rest[..taken]);
        self.position += taken;
        Ok(taken)
    }
}

#[test]
fn a_slow_pipe_gives_each_record_as_it_comes() {
    let lengths = [40, 0, 700, 3, 90_000, 12];
    for file in [capture(&lengths), capture_ng(&lengths)] {
        for piece in [1, 5, 16, 1000] {
            let pipe = Trickle {
                bytes: file.clone(),
                position: 0,
                piece,
            };
            let records = read_from(Reader::from_read("pipe", Box::new(pipe))).whole();
            let found: Vec<_> = records.iter().map(|found| found.bytes.len()).collect();
            assert_eq!(found, lengths);
        }
    }
}

#[test]
fn a_record_held_from_a_slow_pipe_holds_little_memory() {
    let pipe = Trickle {
        bytes: capture(&[50; 20]),
        position: 0,
        piece: 66,
    };
    let mut reader = Reader::from_read("pipe", Box::new(pipe)).unwrap();
    let mut entries = Vec::new();
    let mut held = Vec::new();
    while let Some(block) = reader.fill(256, usize::MAX, &mut entries).unwrap() {
        held.push(block);
    }
    assert_eq!(entries.len(), 20);
    assert!(held.iter().all(|block| block.len() <= 3 * 66));
}

#[test]
fn patience_with_a_pipe_has_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    let status = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(status.unwrap().success());
    let file = capture(&[30, 3000]);
    // A whole record and a part of the next; the writing end stays open.
    let (first, rest) = file.split_at(file.len() - 1000);
    let writing = std::thread::spawn({
        let (path, first) = (path.clone(), first.to_vec());
        move || {
            let mut sender = std::fs::File::create(path).unwrap();
            io::Write::write_all(&mut sender, &first).unwrap();
            sender
        }
    });
    let mut reader = Reader::open(&path).unwrap();
    let mut sender = writing.join().unwrap();
    reader.set_patience(Some(Duration::from_millis(1)));
    let mut entries = Vec::new();
    let mut fill = |expected: usize| {
        let more = reader.fill(256, usize::MAX, &mut entries).unwrap();
        assert_eq!(entries.len(), expected);
        more.is_some()
    };
    assert!(fill(1));
    for _ in 0..3 {
        assert!(fill(1), "not the end: more may come");
    }
    io::Write::write_all(&mut sender, rest).unwrap();
    assert!(fill(2));
    assert!(fill(2));
    drop(sender);
    assert!(!fill(2));
}

#[test]
fn a_pipe_is_not_waited_for() {
    // The writing end stays open: a reader that wants a full block never returns.
    let (receiver, mut sender) = io::pipe().unwrap();
    io::Write::write_all(&mut sender, &capture(&[30, 30])).unwrap();
    let mut reader = Reader::from_read("pipe", Box::new(receiver)).unwrap();
    let mut entries = Vec::new();
    assert!(
        reader
            .fill(256, usize::MAX, &mut entries)
            .unwrap()
            .is_some()
    );
    assert_eq!(entries.len(), 2);
    drop(sender);
    assert!(
        reader
            .fill(256, usize::MAX, &mut entries)
            .unwrap()
            .is_none()
    );
}
