//! The last line of an inspection: its accounts.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_stream::Statistics;

use crate::inspector::{GroupStatistics, InspectStatistics, RuleCost};
use crate::rule_set::{FileReport, LoadReport, RuleSet};

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
    /// What the groups of rules were searched for.
    pub groups: Vec<GroupStatistics>,
    /// The dearest rules first, if their cost was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_profile: Option<Vec<ProfiledRule>>,
    /// Time of the run.
    pub seconds: f64,
    /// Bits read per nanosecond.
    pub gbit_per_s: f64,
    /// Whether the run was ended by a signal.
    pub interrupted: bool,
    /// Whether a capture was cut short.
    pub truncated: bool,
}

/// Most rules that a profile lists.
const MAX_PROFILED: usize = 100;

/// What one rule cost.
#[derive(Clone, Debug, Serialize)]
pub struct ProfiledRule {
    /// Generator of the rule.
    pub gid: u32,
    /// Number of the rule.
    pub signature_id: u32,
    /// Text of the rule.
    pub signature: String,
    /// How often it was tried.
    pub trials: u64,
    /// How often it matched.
    pub matches: u64,
    /// Time that its trials took.
    pub time_ns: u64,
}

impl ProfiledRule {
    /// The dearest rules of a set, at most a hundred, by what each cost.
    pub fn dearest(rules: &RuleSet, costs: &[RuleCost]) -> Vec<ProfiledRule> {
        let tried = rules.rules().iter().zip(costs);
        let mut profile: Vec<ProfiledRule> = tried
            .filter(|(_, cost)| cost.trials > 0)
            .map(|(rule, cost)| ProfiledRule {
                gid: rule.description.gid,
                signature_id: rule.description.sid,
                signature: rule.description.message.clone(),
                trials: cost.trials,
                matches: cost.matches,
                time_ns: cost.time.as_nanos() as u64,
            })
            .collect();
        profile.sort_by_key(|rule| std::cmp::Reverse(rule.time_ns));
        profile.truncate(MAX_PROFILED);
        profile
    }
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
    pub part_bytes: u64,
    pub streams_evicted: u64,
    pub stream_gaps: u64,
    pub overlaps_differing: u64,
    pub waiting_evicted: u64,
    pub datagrams_reassembled: u64,
    pub datagrams_evicted: u64,
    pub fragments_refused: u64,
    pub alerts_suppressed: u64,
    pub trackers_evicted: u64,
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
            part_bytes: statistics.part_bytes,
            streams_evicted: statistics.streams_evicted,
            stream_gaps: statistics.stream_gaps,
            overlaps_differing: statistics.overlaps_differing,
            waiting_evicted: statistics.waiting_evicted,
            datagrams_reassembled: statistics.datagrams_reassembled,
            datagrams_evicted: statistics.datagrams_evicted,
            fragments_refused: statistics.fragments_refused,
            alerts_suppressed: statistics.alerts_suppressed,
            trackers_evicted: statistics.trackers_evicted,
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
            groups: Vec::new(),
            rule_profile: None,
            seconds: statistics.elapsed().as_secs_f64(),
            gbit_per_s: statistics.gbit_per_s(),
            interrupted: false,
            truncated: false,
        }
    }
}
