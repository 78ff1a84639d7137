//! Who talks, and how much: traffic per key and interval, from one pass in
//! bounded memory.
//!
//! A [`MeasureConfig`] says which part of a flow is the key, which value is
//! summed, how long an interval is and how accurate the sums must be. It makes
//! one [`Meter`] per shard and one [`Collector`] for all:
//!
//! ```text
//!  shard 0: Meter ─ interval 7 ─┐
//!                               Collector ─ report of interval 6, 7, …
//!  shard 1: Meter ─ interval 6 ─┘
//! ```
//!
//! A meter puts an interval's first few packets into a list and its further
//! ones into a [`CountMin`] sketch, whose keys are hashed in lanes; beside it
//! [`Candidates`] remember which keys may be in the top list and [`Distinct`]
//! estimates how many there were. All of these are linear or unions, so the
//! collector merges what the shards send when an interval of theirs ends, and
//! reports an interval when every shard has passed it. The same packets give
//! the same sums, whatever the number of shards.
//!
//! Beside [`CountMin`] there are [`KAry`] sketches, which also estimate the second
//! moment of a stream, and their linear combinations, [`RealKAry`], for
//! forecasts and their errors.
//!
//! In a pipeline a meter is a [`MeasureStage`], and with several shards the
//! [`Timeline`] watches the source ([`Timeline::watcher`]). Alarms become events
//! beside its batches.
//!
//! [`change`] finds keys whose traffic is not what the intervals before let
//! expect; [`sub_sketches`] cut an interval into periods with sketches of their
//! own.
//!
//! Memory does not grow with the number of keys, except with
//! [`MeasureConfig::exact`], which keeps a table of all of them beside the
//! sketch to show the sketch's error.

#![forbid(unsafe_code)]

mod accuracy;
mod candidates;
pub mod change;
mod collector;
mod config;
mod contents;
mod distinct;
mod filler;
mod gather;
mod interval;
mod key;
mod merger;
mod meter;
mod multistage;
mod packets;
mod report;
mod rest;
mod sketch;
mod stage;
pub mod sub_sketches;
mod timestamp;

pub use accuracy::{Accuracy, AccuracyError, MomentAccuracy, Shape, SizeError};
pub use candidates::Candidates;
pub use collector::{Collector, Observer};
pub use config::{ConfigError, MeasureConfig, Measurement, Value, ValueError};
pub use distinct::Distinct;
pub use interval::{IntervalClock, Slot, Timeline};
pub use meter::Meter;
pub use multistage::MultistageFilter;
pub use report::{ErrorReport, IntervalReport, StoredSketches, TopRow};
pub use sketch::{
    AddWork, ConservativeCountMin, CountMin, DecodeError, KAry, Layout, LayoutMismatch, Places,
    RangeCountMin, RealKAry, RecentKeys, SharedCountMin,
};
pub use stage::MeasureStage;
/// The properties of a packet that a [`Meter`] takes besides its flow.
pub use weir_stream::Arrival;
