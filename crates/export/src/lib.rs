//! Exporters: measurements as Parquet, measurements and inspections as Prometheus metrics.
//!
//! Use [`ParquetWriter`] to store the interval reports of a measurement as one table, a row
//! per interval and key ([`read_parquet`] reads it back), [`Metrics`] to expose a running
//! measurement, [`InspectMetrics`] a running inspection and [`FrameMetrics`] live pipelines in OpenMetrics text, the format
//! that Prometheus scrapes. [`write_table`] writes any other table.
//!
//! ```
//! use weir_export::{Metrics, ParquetWriter};
//! use weir_measure::{Arrival, MeasureConfig};
//! use weir_packet::wire::{FlowKey, KeyKind};
//!
//! let config = MeasureConfig::new(KeyKind::Source);
//! let mut measurement = config.build(1)?;
//! let flow = FlowKey { source: 0xc612_0001, ip_version: 4, ..FlowKey::default() };
//! for meter in &mut measurement.meters {
//!     meter.tick(0, 1_000_000_000);
//!     meter.count(&Arrival::at(1_000_000_000, 1500), 1500, Some(&flow));
//!     meter.finish();
//! }
//! let key = config.key.to_string();
//! let mut metrics = Metrics::new(&key, config.value);
//! let mut table = ParquetWriter::new(Vec::new(), &key, config.value)?;
//! for report in measurement.collector.finish() {
//!     metrics.observe(&report);
//!     table.write(&report)?;
//! }
//! let file: Vec<u8> = table.finish()?;
//! assert!(file.starts_with(b"PAR1"));
//! assert!(metrics.text().contains("weir_measure_wire_bytes_total 1500"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Times are nanoseconds since 1970-01-01 UTC, lengths bytes.
//!
//! This is the only crate that depends on these formats; crates below return plain values.
//! Parquet is used without Arrow and without compression codecs; dictionary encoding keeps
//! repeated values small.
//!
//! # Errors and panics
//!
//! Files that cannot be read or written are an [`ExportError`]. Nothing panics.

#![forbid(unsafe_code)]

mod frame;
mod inspection;
mod metrics;
mod parquet;
mod row;
mod table;

pub use frame::FrameMetrics;
pub use inspection::InspectMetrics;
pub use metrics::Metrics;
pub use parquet::{ExportError, ParquetWriter, read_parquet};
pub use row::Row;
pub use table::{Column, Values, write_table};
