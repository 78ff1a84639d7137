//! `weir inspect`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use toml::{Table, Value};
use weir_console::output::Document;
use weir_console::{Failure, Outcome, messages, output, table};
use weir_gateway::{
    Execution, Gateway, LoadedRules, MetricsFile, Options, Reopen, RuleSource, Traffic,
};
use weir_inspect::{
    AlertCounts, AlertedPackets, Checksums, EveWriter, FlowLimits, InspectOptions, InspectSnapshot,
    InspectStage, InspectSummary, LiveRules, ProfileStage, ProfiledRule, RuleCost, RuleSet, Vlans,
};
use weir_match::{EngineChoice, Profile};
use weir_stream::{Pipeline, Stage, StopFlag};

use super::live;
use crate::cli::Inspect;
use crate::execute::{execute, execute_telling};
use crate::failure::failure;
use crate::operate::operate;
use crate::tables::{self, alerts_table, inspection_tables, profile_table};
use crate::{rules, signals};

pub fn inspect(arguments: &Inspect) -> Outcome<ExitCode> {
    match (&arguments.interface, &arguments.train) {
        (Some(interface), _) => sensor(arguments, interface),
        (None, Some(path)) => train(arguments, path),
        (None, None) => alerts(arguments),
    }
}

/// Inspects an interface until interrupted.
fn sensor(arguments: &Inspect, interface: &str) -> Outcome<ExitCode> {
    let json = arguments.common.json.as_deref();
    let quiet = arguments.common.quiet;
    let eve = (arguments.eve.as_deref())
        .or_else(|| (json != Some(Path::new("-"))).then_some(Path::new("-")));
    let mut set = Table::new();
    for definition in &arguments.variables {
        let (name, value) = definition.split_once('=').ok_or_else(|| {
            Failure::usage(anyhow!("{definition}: give a variable as NAME=VALUE"))
        })?;
        set.insert(name.to_owned(), value.into());
    }
    let mut settings = live::table([
        ("rules", live::paths(&arguments.rules)?),
        ("allow_empty", arguments.allow_empty.into()),
        ("set", Value::Table(set)),
    ]);
    for (key, path) in [
        ("classification", arguments.classification.as_deref()),
        ("alerts", eve),
        ("prometheus", arguments.prometheus.as_deref()),
    ] {
        if let Some(path) = path {
            settings.insert(key.to_owned(), live::path(path)?);
        }
    }
    #[cfg(target_os = "linux")]
    crate::privileges::keep_those_of_ports()?;
    let config = live::sensor(interface, "inspect", settings)?;
    let gateway = Gateway::from_config(
        config,
        &Options {
            shards: usize::from(arguments.shards.workers),
            output: json.map(Path::to_owned),
            cpus: arguments.serving.cpus.clone(),
            ..Options::default()
        },
    );
    let gateway = gateway.map_err(failure)?;
    let load = gateway.loaded_rules().cloned().unwrap_or_default();
    if arguments.show_skipped || !quiet {
        rules::tell_skipped(&load, arguments.show_skipped);
    }
    let document = Document::asked_for(&arguments.common)?;
    let handle = gateway.handle();
    let finished = operate(gateway, &arguments.serving, quiet)?;
    let InspectSnapshot { statistics, groups } = handle.inspection().unwrap_or_default();
    let summary = InspectSummary {
        read: finished.report.traffic.read,
        groups,
        interrupted: true,
        ..InspectSummary::new(&load, statistics, &finished.statistics)
    };
    if let Some(document) = document {
        document.write("inspect", &summary)?;
    }
    if !quiet {
        let traffic = &finished.report.traffic;
        let text = alerts_table(&finished.report.alerts_by_rule)
            + &inspection_tables(&statistics, &summary.groups)
            + &table::table(
                "whole run",
                &[],
                &[],
                [tables::traffic_rows(traffic), tables::speed_rows(traffic)].concat(),
            );
        messages::show(&text);
    }
    Ok(ExitCode::SUCCESS)
}

