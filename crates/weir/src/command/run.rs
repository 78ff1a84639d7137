//! `weir run` and `weir check`.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use weir_console::{Outcome, messages, output, table};
use weir_gateway::{Config, Finished, Gateway, Options, Report};
use weir_measure::Value;
use weir_packet::wire::KeyKind;

use crate::cli::{Check, Run};
use crate::failure::failure;
use crate::operate::operate;
#[cfg(target_os = "linux")]
use crate::privileges;
use crate::{rules, tables};

pub fn run(arguments: &Run) -> Outcome<ExitCode> {
    let mut config = Config::load(&arguments.config).map_err(failure)?;
    config.allow_new_keys(&arguments.new_keys.new_key);
    #[cfg(target_os = "linux")]
    if config.is_live() {
        privileges::keep_those_of_ports()?;
    }
    let json = arguments.common.json.as_deref();
    let quiet = arguments.common.quiet;
    let gateway = Gateway::from_config(
        config,
        &Options {
            shards: usize::from(arguments.shards.workers),
            allow_insecure_permissions: arguments.allow_insecure_permissions,
            output: json.map(Path::to_owned),
            cpus: arguments.serving.cpus.clone(),
        },
    );
    let gateway = gateway.map_err(failure)?;
    if let Some(loaded) = gateway.loaded_rules()
        && !quiet
    {
        rules::tell_skipped(loaded, false);
    }
    let documents = gateway.config().documents(json);
    let documents = documents.into_iter().map(output::Document::create);
    let documents = documents.collect::<Outcome<Vec<_>>>()?;
    let uses_stdout = gateway.config().uses_stdout();
    let measured = gateway.config().measure.as_ref();
    let measured = measured.map(|measure| (measure.key, measure.value));
    let Finished { report, defect, .. } = operate(gateway, &arguments.serving, quiet)?;
    for json in documents {
        json.write("run", &report)?;
    }
    if !quiet {
        let text = summary(measured, &report);
        if uses_stdout {
            messages::show(&text);
        } else if arguments.common.shows_tables() {
            output::write_stdout(text.as_bytes())?;
        }
    }
    match defect {
        Some(error) => Err(failure(error)),
        None => Ok(ExitCode::SUCCESS),
    }
}

pub fn check(arguments: &Check) -> Outcome<ExitCode> {
    let mut config = Config::load(&arguments.config).map_err(failure)?;
    config.allow_new_keys(&arguments.new_keys.new_key);
    let options = Options {
        allow_insecure_permissions: arguments.allow_insecure_permissions,
        output: arguments.common.json.clone(),
        ..Options::default()
    };
    let found = Gateway::check(config, &options).map_err(failure)?;
    let json = output::Document::asked_for(&arguments.common)?;
    #[derive(Serialize)]
    struct Checked {
        pipelines: Vec<String>,
        rules_loaded: u64,
        rules_skipped: u64,
    }
    let load = found.rules.as_ref();
    let checked = Checked {
        pipelines: found.pipelines,
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

/// What a person reads at the end of a run.
fn summary(measured: Option<(KeyKind, Value)>, document: &Report) -> String {
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
    text += &tables::alerts_table(&document.alerts_by_rule);
    if let Some((key, value)) = measured {
        for interval in &document.intervals {
            text += &super::measure::interval_table(key, &value.to_string(), interval);
        }
    }
    text += &tables::associations_table(&document.associations);
    text + &table::table(
        "whole run",
        &[],
        &[],
        [
            tables::traffic_rows(&document.traffic),
            done,
            tables::speed_rows(&document.traffic),
        ]
        .concat(),
    )
}
