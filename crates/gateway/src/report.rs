//! What a gateway did, as values that can be printed and written as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_inspect::{
    AlertCount, AlertCounts, FalseCandidates, GroupStatistics, InspectSnapshot, InspectStage,
};
use weir_ipsec::{ClassifyInbound, ClassifyOutbound, Protect, Unprotect};
use weir_measure::IntervalReport;
use weir_stream::{Stage, Statistics};

use crate::associations::{AssociationRow, association_rows, rows};
use crate::config::Config;
use crate::execution::{Execution, was_truncated};
use crate::filter::{FilterStage, RuleCount, filter_counts};
use crate::live::LiveOutcome;
use crate::measured::Recent;
use crate::status::QueueStatus;

/// What a gateway did: the document of `weir run`.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Accounts of all pipelines.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// The same of each pipeline between captures.
    pub pipelines: Vec<PipelineRow>,
    /// What the queues of live ports counted.
    pub queues: Vec<QueueStatus>,
    /// Events that were not written in time.
    pub lost_events: u64,
    /// Alerts raised.
    pub alerts: u64,
    /// The same by rule.
    pub alerts_by_rule: Vec<AlertCount>,
    /// Packets sealed.
    pub protected: u64,
    /// Packets that verified.
    pub unprotected: u64,
    /// Packets that a policy let pass in clear text.
    pub bypassed: u64,
    /// What each association did that was used.
    pub associations: Vec<AssociationRow>,
    /// How often each filter rule decided.
    pub filter: Vec<RuleCount>,
    /// The last interval's top keys: of the whole run, where no interval is
    /// set.
    pub top: Vec<weir_measure::TopRow>,
    /// The newest.
    pub alarms: Vec<weir_measure::change::Alarm>,
    /// All that there were.
    pub alarms_total: u64,
    /// The newest.
    pub intervals: Vec<IntervalReport>,
    /// All that there were.
    pub intervals_total: u64,
    /// Payload bytes searched.
    pub inspected_payload_bytes: u64,
    /// Rules that were evaluated for a payload.
    pub candidates: u64,
    /// Those that did not match.
    pub false_candidates: u64,
    /// The same by the stage that turned them away.
    pub false_candidates_by_stage: FalseCandidates,
    /// What groups of rules were searched for.
    pub rule_groups: Vec<GroupStatistics>,
}

/// Puts the report of live pipelines together.
pub(crate) fn live_report(
    outcome: LiveOutcome,
    inspection: InspectSnapshot,
    lost_events: u64,
) -> Report {
    let LiveOutcome {
        statistics: accounts,
        results,
        recent,
        queues,
    } = outcome;
    let InspectSnapshot { statistics, groups } = inspection;
    let queues: Vec<QueueStatus> = queues.iter().map(QueueStatus::from).collect();
    Report {
        traffic: Traffic {
            missed: queues.iter().map(QueueStatus::missed).sum(),
            ..Traffic::new(&accounts, false, true)
        },
        pipelines: Vec::new(),
        queues,
        lost_events,
        alerts: statistics.alerts,
        alerts_by_rule: results.alerts.iter().cloned().collect(),
        protected: results.protected,
        unprotected: results.unprotected,
        bypassed: results.bypassed,
        associations: rows(results.associations.into_iter()),
        filter: filter_counts(results.filter.iter()),
        top: (recent.intervals.back())
            .map(|last| last.top.clone())
            .unwrap_or_default(),
        alarms: recent.alarms.into(),
        alarms_total: recent.alarms_total,
        intervals: recent.intervals.into(),
        intervals_total: recent.intervals_total,
        inspected_payload_bytes: statistics.payload_bytes,
        candidates: statistics.candidates,
        false_candidates: statistics.false_candidates,
        false_candidates_by_stage: statistics.false_candidates_by_stage,
        rule_groups: groups,
    }
}

/// The accounts of one pipeline.
#[derive(Debug, Serialize)]
pub struct PipelineRow {
    /// Its name in the configuration.
    pub name: String,
    /// Its accounts.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// The accounts that every report begins with.
#[derive(Clone, Debug, Serialize)]
pub struct Traffic {
    /// Packets read.
    pub packets: u64,
    /// Their bytes, as far as they were captured.
    pub bytes: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Packets that came to a live port but for which it had no space.
    pub missed: u64,
    /// Packets whose timestamps were not believed.
    pub time_implausible: u64,
    /// Jumps of the capture's clock by more than an hour.
    pub clock_jumps: u64,
    /// Packets said to have been longer than any packet can be.
    pub length_implausible: u64,
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
            packets: statistics.packets(),
            bytes: statistics.bytes(),
            wire_bytes: statistics.wire_bytes(),
            missed: 0,
            time_implausible: statistics.time_implausible(),
            clock_jumps: statistics.clock_jumps(),
            length_implausible: statistics.length_implausible(),
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

fn stages<S: Stage>(execution: &Execution) -> impl Iterator<Item = &S> {
    execution
        .pipelines
        .iter()
        .flat_map(|pipeline| pipeline.stages::<S>())
}

fn alert_counts(execution: &Execution) -> AlertCounts {
    let mut sums = AlertCounts::default();
    for stage in stages::<InspectStage>(execution) {
        sums.merge(stage.alert_counts());
    }
    sums
}

/// Puts the report together.
pub(crate) fn report(
    config: &Config,
    execution: &Execution,
    inspection: InspectSnapshot,
    recent: Recent,
) -> Report {
    let alert_counts = alert_counts(execution);
    let InspectSnapshot { statistics, groups } = inspection;
    let bypassed = stages::<ClassifyOutbound>(execution)
        .map(ClassifyOutbound::bypassed)
        .chain(stages::<ClassifyInbound>(execution).map(ClassifyInbound::bypassed))
        .sum();
    Report {
        traffic: Traffic::new(
            &execution.statistics,
            execution.truncated(),
            execution.interrupted(),
        ),
        pipelines: (config.pipelines.iter().zip(&execution.pipelines))
            .map(|(pipeline, ran)| PipelineRow {
                name: pipeline.name.clone(),
                traffic: Traffic::new(&ran.statistics, was_truncated(ran), ran.interrupted),
            })
            .collect(),
        queues: Vec::new(),
        lost_events: 0,
        alerts: statistics.alerts,
        alerts_by_rule: alert_counts.iter().cloned().collect(),
        protected: stages(execution).map(Protect::protected).sum(),
        unprotected: stages(execution).map(Unprotect::unprotected).sum(),
        bypassed,
        associations: association_rows(&execution.pipelines),
        filter: filter_counts(stages(execution).flat_map(FilterStage::counts)),
        top: (recent.intervals.back())
            .map(|last| last.top.clone())
            .unwrap_or_default(),
        alarms: recent.alarms.into(),
        alarms_total: recent.alarms_total,
        intervals: recent.intervals.into(),
        intervals_total: recent.intervals_total,
        inspected_payload_bytes: statistics.payload_bytes,
        candidates: statistics.candidates,
        false_candidates: statistics.false_candidates,
        false_candidates_by_stage: statistics.false_candidates_by_stage,
        rule_groups: groups,
    }
}