fn alerts(arguments: &Inspect) -> Outcome<ExitCode> {
    let engine = EngineChoice {
        kind: arguments.engine,
        profile: arguments
            .traffic_profile
            .as_deref()
            .map(read_profile)
            .transpose()?,
    };
    let rule_source = RuleSource {
        paths: arguments.rules.clone(),
        definitions: arguments.variables.clone(),
        classification: arguments.classification.clone(),
        engine,
        allows_empty: arguments.allow_empty,
    };
    let LoadedRules { live, report: load } = rule_source.load().map_err(failure)?;
    if arguments.explain_plan {
        live.current().explain().lines().for_each(messages::notice);
    }
    if arguments.show_skipped || !arguments.common.quiet {
        rules::tell_skipped(&load, arguments.show_skipped);
    }
    let inputs: Vec<&Path> = arguments
        .inputs
        .iter()
        .chain(&arguments.rules)
        .chain(&arguments.classification)
        .map(PathBuf::as_path)
        .collect();
    let json = arguments.common.json.as_deref();
    let eve = (arguments.eve.as_deref())
        .or_else(|| (json != Some(Path::new("-"))).then_some(Path::new("-")));
    let alerted_pcap = arguments.alerted_pcap.as_deref();
    let prometheus = arguments.prometheus.as_deref();
    let outputs: Vec<&Path> = (eve.into_iter())
        .chain(json)
        .chain(alerted_pcap)
        .chain(prometheus)
        .collect();
    output::keep_apart(&inputs, &outputs)?;
    let (source, watched) = weir_gateway::open(&arguments.inputs).map_err(failure)?;
    let chains = (0..arguments.shards.workers)
        .map(|_| vec![Box::new(stage(&live, arguments)) as Box<dyn Stage>])
        .collect();
    let document = Document::asked_for(&arguments.common)?;
    signals::on_reload({
        let live = Arc::clone(&live);
        move || rules::tell_rules_reloaded(rule_source.reload(&live))
    })?;
    let reopen = Reopen::default();
    signals::on_reopen({
        let reopen = reopen.clone();
        move || reopen.request()
    })?;
    let stop = StopFlag::default();
    let mut pipeline = Pipeline::new(source).shards(chains).stop_flag(stop.clone());
    if let Some(path) = eve {
        pipeline = pipeline.sink(open_lines(path, &reopen)?);
    }
    if let Some(path) = alerted_pcap {
        pipeline = pipeline.sink(AlertedPackets::new(
            weir_gateway::create(path).map_err(failure)?,
        ));
    }
    let metrics = prometheus
        .map(|path| MetricsFile::start(path, &live))
        .transpose()
        .map_err(failure)?;
    let quiet = arguments.common.quiet;
    let watched_rules = Arc::clone(&live);
    let note = move || rules::note(&watched_rules.snapshot());
    let mut execution = execute_telling(vec![pipeline], vec![watched], &stop, quiet, note)?;
    if let Some(metrics) = metrics {
        metrics.finish().map_err(failure)?;
    }

    let traffic = Traffic::new(
        &execution.statistics,
        execution.truncated(),
        execution.interrupted(),
    );
    let mut alert_counts = AlertCounts::default();
    for stage in stages(&execution) {
        alert_counts.merge(stage.alert_counts());
    }
    let InspectSnapshot { statistics, groups } = live.snapshot();
    let summary = InspectSummary {
        groups,
        rule_profile: rule_profile(&execution, &live.current()),
        alerted_pcap: (execution.pipelines.iter())
            .flat_map(|pipeline| pipeline.stages::<AlertedPackets>())
            .map(AlertedPackets::statistics)
            .next(),
        interrupted: traffic.interrupted,
        truncated: traffic.truncated,
        ..InspectSummary::new(&load, statistics, &execution.statistics)
    };
    for writer in execution
        .pipelines
        .iter_mut()
        .flat_map(|pipeline| pipeline.stages_mut::<EveWriter>())
    {
        writer.write_document(&summary).map_err(Failure::running)?;
    }
    if let Some(document) = document {
        document.write("inspect", &summary)?;
    }

    // Standard output may carry the alerts: the tables go beside them.
    if !quiet {
        let text = alerts_table(alert_counts.iter())
            + &inspection_tables(&statistics, &summary.groups)
            + &profile_table(summary.rule_profile.as_deref().unwrap_or_default())
            + &table::table(
                "whole run",
                &[],
                &[],
                [tables::traffic_rows(&traffic), tables::speed_rows(&traffic)].concat(),
            );
        messages::show(&text);
    }
    execution.check_captures().map_err(failure)?;
    Ok(ExitCode::SUCCESS)
}

