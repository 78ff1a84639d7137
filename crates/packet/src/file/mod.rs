//! Capture files in and out.
//!
//! A [`Reader`] takes pcap, pcapng or NLANR TSH, plain or compressed with gzip
//! or zstd, from a file, a pipe or standard input. It reads in blocks of
//! [`BLOCK_BYTES`], which stay in the L2 cache, and hands out [`RecordEntry`]
//! rows that point into a shared [`Block`]: no record is copied, nothing is
//! allocated per record, and a block is reused once no record refers to
//! it. A [`Writer`] writes pcap or pcapng under a temporary name and puts
//! the finished file in place.
//!
//! ```text
//!  file ── input ── window ── pcap / pcapng / tsh ── Reader ── (Arc<Block>, [RecordEntry])
//!          gunzip,  blocks,   framing: where each
//!          unzstd   recycled  record lies
//! ```
//!
//! Memory is bounded for every input: a record holds at most
//! [`MAX_RECORD_BYTES`], a pcapng block that has to be kept whole twice that,
//! and a zstd window 128 MiB. A damaged file is a [`CaptureError`]
//! with the offset of the damage; all complete records before it are returned first.

mod block;
mod error;
mod framing;
mod input;
mod pcap;
mod pcapng;
mod pcapng_time;
mod places;
mod reader;
mod tsh;
mod whole;
mod window;
mod writer;
mod zstd;

use std::fmt;
use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub use block::{BLOCK_BYTES, Block};
pub use error::CaptureError;
pub use places::{PlaceError, keep_apart, meet, require_folder_of};
pub use reader::Reader;
pub use whole::WholeFile;
pub use writer::Writer;

use crate::wire::LinkType;

/// Longest record that is read or written, in captured bytes: libpcap's
/// largest snap length. A file header may declare a larger one as long as its
/// records stay below.
pub const MAX_RECORD_BYTES: usize = 256 * 1024;

/// Layout of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// libpcap's classic format (draft-ietf-opsawg-pcap): one link type, 32-bit seconds.
    Pcap,
    /// The block format (draft-ietf-opsawg-pcapng): several interfaces, 64-bit time.
    PcapNg,
    /// NLANR time-sequenced headers: IPv4 and the start of TCP, 44 bytes a record. Read only.
    Tsh,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Pcap => "pcap",
            Format::PcapNg => "pcapng",
            Format::Tsh => "TSH",
        })
    }
}

/// One record's place in the block that came with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordEntry {
    /// Nanoseconds since 1970-01-01 UTC; 0 where the file holds no time.
    pub timestamp_ns: u64,
    /// Length on the wire; never less than `captured_bytes`, even where a file says so.
    pub wire_bytes: u32,
    /// Length in the block, at most [`MAX_RECORD_BYTES`].
    pub captured_bytes: u32,
    /// First byte in the block.
    pub offset: u32,
    /// Index into [`Reader::interfaces`].
    pub interface: u32,
}

impl RecordEntry {
    /// The record's bytes, from the block that came with it.
    ///
    /// # Panics
    /// `block` is not the block of the record, and shorter.
    pub fn bytes<'b>(&self, block: &'b Block) -> &'b [u8] {
        &block[self.offset as usize..][..self.captured_bytes as usize]
    }
}

/// Where records were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The header in front of each packet.
    pub link: LinkType,
    /// Longest part of a packet that was kept; 0 for no limit. Files exist
    /// whose records are longer.
    pub snap_bytes: u32,
    /// The interface's name, cut at 255 bytes.
    pub name: Option<String>,
}

impl Interface {
    /// A nameless interface that captures packets whole.
    pub fn new(link: LinkType) -> Self {
        Interface {
            link,
            snap_bytes: MAX_RECORD_BYTES as u32,
            name: None,
        }
    }
}

/// Whether writing `output` would overwrite `input` while it is read: both are the same
/// device and inode, also through links and redirections. `-` is standard input or
/// output. True for regular files only.
pub fn same_file(input: &Path, output: &Path) -> bool {
    let input = if is_standard_stream(input) {
        metadata_of_stream(std::io::stdin())
    } else {
        input.metadata()
    };
    let output = if is_standard_stream(output) {
        metadata_of_stream(std::io::stdout())
    } else {
        output.metadata()
    };
    match (input, output) {
        (Ok(input), Ok(output)) => {
            input.is_file() && (input.dev(), input.ino()) == (output.dev(), output.ino())
        }
        _ => false,
    }
}

/// `-` stands for standard input or output.
fn is_standard_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn metadata_of_stream(stream: impl AsFd) -> std::io::Result<Metadata> {
    unbuffered(stream)?.metadata()
}

/// A standard stream without the line buffer that the standard library puts in front.
fn unbuffered(stream: impl AsFd) -> std::io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}
