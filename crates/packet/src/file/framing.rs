//! What the three framings share: a walk through a block, a quota, and the
//! byte orders.

use super::{CaptureError, RecordEntry};

/// A place in a block, which a framing advances over whole records.
pub(super) struct Cursor<'a> {
    pub file: &'a str,
    /// Where in the capture the block begins, for messages.
    pub block_offset: u64,
    pub bytes: &'a [u8],
    pub position: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn unread(&self) -> &'a [u8] {
        // A position never lies beyond the block; if it did, an empty rest would be safe.
        self.bytes.get(self.position..).unwrap_or_default()
    }

    pub fn offset(&self) -> u64 {
        self.block_offset + self.position as u64
    }

    pub fn file(&self) -> String {
        self.file.to_owned()
    }

    #[cold]
    pub fn malformed(&self, reason: &'static str) -> CaptureError {
        CaptureError::Malformed {
            file: self.file(),
            offset: self.offset(),
            reason,
        }
    }

    #[cold]
    pub fn record_too_long(&self, captured_bytes: u32) -> CaptureError {
        CaptureError::RecordTooLong {
            file: self.file(),
            offset: self.offset(),
            captured_bytes: u64::from(captured_bytes),
        }
    }
}

/// Why a framing came back.
pub(super) enum Stop {
    /// The next record would exceed the quota.
    Quota,
    /// The record or block at the cursor needs this many unread bytes.
    Need(usize),
}

/// Collects records up to a number and a sum of captured bytes.
pub(super) struct Quota<'a> {
    out: &'a mut Vec<RecordEntry>,
    /// Length of `out` at which no more records are taken.
    full: usize,
    bytes_left: usize,
    /// Set until the first record is taken, which may be longer than the quota.
    first: bool,
}

impl<'a> Quota<'a> {
    pub fn new(out: &'a mut Vec<RecordEntry>, max_records: usize, max_bytes: usize) -> Self {
        Quota {
            full: out.len().saturating_add(max_records),
            out,
            bytes_left: max_bytes,
            first: true,
        }
    }

    /// Takes the record, or says that the quota is used up.
    #[inline]
    pub fn admit(&mut self, entry: RecordEntry) -> bool {
        let captured_bytes = entry.captured_bytes as usize;
        let fits = captured_bytes <= self.bytes_left || self.first;
        if self.out.len() >= self.full || !fits {
            return false;
        }
        self.first = false;
        self.bytes_left = self.bytes_left.saturating_sub(captured_bytes);
        self.out.push(entry);
        true
    }
}

/// Byte order of a file or section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endian {
    Little,
    Big,
}

impl Endian {
    #[inline]
    pub fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub fn i64(self, bytes: [u8; 8]) -> i64 {
        match self {
            Endian::Little => i64::from_le_bytes(bytes),
            Endian::Big => i64::from_be_bytes(bytes),
        }
    }
}