fn stage(rules: &Arc<LiveRules>, arguments: &Inspect) -> InspectStage {
    let options = InspectOptions {
        limits: FlowLimits {
            midstream: arguments.midstream,
            ..FlowLimits::default()
        }
        .shared_by(usize::from(arguments.shards.workers)),
        checksums: if arguments.ignore_checksums {
            Checksums::Ignore
        } else {
            Checksums::Verify
        },
        vlans: if arguments.ignore_vlans {
            Vlans::Ignore
        } else {
            Vlans::Separate
        },
        anomalies_per_second: arguments.anomalies_per_second,
        ..InspectOptions::default()
    };
    let mut stage = InspectStage::following(rules, &options);
    if arguments.rule_costs {
        stage.profile_rules();
    }
    stage
}

fn stages(execution: &Execution) -> impl Iterator<Item = &InspectStage> {
    let pipelines = execution.pipelines.iter();
    pipelines.flat_map(|pipeline| pipeline.stages())
}

/// What the rules cost on all shards together, if that was measured.
fn rule_profile(execution: &Execution, rules: &RuleSet) -> Option<Vec<ProfiledRule>> {
    let mut costs: Option<Vec<RuleCost>> = None;
    for of_stage in stages(execution).filter_map(InspectStage::rule_costs) {
        let sums = costs.get_or_insert_with(|| vec![RuleCost::default(); of_stage.len()]);
        for (sum, cost) in sums.iter_mut().zip(&of_stage) {
            sum.merge(cost);
        }
    }
    costs.map(|costs| ProfiledRule::dearest(rules, &costs))
}

/// Learns which bytes are rare in the payloads of captures.
fn train(arguments: &Inspect, path: &Path) -> Outcome<ExitCode> {
    let inputs: Vec<&Path> = arguments.inputs.iter().map(PathBuf::as_path).collect();
    output::keep_apart(&inputs, &[path])?;
    let (source, watched) = weir_gateway::open(&arguments.inputs).map_err(failure)?;
    let file = Document::create(path)?;
    let stop = StopFlag::default();
    let chain: Vec<Box<dyn Stage>> = vec![Box::new(ProfileStage::default())];
    let pipeline = Pipeline::new(source)
        .shards(vec![chain])
        .stop_flag(stop.clone());
    let quiet = arguments.common.quiet;
    let execution = execute(vec![pipeline], vec![watched], &stop, quiet)?;
    let mut stages = (execution.pipelines.iter()).flat_map(|p| p.stages::<ProfileStage>());
    if let Some(stage) = stages.next() {
        let profile = stage.profile();
        file.write_bytes(&profile.to_bytes())?;
        if !quiet {
            messages::notice(format_args!(
                "{}: a profile of {} bytes of payloads",
                path.display(),
                profile.payload_bytes()
            ));
        }
    }
    execution.check_captures().map_err(failure)?;
    Ok(ExitCode::SUCCESS)
}

fn read_profile(path: &Path) -> Outcome<Arc<Profile>> {
    let name = || format!("cannot read the profile {}", path.display());
    let bytes = std::fs::read(path)
        .with_context(name)
        .map_err(Failure::Usage)?;
    let profile = Profile::from_bytes(&bytes)
        .with_context(name)
        .map_err(Failure::Usage)?;
    Ok(Arc::new(profile))
}

/// Where lines go: standard output, or a file that begins anew and is opened
/// again on SIGHUP.
fn open_lines(path: &Path, reopen: &Reopen) -> Outcome<EveWriter> {
    if path == Path::new("-") {
        return Ok(EveWriter::new(io::stdout()));
    }
    output::require_folder_of(path)?;
    File::create(path)
        .and_then(|_| EveWriter::append_to(path, reopen.flag()))
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(Failure::Usage)
}
