//! Heavy hitters, distinct counts and change detection over packet streams, in bounded
//! memory.
//!
//! Use a sketch by itself over keys of your own ([`CountMin`], [`KAry`],
//! [`DistinctCounter`], [`change`]), or a [`MeasureConfig`] for packets: it says which part
//! of a flow is the key, which value is summed, how long an interval is and how accurate
//! the sums must be, and reports the top keys, their number and alarms for every interval.
//!
//! Bytes per address from standard input (`address bytes` on each line), in 850 KB of
//! memory for any number of addresses:
//!
//! ```
//! use weir_measure::{Accuracy, CountMin, Seed, Updater};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let shape = Accuracy { epsilon: 1e-4, delta: 0.01 }.shape()?;
//! let mut traffic = Updater::new(CountMin::for_bytes(shape, Seed::random()?)?);
//! for line in std::io::stdin().lines() {
//!     let line = line?;
//!     let (address, bytes) = line.split_once(' ').ok_or("no space")?;
//!     traffic.update(address.as_bytes(), bytes.parse()?);
//! }
//! let sketch = traffic.into_sketch();
//! let estimate = sketch.estimate_bytes(b"192.0.2.1");
//! println!("192.0.2.1: {} to {estimate} bytes", estimate - sketch.bound() as i64);
//! # Ok(())
//! # }
//! ```
//!
//! # Which type for which question
//!
//! | question | type | error |
//! | --- | --- | --- |
//! | how much has this key? | [`CountMin`] | never below the truth; above it by more than ε·L1 with probability δ |
//! | the same, and the second moment, also with negative sums | [`KAry`] | beyond ε·√F₂ either way with probability δ |
//! | how many keys are there? | [`DistinctCounter`] | standard error 0.81 % |
//! | which keys deviate from their forecast? | [`change::Detector`] | as for [`KAry`] |
//! | who are the largest in this capture? | [`MeasureConfig`] | as for [`CountMin`]; no key above L1/1024 is missed |
//!
//! L1 is the sum of all values, F₂ the sum of the squared sums of all keys. [`Accuracy`] and
//! [`MomentAccuracy`] convert ε and δ to a size ([`Shape`]). Values are whole numbers of any
//! unit, bytes or packets for instance; timestamps are nanoseconds since 1970-01-01 UTC.
//!
//! The bounds are probabilities over the choice of the [`Seed`] and hold for keys that are
//! chosen without knowledge of it. Use [`Seed::random`] where keys come from strangers.
//!
//! # Measuring packets
//!
//! [`MeasureConfig::build`] returns one [`Meter`] per shard and one [`Collector`] for all:
//!
//! ```text
//!  shard 0: Meter ─ interval 7 ─┐
//!                               Collector ─ report of interval 6, 7, …
//!  shard 1: Meter ─ interval 6 ─┘
//! ```
//!
//! A meter lists the first packets of an interval and puts further ones into a sketch,
//! [`Candidates`] for the top list and a [`DistinctCounter`]. All of these can be merged, so
//! the collector merges the parts of an interval and reports it when every shard has passed
//! it. The same packets give the same sums for every number of shards.
//!
//! In a pipeline a meter is a [`MeasureStage`], and with several shards the
//! [`Timeline`] watches the source ([`Pipeline::watch`](weir_stream::Pipeline::watch)). Alarms become events
//! beside its batches.
//!
//! Memory does not grow with the number of keys, except with [`MeasureConfig::exact`], which
//! adds a table of all keys to show the sketch's error.
//!
//! # Errors and panics
//!
//! Accuracies and sizes out of range are a [`SizeError`], sketches that cannot be added a
//! [`LayoutMismatch`], stored sketches that cannot be read a [`DecodeError`]. No method
//! panics, except where its documentation says so.

#![forbid(unsafe_code)]

mod accuracy;
mod aggregation;
mod bypass;
mod candidates;
pub mod change;
mod collector;
mod config;
mod contents;
mod distinct;
mod filler;
mod interval;
mod key;
mod merger;
mod meter;
mod multistage;
mod packets;
mod report;
mod sketch;
mod stage;
pub mod sub_sketches;
mod timestamp;
mod updater;

pub use accuracy::{Accuracy, AccuracyError, MomentAccuracy, Shape, SizeError};
pub use candidates::Candidates;
pub use collector::{Collector, Observer};
pub use config::{ConfigError, LiveMeasurement, MeasureConfig, Measurement, Value, ValueError};
pub use distinct::DistinctCounter;
pub use interval::{IntervalClock, Slot, Timeline};
pub use meter::Meter;
pub use multistage::MultistageFilter;
pub use report::{ErrorReport, IntervalReport, StoredSketches, TopRow};
pub use sketch::{
    AddWork, BucketIndices, ConservativeCountMin, CountMin, DecodeError, KAry, Layout,
    LayoutMismatch, RangeCountMin, RealKAry, SharedCountMin, Sketch,
};
pub use stage::{ALARM, MEASURE, MeasureStage};
pub use updater::Updater;
/// What hash functions are drawn from, keys in columns for batches, and sizes that no
/// hash family has.
pub use weir_hash::{KeyColumns, Seed, SeedError, ShapeError};
/// Instructions that the kernels use; [`tier`] names those of this processor.
pub use weir_simd::{Tier, tier};
/// The properties of a packet that a [`Meter`] takes besides its flow.
pub use weir_stream::Arrival;
