//! Packets as bytes: wire formats, capture files and traffic generation.
//!
//! Use [`mod@file`] to read and write captures, [`wire`] to parse headers in place and to
//! build packets, and [`generate`] for reproducible traffic. Nothing here knows of batches
//! or pipelines; crates above build those.
//!
//! Flows of a capture, by their first packet:
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::path::Path;
//! use weir_packet::file::Reader;
//! use weir_packet::wire::{FlowKey, Headers, KeyKind};
//!
//! fn flows(path: &Path) -> Result<BTreeSet<String>, Box<dyn std::error::Error>> {
//!     let mut flows = BTreeSet::new();
//!     let mut reader = Reader::open(path)?;
//!     let mut records = Vec::new();
//!     while let Some(block) = reader.fill(256, 512 * 1024, &mut records)? {
//!         for record in records.drain(..) {
//!             let bytes = record.bytes(&block);
//!             let link = reader.interfaces()[record.interface as usize].link;
//!             let headers = Headers::parse(link, bytes);
//!             if let Some(key) = FlowKey::from_headers(&headers, bytes) {
//!                 flows.insert(key.display(KeyKind::FiveTuple).to_string());
//!             }
//!         }
//!     }
//!     Ok(flows)
//! }
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traffic.pcapng");
//! # assert!(!flows(Path::new(path))?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Units
//!
//! Times are nanoseconds since 1970-01-01 UTC. Lengths and offsets are bytes; `wire_bytes`
//! is the length on the wire, `captured_bytes` the part that a capture holds. Addresses and
//! ports are numbers in host byte order.
//!
//! # Errors and panics
//!
//! Reading and writing captures returns a [`file::CaptureError`] with file, offset and what
//! to do. Parsing headers never fails: a malformed packet has a [`wire::Fault`]. No input
//! panics; the few methods that panic on misuse say so.

#![forbid(unsafe_code)]

pub mod file;
pub mod generate;
pub mod time;
pub mod wire;
