//! What a gateway did, as values that can be printed and written as JSON.

use serde::Serialize;
use weir_inspect::{AlertCount, FalseCandidates, GroupStatistics, InspectSnapshot};
use weir_measure::IntervalReport;
use weir_measure::change::Alarm;
use weir_stream::Statistics;

use crate::associations::{AssociationRow, rows};
use crate::config::Config;
use crate::execution::{Execution, was_truncated};
use crate::fabric::QueuePairRow;
use crate::filter::{RuleCount, filter_counts};
use crate::live::LiveOutcome;
use crate::measured::Recent;
use crate::results::Results;
use crate::status::QueueStatus;
use crate::traffic::Traffic;

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
    /// What each queue pair of the fabric file did that was used.
    pub queue_pairs: Vec<QueuePairRow>,
    /// Alarms about forged packets of InfiniBand and RoCEv2.
    pub fabric_alarms: u64,
    /// How often each filter rule decided.
    pub filter: Vec<RuleCount>,
    /// The last interval's top keys: of the whole run, where no interval is
    /// set.
    pub top: Vec<weir_measure::TopRow>,
    /// The newest.
    pub alarms: Vec<Alarm>,
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

/// The accounts of one pipeline.
#[derive(Debug, Serialize)]
pub struct PipelineRow {
    /// Its name in the configuration.
    pub name: String,
    /// Its accounts.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// The report of pipelines over captures.
pub(crate) fn report(
    config: &Config,
    execution: &Execution,
    inspection: InspectSnapshot,
    recent: Recent,
) -> Report {
    let pipelines = config.pipelines.iter().zip(&execution.pipelines);
    let rows = pipelines.map(|(pipeline, ran)| PipelineRow {
        name: pipeline.name.clone(),
        traffic: Traffic::new(&ran.statistics, was_truncated(ran), ran.interrupted),
    });
    let (truncated, interrupted) = (execution.truncated(), execution.interrupted());
    Report {
        pipelines: rows.collect(),
        ..Report::new(
            Traffic::new(&execution.statistics, truncated, interrupted),
            Results::of(execution),
            inspection,
            recent,
        )
    }
}

/// The report of live pipelines.
pub(crate) fn live_report(
    config: &Config,
    outcome: LiveOutcome,
    inspection: InspectSnapshot,
    lost_events: u64,
) -> Report {
    let queues: Vec<QueueStatus> = outcome.queues.iter().map(QueueStatus::from).collect();
    let live_traffic = |statistics: &Statistics, missed: u64| {
        let mut traffic = Traffic::new(statistics, false, true);
        traffic.read.missed = missed;
        traffic
    };
    let missed_at = |port: &str| -> u64 {
        let of_port = queues.iter().filter(|queue| queue.port == port);
        of_port.map(QueueStatus::missed).sum()
    };
    let live = (config.pipelines.iter()).filter_map(|pipeline| pipeline.live.zip(Some(pipeline)));
    let rows = live.zip(&outcome.of_pipelines);
    let rows = rows.map(|((path, pipeline), statistics)| PipelineRow {
        name: pipeline.name.clone(),
        traffic: live_traffic(statistics, missed_at(&config.ports[path.from].name)),
    });
    let pipelines = rows.collect();
    let missed = queues.iter().map(QueueStatus::missed).sum();
    let traffic = live_traffic(&outcome.statistics, missed);
    Report {
        pipelines,
        queues,
        lost_events,
        ..Report::new(traffic, outcome.results, inspection, outcome.recent)
    }
}

impl Report {
    /// The rows that all reports have.
    fn new(
        traffic: Traffic,
        results: Results,
        inspection: InspectSnapshot,
        recent: Recent,
    ) -> Report {
        let InspectSnapshot { statistics, groups } = inspection;
        Report {
            traffic,
            pipelines: Vec::new(),
            queues: Vec::new(),
            lost_events: 0,
            alerts: statistics.alerts,
            alerts_by_rule: results.alerts.iter().cloned().collect(),
            protected: results.protected + results.fabric.protected,
            unprotected: results.unprotected + results.fabric.unprotected,
            bypassed: results.bypassed + results.fabric.passed,
            queue_pairs: results.fabric.queue_pairs,
            fabric_alarms: results.fabric.alarms,
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
}
