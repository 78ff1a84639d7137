//! Alarms, and the report of a search for changes.

use std::fmt;

use serde::Serialize;
use weir_packet::time::Timestamp;
use weir_packet::wire::FlowKey;

use super::sample::Source;
use crate::timestamp;

/// A key that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alarm {
    /// The key, formatted.
    pub key: String,
    /// [`FlowKey::community_id`], where the key is a 5-tuple that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub community_id: Option<String>,
    /// The key itself: the measured part of a flow; the rest is zero.
    #[serde(skip)]
    pub flow: FlowKey,
    /// What is summed: `packets` or `bytes`.
    pub unit: &'static str,
    /// Beginning of the interval, nanoseconds since 1970; serialised as RFC
    /// 3339.
    #[serde(rename = "start", serialize_with = "timestamp::serialize")]
    pub start_ns: u64,
    /// Length of the interval.
    pub seconds: f64,
    /// Estimated sum of the key; the estimate of a small sum may be negative.
    pub observed: f64,
    /// What was forecast, or is the mean over the window of a variational
    /// difference.
    pub forecast: f64,
    /// Score of the change: see [`super::Difference`].
    pub score: f64,
    /// The threshold that the score exceeds.
    pub threshold: f64,
    /// Beginning of the interval since which the key has been too high, or too
    /// low, in every interval.
    #[serde(rename = "since", serialize_with = "timestamp::serialize")]
    pub since_ns: u64,
    /// The sources behind it, by a sample of packets: of the interval where the
    /// key rose, of the one before where it fell. Largest first, at most five.
    pub sources: Vec<Source>,
}

impl Alarm {
    /// The beginning of the interval since which it lasts, as RFC 3339 writes
    /// it.
    pub fn since(&self) -> impl fmt::Display {
        Timestamp(self.since_ns)
    }
}

/// Whether an interval was searched for changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchState {
    /// It was searched.
    Searched,
    /// The model had not seen enough intervals for a forecast.
    Learning,
    /// The stream ended within it: every key would seem to have fallen.
    CutShort,
}

/// The search for changes in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    /// Whether it was searched.
    pub state: SearchState,
    /// √F₂ of the errors, estimated; 0 where it was not searched.
    pub error_norm: f64,
    /// Standard deviation of the estimate of one key's error, at most: what is
    /// not some times larger is noise.
    pub deviation: f64,
    /// Keys that were queried.
    pub queried: u64,
    /// Packets whose keys were not queried because [`ChangeConfig::max_keys`] was reached;
    /// neighbouring packets of one key count once.
    ///
    /// [`ChangeConfig::max_keys`]: super::ChangeConfig::max_keys
    pub missed: u64,
}

impl ChangeReport {
    pub(crate) fn unsearched(state: SearchState) -> ChangeReport {
        ChangeReport {
            state,
            error_norm: 0.0,
            deviation: 0.0,
            queried: 0,
            missed: 0,
        }
    }
}
