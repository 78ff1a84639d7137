//! Errors of capture files: where, what, and what to do about it.

use std::io;

use thiserror::Error;

use super::{Format, MAX_RECORD_BYTES};
use crate::wire::LinkType;

/// Why a capture cannot be read or written (further). Offsets count bytes of
/// the capture itself, after decompression.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The operating system refused to open, read, write or rename.
    #[error(
        "{file}: {action} failed{}: {source}; {}",
        at(*offset),
        advice(action, source)
    )]
    Io {
        /// File name as given, or `standard input`, `standard output`.
        file: String,
        /// Bytes read or written before.
        offset: u64,
        /// What was tried: `opening`, `reading`, …
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },

    /// The first bytes belong to no format that Weir knows.
    #[error(
        "{file}: not a capture: {found}; give a pcap, pcapng or (named *.tsh) NLANR TSH file, plain or compressed with gzip or zstd"
    )]
    NotACapture {
        /// File name.
        file: String,
        /// What was found instead.
        found: String,
    },

    /// The format is known, its version is not.
    #[error(
        "{file}: {format} version {major}.{minor} at byte {offset} is not supported; convert the file with `editcap` or a newer tool"
    )]
    UnsupportedVersion {
        /// File name.
        file: String,
        /// Start of the file or section header.
        offset: u64,
        /// The format that the magic number announces.
        format: Format,
        /// Major version found.
        major: u16,
        /// Minor version found.
        minor: u16,
    },

    /// The file ends inside a header, a record, a block or a compressed
    /// stream. All whole records before were delivered.
    #[error(
        "{file}: cut short: the record or block at byte {offset} is incomplete (at least {missing_bytes} more bytes expected); what came before was read, capture or copy the file again for the rest"
    )]
    Truncated {
        /// File name.
        file: String,
        /// Start of the incomplete record or block.
        offset: u64,
        /// A lower bound of what is missing.
        missing_bytes: u64,
    },

    /// The gzip or zstd data is damaged.
    #[error(
        "{file}: damaged {method} data after {offset} decompressed bytes: {reason}; check with `{method} -t` and copy the file again"
    )]
    Decompression {
        /// File name.
        file: String,
        /// Decompressed bytes before the damage.
        offset: u64,
        /// `gzip` or `zstd`.
        method: &'static str,
        /// The decompressor's words.
        reason: String,
    },

    /// A record claims more captured bytes than any capture tool writes.
    #[error(
        "{file}: the record at byte {offset} claims {captured_bytes} captured bytes, more than {MAX_RECORD_BYTES}; the file is damaged there or not a capture, cut it before that record (`editcap -r IN OUT 1-N`)"
    )]
    RecordTooLong {
        /// File name.
        file: String,
        /// Start of the record's header.
        offset: u64,
        /// The claim.
        captured_bytes: u64,
    },

    /// A pcapng block's total length cannot be: below 12, not a multiple of 4,
    /// or beyond what is kept whole.
    #[error(
        "{file}: the pcapng block at byte {offset} has an impossible length of {block_bytes} bytes: {reason}; the file is damaged there, cut it before that block (`editcap -r IN OUT 1-N`)"
    )]
    BlockLength {
        /// File name.
        file: String,
        /// Start of the block.
        offset: u64,
        /// The claim.
        block_bytes: u32,
        /// Which rule it breaks.
        reason: &'static str,
    },

    /// The lengths at the start and the end of a pcapng block disagree.
    #[error(
        "{file}: the pcapng block at byte {offset} begins with length {leading_bytes} and ends with length {trailing_bytes}; the file is damaged there, cut it before that block (`editcap -r IN OUT 1-N`)"
    )]
    BlockLengthsDisagree {
        /// File name.
        file: String,
        /// Start of the block.
        offset: u64,
        /// Length in front.
        leading_bytes: u32,
        /// Length behind.
        trailing_bytes: u32,
    },

    /// Fields of a pcapng block or a TSH record contradict each other.
    #[error(
        "{file}: the block or record at byte {offset} is malformed: {reason}; the file is damaged there or of another format"
    )]
    Malformed {
        /// File name.
        file: String,
        /// Start of the block or record.
        offset: u64,
        /// What contradicts what.
        reason: &'static str,
    },

    /// A record names an interface that nothing declared before.
    #[error(
        "{file}: the record at byte {offset} is on interface {interface}, but only {declared} are declared there; declare the interface first"
    )]
    UndeclaredInterface {
        /// File name.
        file: String,
        /// Start of the block, or bytes written so far.
        offset: u64,
        /// The interface named.
        interface: u32,
        /// Interfaces declared so far (in this pcapng section).
        declared: u32,
    },

    /// More interfaces than any capture has.
    #[error(
        "{file}: more than {limit} interfaces are declared at byte {offset}; split the file with `editcap -c`"
    )]
    TooManyInterfaces {
        /// File name.
        file: String,
        /// Start of the declaration that is too many.
        offset: u64,
        /// Most interfaces per file.
        limit: u32,
    },

    /// Two link types for one pcap file.
    #[error(
        "{file}: a pcap file holds one link type, it has {first:?} and cannot take {second:?} (at byte {offset}); name the output *.pcapng"
    )]
    MixedLinkTypes {
        /// File name.
        file: String,
        /// Bytes written so far.
        offset: u64,
        /// Link type of the interface declared first.
        first: LinkType,
        /// Link type of the one refused.
        second: LinkType,
    },

    /// A pcap record holds 32-bit seconds.
    #[error(
        "{file}: the time {timestamp_ns} ns since 1970 of the record at byte {offset} lies after 2106 and does not fit a pcap file; name the output *.pcapng"
    )]
    TimestampRange {
        /// File name.
        file: String,
        /// Bytes written so far.
        offset: u64,
        /// The time refused.
        timestamp_ns: u64,
    },

    /// The format can be read but not written.
    #[error("{file}: {format} files cannot be written; name the output *.pcapng or *.pcap")]
    UnsupportedOutput {
        /// File name.
        file: String,
        /// The requested format.
        format: Format,
    },
}

impl CaptureError {
    /// Whether the capture merely ends too early, so that everything before is good.
    pub fn is_truncation(&self) -> bool {
        matches!(self, CaptureError::Truncated { .. })
    }
}

/// Where in a file, unless that says nothing.
fn at(offset: u64) -> String {
    match offset {
        0 => String::new(),
        offset => format!(" at byte {offset}"),
    }
}

/// What a user can do about an error of the operating system.
fn advice(action: &str, error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if action == APPENDING => {
            "free some space or write to another disk (what was written before remains)"
        }
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied => "check the permissions of the file and its folder",
        io::ErrorKind::IsADirectory => "name a file in that folder",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space or write to another disk (nothing was left behind)"
        }
        io::ErrorKind::BrokenPipe => "the program that reads the output has stopped",
        io::ErrorKind::ReadOnlyFilesystem => "write to another disk",
        _ => "check the device that holds it and try again",
    }
}

/// What is tried when a capture grows in its place.
pub(super) const APPENDING: &str = "appending";
