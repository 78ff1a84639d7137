//! The last line of an inspection: its accounts.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_stream::Statistics;

use crate::inspector::InspectStatistics;
use crate::rule_set::{FileReport, LoadReport};

/// The line of type `summary` that ends the alerts of `weir inspect`.
#[derive(Clone, Debug, Serialize)]
pub struct InspectSummary {
    /// Always `summary`.
    pub event_type: &'static str,
    /// Packets read.
    pub packets: u64,
    /// Bytes of these packets, as on the wire.
    pub bytes: u64,
    /// Rules that are wholly understood.
    pub rules_loaded: u64,
    /// Of these, rules in whose place a newer revision runs.
    pub rules_superseded: u64,
    /// Rules that were skipped, by reason.
    pub rules_skipped: BTreeMap<String, u64>,
    /// The same file by file.
    pub rule_files: Vec<FileReport>,
    /// What the inspectors did: `alerts`, `candidates`, `false_candidates` and
    /// the rest, at the same level as the fields here.
    #[serde(flatten)]
    pub inspection: Inspection,
    /// Time of the run.
    pub seconds: f64,
    /// Bits read per nanosecond.
    pub gbit_per_s: f64,
    /// Whether the run was ended by a signal.
    pub interrupted: bool,
    /// Whether a capture was cut short.
    pub truncated: bool,
}

/// The part of [`InspectStatistics`] that a summary shows: all but the number
/// of packets, which the run itself counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the fields of `InspectStatistics`")]
pub struct Inspection {
    pub alerts: u64,
    pub candidates: u64,
    pub false_candidates: u64,
    pub search_limited: u64,
    pub alerts_limited: u64,
    pub passed_packets: u64,
    pub packets_inspected: u64,
    pub payload_bytes: u64,
    pub flows: u64,
    pub flows_evicted: u64,
}

impl From<InspectStatistics> for Inspection {
    fn from(statistics: InspectStatistics) -> Inspection {
        Inspection {
            alerts: statistics.alerts,
            candidates: statistics.candidates,
            false_candidates: statistics.false_candidates,
            search_limited: statistics.search_limited,
            alerts_limited: statistics.alerts_limited,
            passed_packets: statistics.passed_packets,
            packets_inspected: statistics.packets,
            payload_bytes: statistics.payload_bytes,
            flows: statistics.flows,
            flows_evicted: statistics.flows_evicted,
        }
    }
}

impl InspectSummary {
    /// The summary of a whole run: what was loaded, what the inspectors of all
    /// shards did together, and the accounts of the pipeline.
    pub fn new(
        load: &LoadReport,
        inspection: InspectStatistics,
        statistics: &Statistics,
    ) -> InspectSummary {
        InspectSummary {
            event_type: "summary",
            packets: statistics.packets(),
            bytes: statistics.bytes(),
            rules_loaded: load.loaded,
            rules_superseded: load.superseded,
            rules_skipped: load.skipped.clone(),
            rule_files: load.files.clone(),
            inspection: inspection.into(),
            seconds: statistics.elapsed().as_secs_f64(),
            gbit_per_s: statistics.gbit_per_s(),
            interrupted: false,
            truncated: false,
        }
    }
}
