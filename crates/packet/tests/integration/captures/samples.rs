//! Builders of capture bytes that share nothing with the writer under test,
//! and the shortest way to read them back.

use std::io::{Cursor, Write};

use weir_packet::file::{CaptureError, Interface, Reader, RecordEntry};

/// A record as read: its row and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub timestamp_ns: u64,
    pub wire_bytes: u32,
    pub interface: u32,
    pub bytes: Vec<u8>,
}

/// All that a capture gave.
pub struct Outcome {
    pub interfaces: Vec<Interface>,
    pub records: Vec<Record>,
    pub error: Option<CaptureError>,
    pub skipped_blocks: u64,
}

impl Outcome {
    /// The records of a capture that must be whole.
    pub fn whole(self) -> Vec<Record> {
        assert!(self.error.is_none(), "{}", self.error.unwrap());
        self.records
    }
}

/// Reads to the end in batches of 3 records, and checks what every reader promises.
pub fn read_from(opened: Result<Reader, CaptureError>) -> Outcome {
    let mut outcome = Outcome {
        interfaces: Vec::new(),
        records: Vec::new(),
        error: None,
        skipped_blocks: 0,
    };
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => {
            outcome.error = Some(error);
            return outcome;
        }
    };
    let mut entries: Vec<RecordEntry> = Vec::new();
    loop {
        entries.clear();
        match reader.fill(3, usize::MAX, &mut entries) {
            Ok(Some(block)) => {
                assert!((1..=3).contains(&entries.len()));
                for entry in &entries {
                    assert!(entry.wire_bytes >= entry.captured_bytes);
                    assert!((entry.interface as usize) < reader.interfaces().len());
                    outcome.records.push(Record {
                        timestamp_ns: entry.timestamp_ns,
                        wire_bytes: entry.wire_bytes,
                        interface: entry.interface,
                        bytes: entry.bytes(&block).to_vec(),
                    });
                }
            }
            Ok(None) => break,
            Err(error) => {
                assert!(outcome.error.is_none(), "an error is reported once");
                assert!(entries.is_empty());
                outcome.error = Some(error);
            }
        }
    }
    outcome.interfaces = reader.interfaces().to_vec();
    outcome.skipped_blocks = reader.skipped_blocks();
    outcome
}

pub fn read(bytes: &[u8]) -> Outcome {
    read_named("sample", bytes)
}

pub fn read_named(name: &str, bytes: &[u8]) -> Outcome {
    read_from(Reader::from_read(
        name,
        Box::new(Cursor::new(bytes.to_vec())),
    ))
}

pub fn record(timestamp_ns: u64, interface: u32, wire_bytes: u32, bytes: &[u8]) -> Record {
    Record {
        timestamp_ns,
        wire_bytes,
        interface,
        bytes: bytes.to_vec(),
    }
}

/// Numbers in one byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub const ORDERS: [Order; 2] = [Order::Little, Order::Big];

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }
}

pub const MICROSECONDS: u32 = 0xa1b2c3d4;
pub const NANOSECONDS: u32 = 0xa1b23c4d;

pub fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    file.extend([0; 8]);
    file.extend(order.u32(65_535));
    file.extend(order.u32(link));
    file
}

pub fn pcap_record(order: Order, seconds: u32, fraction: u32, wire: u32, bytes: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    for field in [seconds, fraction, bytes.len() as u32, wire] {
        record.extend(order.u32(field));
    }
    record.extend(bytes);
    record
}

/// A pcapng block with its lengths and padding.
pub fn block(order: Order, block_type: u32, body: &[u8]) -> Vec<u8> {
    let length = 12 + body.len().next_multiple_of(4) as u32;
    let mut block = order.u32(block_type).to_vec();
    block.extend(order.u32(length));
    block.extend(body);
    block.resize(length as usize - 4, 0);
    block.extend(order.u32(length));
    block
}

pub fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d0d0a, &body)
}

pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = order.u16(code).to_vec();
    option.extend(order.u16(value.len() as u16));
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

pub fn interface(order: Order, link: u16, snap: u32, options: &[Vec<u8>]) -> Vec<u8> {
    let mut body = order.u16(link).to_vec();
    body.extend([0; 2]);
    body.extend(order.u32(snap));
    for option in options {
        body.extend(option);
    }
    block(order, 1, &body)
}

pub fn enhanced(order: Order, interface: u32, ticks: u64, wire: u32, bytes: &[u8]) -> Vec<u8> {
    let mut body = order.u32(interface).to_vec();
    body.extend(order.u32((ticks >> 32) as u32));
    body.extend(order.u32(ticks as u32));
    body.extend(order.u32(bytes.len() as u32));
    body.extend(order.u32(wire));
    body.extend(bytes);
    block(order, 6, &body)
}

/// A TSH record over an IPv4 header of this total length.
pub fn tsh_record(seconds: u32, interface: u8, microseconds: u32, total_length: u16) -> Vec<u8> {
    let mut record = seconds.to_be_bytes().to_vec();
    record.push(interface);
    record.extend(&microseconds.to_be_bytes()[1..]);
    record.extend([0x45, 0]);
    record.extend(total_length.to_be_bytes());
    record.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    record.extend([
        0x1f, 0x90, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0xff, 0xff,
    ]);
    assert_eq!(record.len(), 44);
    record
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Bytes that do not compress: the top bytes of a linear congruential sequence.
pub fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let step = |state: &mut u64| {
        *state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (*state >> 56) as u8
    };
    (0..bytes).map(|_| step(&mut state)).collect()
}
