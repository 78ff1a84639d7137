//! Capture files as ends of pipelines.
//!
//! [`CaptureSource`] reads pcap, pcapng and TSH files, one after the other, into the batches of a
//! [`Pipeline`](weir_stream::Pipeline); [`CaptureSink`] writes what arrives, interfaces and times
//! kept. The formats themselves are in [`weir_packet::file`]; pipelines know none of them.
//!
//! ```
//! use std::path::Path;
//!
//! use weir_capture::{CaptureSink, CaptureSource};
//! use weir_packet::file::{Format, Reader, Writer};
//! use weir_stream::Pipeline;
//!
//! # let folder = tempfile::tempdir()?;
//! # let copy = folder.path().join("copy.pcapng");
//! # let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traffic.pcapng");
//! let source = CaptureSource::new(vec![Reader::open(Path::new(example))?]);
//! let sink = CaptureSink::new(Writer::create(&copy, Format::PcapNg)?);
//! let outcome = Pipeline::new(source).sink(sink).run()?;
//! assert_eq!(outcome.statistics.forwarded(), 3_564);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod sink;
mod source;

pub use sink::CaptureSink;
pub use source::{CaptureSource, Progress};
