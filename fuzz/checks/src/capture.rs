//! Capture files: pcap, pcapng and TSH, plain and compressed.
//!
//! The promises of [`weir_packet::file`]: records lie inside their block and
//! within all quotas; an error comes once, after the whole records in front of
//! it, and is the last; how the bytes arrive and how many records are taken at
//! a time changes nothing; a file cut short gives the first part of what the
//! whole one gives; compression changes nothing; and what was read can be
//! written and read again.

mod seeds;

use std::io::{Cursor, Read, Write};
use std::path::Path;

use weir_packet::file::{
    CaptureError, Format, Interface, MAX_RECORD_BYTES, Reader, RecordEntry, Writer,
};
use weir_packet::wire::LinkType;

pub use seeds::{WORDS, seeds};

/// Panics where a promise of capture reading or writing is broken.
pub fn check(input: &[u8]) {
    for name in ["capture", "trace.tsh"] {
        let whole = read(name, Box::new(Cursor::new(input.to_vec())), 256, usize::MAX);
        check_arrival(name, input, &whole);
        check_cut(name, input, &whole);
        if !is_compressed(input) {
            check_length(input, &whole);
            check_compressed(name, &gzip(input), &whole);
            check_compressed(name, &zstd(input), &whole);
        }
        if !whole.records.is_empty() {
            check_rewritten(&whole);
        }
    }
}

/// All that a capture gave.
struct Contents {
    /// Whether there was a reader at all.
    opened: bool,
    interfaces: Vec<Interface>,
    records: Vec<Record>,
    error: Option<CaptureError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    timestamp_ns: u64,
    wire_bytes: u32,
    link: LinkType,
    bytes: Vec<u8>,
}

/// Reads to the end, `max_records` and `max_bytes` at a time, and checks what
/// every call of [`Reader::fill`] promises.
fn read(name: &str, input: Box<dyn Read + Send>, max_records: usize, max_bytes: usize) -> Contents {
    let mut contents = Contents {
        opened: false,
        interfaces: Vec::new(),
        records: Vec::new(),
        error: None,
    };
    let mut reader = match Reader::from_read(name, input) {
        Ok(reader) => reader,
        Err(error) => {
            contents.error = Some(error);
            return contents;
        }
    };
    contents.opened = true;
    let mut entries: Vec<RecordEntry> = Vec::new();
    loop {
        entries.clear();
        match reader.fill(max_records, max_bytes, &mut entries) {
            Ok(Some(block)) => {
                assert!(contents.error.is_none(), "records after an error");
                assert!((1..=max_records).contains(&entries.len()));
                let lengths = entries.iter().map(|entry| entry.captured_bytes as usize);
                let first_bytes = lengths.clone().next().unwrap_or_default();
                assert!(lengths.sum::<usize>() <= max_bytes.max(first_bytes));
                for entry in &entries {
                    assert!(entry.captured_bytes as usize <= MAX_RECORD_BYTES);
                    assert!(entry.captured_bytes <= entry.wire_bytes);
                    let interface = &reader.interfaces()[entry.interface as usize];
                    contents.records.push(Record {
                        timestamp_ns: entry.timestamp_ns,
                        wire_bytes: entry.wire_bytes,
                        link: interface.link,
                        bytes: entry.bytes(&block).to_vec(),
                    });
                }
            }
            Ok(None) => break,
            Err(error) => {
                assert!(contents.error.is_none(), "an error is reported once");
                assert!(entries.is_empty(), "records come before the error");
                contents.error = Some(error);
            }
        }
    }
    contents.interfaces = reader.interfaces().to_vec();
    contents
}

/// However the bytes arrive, and however few records are taken at a time, the
/// same comes out, down to the words of the error. Of damaged compressed data,
/// more may be unpacked in front of the damage when it arrives in pieces.
fn check_arrival(name: &str, input: &[u8], whole: &Contents) {
    let pieces = Box::new(Pieces {
        bytes: input.to_vec(),
        at: 0,
    });
    let piecewise = read(name, pieces, 3, 100);
    if is_compressed(input) && whole.error.is_some() {
        assert!(piecewise.error.is_some());
        assert!(piecewise.records.starts_with(&whole.records));
        return;
    }
    // Damage behind the header fails the opening where it has arrived by then.
    if piecewise.opened == whole.opened {
        assert_eq!(piecewise.interfaces, whole.interfaces);
    }
    assert_eq!(piecewise.records, whole.records);
    assert_eq!(
        piecewise.error.map(|error| error.to_string()),
        whole.error.as_ref().map(|error| error.to_string())
    );
}

