//! The last line of an inspection: its accounts.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_stream::{ReadCounters, Statistics};

use crate::alerted::AlertedStatistics;
use crate::inspector::{GroupStatistics, InspectStatistics, RuleCost};
use crate::rule::Rule;
use crate::rule_set::{FileReport, LoadReport, RuleSet};

/// The line of type `summary` that ends the alerts of `weir inspect`.
#[derive(Clone, Debug, Serialize)]
pub struct InspectSummary {
    /// Always `summary`.
    pub event_type: &'static str,
    /// What was read.
    #[serde(flatten)]
    pub read: ReadCounters,
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
    pub inspection: InspectStatistics,
    /// What the groups of rules were searched for.
    pub groups: Vec<GroupStatistics>,
    /// The most expensive rules first, if their cost was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_profile: Option<Vec<ProfiledRule>>,
    /// What was written of flows that raised alerts, if that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alerted_pcap: Option<AlertedStatistics>,
    /// Time of the run.
    pub seconds: f64,
    /// Captured bits read per nanosecond.
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
    /// The most expensive rules of a set, at most a hundred, by what each cost.
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

/// How often one rule alerted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlertCount {
    /// Generator of the rule.
    pub gid: u32,
    /// Number of the rule.
    pub signature_id: u32,
    /// Text of the rule.
    pub signature: String,
    /// Alerts.
    pub alerts: u64,
}

/// How often each rule alerted, those too that were replaced since. Counts of
/// several shards add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertCounts(BTreeMap<u32, AlertCount>);

impl AlertCounts {
    /// Counts an alert of the rule that has a number.
    pub(crate) fn add(&mut self, number: u32, rule: &Rule) {
        let count = self.0.entry(number).or_insert_with(|| AlertCount {
            gid: rule.description.gid,
            signature_id: rule.description.sid,
            signature: rule.description.message.clone(),
            alerts: 0,
        });
        count.alerts += 1;
    }

    /// Adds the counts of another shard.
    pub fn merge(&mut self, other: &AlertCounts) {
        for (number, count) in &other.0 {
            match self.0.get_mut(number) {
                Some(known) => known.alerts += count.alerts,
                None => {
                    self.0.insert(*number, count.clone());
                }
            }
        }
    }

    /// The rules that alerted, in the order in which they were loaded.
    pub fn iter(&self) -> impl Iterator<Item = &AlertCount> {
        self.0.values()
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
            read: ReadCounters::from(statistics),
            rules_loaded: load.loaded,
            rules_superseded: load.superseded,
            rules_skipped: load.skipped.clone(),
            rule_files: load.files.clone(),
            inspection,
            groups: Vec::new(),
            rule_profile: None,
            alerted_pcap: None,
            seconds: statistics.elapsed().as_secs_f64(),
            gbit_per_s: statistics.gbit_per_s(),
            interrupted: false,
            truncated: false,
        }
    }
}
