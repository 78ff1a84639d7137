//! Packets as bytes: wire formats, capture files and traffic generation.
//!
//! * [`wire`] reads headers in place and names flows;
//! * [`mod@file`] reads and writes capture files in large blocks;
//! * [`generate`] makes deterministic traffic.
//!
//! Nothing here knows of batches or pipelines: those are built on top.

#![forbid(unsafe_code)]

pub mod file;
pub mod generate;
pub mod time;
pub mod wire;
