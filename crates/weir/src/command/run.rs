//! `weir run` and `weir check`.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Failure, Outcome, messages, output, table};
use weir_inspect::{
    AlertCount, AlertCounts, FalseCandidates, GroupStatistics, InspectSnapshot, InspectStage,
};
use weir_ipsec::{ClassifyInbound, ClassifyOutbound, Protect, Unprotect};
use weir_measure::IntervalReport;
use weir_stream::{Stage, StopFlag};

use crate::associations::{self, AssociationRow, association_rows};
use crate::cli::{Check, Run};
use crate::config::{Config, MeasureConfig};
use crate::execute::{Execution, execute_telling, was_truncated};
use crate::filter::RuleCount;
use crate::gateway::{self, Shared};
use crate::inspected::{self, MetricsFile};
use crate::measured::Recent;
use crate::report::{self, Traffic};
use crate::rules;

/// The document of `--json` and `[report]`.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    traffic: Traffic,
    /// The same of each pipeline.
    pipelines: Vec<PipelineRow>,
    alerts: u64,
    alerts_by_rule: Vec<AlertCount>,
    protected: u64,
    unprotected: u64,
    bypassed: u64,
    associations: Vec<AssociationRow>,
    filter: Vec<RuleCount>,
    /// The last interval's top keys: of the whole run, where no interval is
    /// set.
    top: Vec<weir_measure::TopRow>,
    /// The newest.
    alarms: Vec<weir_measure::change::Alarm>,
    alarms_total: u64,
    /// The newest.
    intervals: Vec<IntervalReport>,
    intervals_total: u64,
    inspected_payload_bytes: u64,
    candidates: u64,
    false_candidates: u64,
    false_candidates_by_stage: FalseCandidates,
    rule_groups: Vec<GroupStatistics>,
}

/// The accounts of one pipeline.
#[derive(Serialize)]
struct PipelineRow {
    name: String,
    #[serde(flatten)]
    traffic: Traffic,
}

pub fn run(arguments: &Run) -> Outcome<ExitCode> {
    let mut config = Config::load(&arguments.config)?;
    config.allow_new_keys(&arguments.new_keys.new_key);
    let mut shared = Shared::load(&mut config, arguments.allow_insecure_permissions)?;
    if let Some(rules) = &shared.rules
        && !arguments.common.quiet
    {
        rules::tell_skipped(&rules.report, false);
    }
    config.keep_files_apart(
        arguments.common.json.as_deref(),
        &shared.kept_files(&config),
    )?;
    let stop = StopFlag::default();
    let shards = usize::from(arguments.shards.shards);
    let built = gateway::build(&config, &shared, shards, &stop)?;
    let documents = config
        .documents(arguments.common.json.as_deref())
        .into_iter()
        .map(output::Document::create)
        .collect::<Outcome<Vec<_>>>()?;
    let quiet = arguments.common.quiet;
    shared.reload_on_signal()?;
    let inspected = shared.rules.as_ref().map(|rules| Arc::clone(&rules.live));
    let metrics = (config.inspect.as_ref())
        .and_then(|inspect| inspect.prometheus.as_deref())
        .zip(inspected.as_ref())
        .map(|(path, live)| MetricsFile::start(path, live))
        .transpose()?;
    let watched_rules = inspected.clone();
    let note = move || watched_rules.as_deref().map(inspected::note);
    let note = move || note().unwrap_or_default();
    let execution = execute_telling(built.pipelines, built.watched, &stop, quiet, note)?;
    if let Some(metrics) = metrics {
        metrics.finish()?;
    }

    let alert_counts = alert_counts(&execution);
    let mut recent = Recent::default();
    for (collector, of_collector) in &built.collectors {
        // The reports that are still open go to the observer too.
        collector.finish();
        recent.append(of_collector.take());
    }
    if let Some(measured) = &built.measured {
        measured.finish()?;
    }
    let inspection = inspected.map(|live| live.snapshot()).unwrap_or_default();
    let document = document(&config, &execution, inspection, &alert_counts, recent);
    for json in documents {
        json.write("run", &document)?;
    }
    if !quiet {
        let text = tables(&config, &document, &alert_counts);
        if config.uses_stdout() {
            messages::show(&text);
        } else if arguments.common.shows_tables() {
            output::write_stdout(text.as_bytes())?;
        }
    }
    if let Some(error) = associations::ledger_error(&execution.pipelines) {
        return Err(Failure::running(anyhow!("{error}")));
    }
    execution.check_captures()?;
    Ok(ExitCode::SUCCESS)
}

