//! The accounts of pipelines, as documents have them.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_stream::{ReadCounters, Statistics};

/// The accounts that every report begins with.
#[derive(Clone, Debug, Serialize)]
pub struct Traffic {
    /// What was read.
    #[serde(flatten)]
    pub read: ReadCounters,
    /// Packets written.
    pub forwarded: u64,
    /// Their bytes.
    pub forwarded_bytes: u64,
    /// Packets dropped, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// Time that the run took, in seconds.
    pub seconds: f64,
    /// Captured bits read per nanosecond.
    pub gbit_per_s: f64,
    /// Time that packets spent in the pipeline.
    pub latency_ns: Latency,
    /// Whether a capture ended in the middle of a record.
    pub truncated: bool,
    /// Whether the run was ended before its time.
    pub interrupted: bool,
}

/// Quantiles of the time between a packet's being read and its being done.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// Half of the packets took no longer.
    pub p50: u64,
    /// 99 % of the packets took no longer.
    pub p99: u64,
}

impl Traffic {
    /// From the statistics of a run.
    pub fn new(statistics: &Statistics, truncated: bool, interrupted: bool) -> Traffic {
        Traffic {
            read: ReadCounters::from(statistics),
            forwarded: statistics.forwarded(),
            forwarded_bytes: statistics.forwarded_bytes(),
            drops: statistics
                .drops_by_reason()
                .map(|(reason, count)| (reason.name, count))
                .collect(),
            seconds: statistics.elapsed().as_secs_f64(),
            gbit_per_s: statistics.gbit_per_s(),
            latency_ns: Latency {
                p50: statistics.latency_ns(0.5),
                p99: statistics.latency_ns(0.99),
            },
            truncated,
            interrupted,
        }
    }

    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }
}