/// What is in front of a cut comes out as before.
fn check_cut(name: &str, input: &[u8], whole: &Contents) {
    let cut = &input[..input.len() - input.len() / 3];
    let cut = read(name, Box::new(Cursor::new(cut.to_vec())), 256, usize::MAX);
    assert!(whole.records.starts_with(&cut.records));
}

/// Records lie one after the other: together they are no longer than the file.
fn check_length(input: &[u8], whole: &Contents) {
    let captured_bytes: usize = whole.records.iter().map(|record| record.bytes.len()).sum();
    assert!(captured_bytes <= input.len());
}

/// Compression changes nothing about a capture.
fn check_compressed(name: &str, compressed: &[u8], whole: &Contents) {
    let unpacked = read(
        name,
        Box::new(Cursor::new(compressed.to_vec())),
        256,
        usize::MAX,
    );
    assert_eq!(unpacked.interfaces, whole.interfaces);
    assert_eq!(unpacked.records, whole.records);
    assert_eq!(unpacked.error.is_some(), whole.error.is_some());
}

/// What was read can be written, and is the same when it is read again.
fn check_rewritten(whole: &Contents) {
    let Ok(folder) = folder_in_memory() else {
        // A full disk is no finding.
        return;
    };
    rewrite(whole, Format::PcapNg, &folder.path().join("again.pcapng"));
    let link = whole.records[0].link;
    let fits_pcap = |record: &Record| {
        record.link == link && record.timestamp_ns / 1_000_000_000 <= u64::from(u32::MAX)
    };
    if whole.records.iter().all(fits_pcap) {
        rewrite(whole, Format::Pcap, &folder.path().join("again.pcap"));
    }
}

/// A folder that costs no disk, where the system has such a thing.
fn folder_in_memory() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

fn rewrite(whole: &Contents, format: Format, path: &Path) {
    let again = write(whole, format, path).and_then(|bytes| {
        let again = read_file(path)?;
        Ok((bytes, again))
    });
    let (written_bytes, again) = match again {
        Ok(again) => again,
        Err(CaptureError::Io { .. }) => return,
        Err(error) => panic!("records that were read cannot be written: {error}"),
    };
    assert_eq!(written_bytes, again.len() as u64);
    let again = read("again", Box::new(Cursor::new(again)), 256, usize::MAX);
    assert!(again.error.is_none(), "{:?}", again.error);
    assert_eq!(again.records, whole.records);
}

fn write(whole: &Contents, format: Format, path: &Path) -> Result<u64, CaptureError> {
    let mut writer = Writer::create(path, format)?;
    let mut links: Vec<LinkType> = Vec::new();
    for record in &whole.records {
        let interface = match links.iter().position(|link| *link == record.link) {
            Some(known) => known as u32,
            None => {
                links.push(record.link);
                writer.add_interface(&Interface {
                    // Too short for some: the writer sees to it.
                    snap_bytes: 96,
                    ..Interface::new(record.link)
                })?
            }
        };
        writer.write(
            interface,
            record.timestamp_ns,
            record.wire_bytes,
            &record.bytes,
        )?;
    }
    writer.finish()
}

fn read_file(path: &Path) -> Result<Vec<u8>, CaptureError> {
    std::fs::read(path).map_err(|source| CaptureError::Io {
        file: path.display().to_string(),
        offset: 0,
        action: "reading",
        source,
    })
}

/// Bytes that arrive 1 to 7 at a time.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = &self.bytes[self.at..];
        let bytes = left.len().min(out.len()).min(1 + self.at % 7);
        out[..bytes].copy_from_slice(&left[..bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

fn is_compressed(input: &[u8]) -> bool {
    input.starts_with(&[0x1f, 0x8b]) || input.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}
