//! What was measured, in the formats that others read.
//!
//! [`ParquetWriter`] writes the reports of a measurement as one table, a row per
//! interval and key, and [`read_parquet`] reads it back. [`Metrics`] keeps what
//! a running measurement has counted and says it in the text format of
//! Prometheus. Both are shown reports one by one, as an observer of the
//! measurement is. [`InspectMetrics`] says in the same format what an
//! inspection did so far.
//!
//! [`write_table`] writes any other table of numbers, words and flags.
//!
//! This is the only crate that pays for these formats: those below return plain
//! values. Of Parquet it takes the format alone, without Arrow and without
//! codecs; numbers that repeat are small by the dictionary encoding.

#![forbid(unsafe_code)]

mod inspection;
mod metrics;
mod parquet;
mod row;
mod table;

pub use inspection::InspectMetrics;
pub use metrics::Metrics;
pub use parquet::{ExportError, ParquetWriter, read_parquet};
pub use row::Row;
pub use table::{Column, Values, write_table};