pub fn check(arguments: &Check) -> Outcome<ExitCode> {
    let mut config = Config::load(&arguments.config)?;
    config.allow_new_keys(&arguments.new_keys.new_key);
    let shared = Shared::load(&mut config, arguments.allow_insecure_permissions)?;
    config.keep_files_apart(
        arguments.common.json.as_deref(),
        &shared.kept_files(&config),
    )?;
    config.require_folders(arguments.common.json.as_deref())?;
    for path in config.pipelines.iter().flat_map(|pipeline| &pipeline.read) {
        // What a pipe holds is left to the run.
        if path.as_os_str() != "-" && !path.metadata().is_ok_and(|found| !found.is_file()) {
            weir_packet::file::Reader::open(path).map_err(Failure::usage)?;
        }
    }
    shared.check_state(&config)?;
    let json = output::Document::asked_for(&arguments.common)?;
    #[derive(Serialize)]
    struct Checked {
        pipelines: Vec<String>,
        rules_loaded: u64,
        rules_skipped: u64,
    }
    let load = shared.rules.as_ref().map(|rules| &rules.report);
    let checked = Checked {
        pipelines: config.pipelines.iter().map(|p| p.name.clone()).collect(),
        rules_loaded: load.map_or(0, |load| load.loaded),
        rules_skipped: load.map_or(0, |load| load.skipped.values().sum()),
    };
    if let Some(json) = json {
        json.write("check", &checked)?;
    }
    if !arguments.common.quiet {
        if let Some(load) = load {
            rules::tell_skipped(load, false);
        }
        let count = |number: usize, what: &str| {
            let plural = if number == 1 { "" } else { "s" };
            format!("{} {what}{plural}", table::count(number as u64))
        };
        let rules = load.map(|load| format!(", {}", count(load.loaded as usize, "rule")));
        messages::show(&format!(
            "{}: OK ({}{})\n",
            arguments.config.display(),
            count(checked.pipelines.len(), "pipeline"),
            rules.unwrap_or_default()
        ));
    }
    Ok(ExitCode::SUCCESS)
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

fn document(
    config: &Config,
    execution: &Execution,
    inspection: InspectSnapshot,
    alert_counts: &AlertCounts,
    recent: Recent,
) -> Document {
    let InspectSnapshot { statistics, groups } = inspection;
    let bypassed = stages::<ClassifyOutbound>(execution)
        .map(ClassifyOutbound::bypassed)
        .chain(stages::<ClassifyInbound>(execution).map(ClassifyInbound::bypassed))
        .sum();
    Document {
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
        alerts: statistics.alerts,
        alerts_by_rule: alert_counts.iter().cloned().collect(),
        protected: stages(execution).map(Protect::protected).sum(),
        unprotected: stages(execution).map(Unprotect::unprotected).sum(),
        bypassed,
        associations: association_rows(&execution.pipelines),
        filter: gateway::filter_counts(stages(execution)),
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

/// What a person reads at the end of a run.
fn tables(config: &Config, document: &Document, alerts: &AlertCounts) -> String {
    let row = |name: &str, packets: u64| {
        vec![
            name.to_owned(),
            format!("{} packets", table::count(packets)),
        ]
    };
    let mut done = Vec::new();
    for (name, packets) in [
        ("alerts", document.alerts),
        ("protected", document.protected),
        ("unprotected", document.unprotected),
        ("bypassed", document.bypassed),
    ] {
        if packets > 0 {
            done.push(row(name, packets));
        }
    }
    let mut text = String::new();
    if !document.filter.is_empty() {
        let rows = document
            .filter
            .iter()
            .map(|count| {
                vec![
                    count.rule.clone(),
                    table::count(count.packets),
                    table::bytes(count.bytes),
                ]
            })
            .collect();
        text += &table::table("filter", &["rule", "packets", "bytes"], &[1, 2], rows);
    }
    text += &report::alerts_table(alerts);
    if let Some(MeasureConfig { key, value, .. }) = &config.measure {
        for interval in &document.intervals {
            text += &super::measure::interval_table(*key, &value.to_string(), interval);
        }
    }
    text += &report::associations_table(&document.associations);
    text + &table::table(
        "whole run",
        &[],
        &[],
        [
            report::traffic_rows(&document.traffic),
            done,
            report::speed_rows(&document.traffic),
        ]
        .concat(),
    )
}
