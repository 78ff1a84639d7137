//! `weir lab`: machine models, and what they reproduce.

use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Failure, Outcome, table};
use weir_lab::applications;
use weir_lab::experiments::experiments;
use weir_lab::machine::Machine;

use results::Results;

use crate::cli::lab::{Lab, LabCommand, LabList, MachineChoice};

mod cost;
mod experiment;
mod lengths;
mod reproduce;
mod results;
mod run;
mod schedule;
mod sensitivity;
mod sweep;

pub fn lab(arguments: &Lab) -> Outcome<ExitCode> {
    match &arguments.command {
        LabCommand::List(arguments) => list(arguments),
        LabCommand::Schedule(arguments) => schedule::schedule(arguments),
        LabCommand::Run(arguments) => run::run(arguments),
        LabCommand::Cost(arguments) => cost::cost(arguments),
        LabCommand::Experiment(arguments) => experiment::experiment(arguments),
        LabCommand::Lengths(arguments) => lengths::lengths(arguments),
        LabCommand::Sweep(arguments) => sweep::sweep(arguments),
        LabCommand::Reproduce(arguments) => reproduce::reproduce(arguments),
        LabCommand::Sensitivity(arguments) => sensitivity::sensitivity(arguments),
    }
}

/// The machine of the command line.
fn machine(choice: &MachineChoice) -> Outcome<Machine> {
    let mut changes: Vec<(String, f64)> = Vec::new();
    for (key, value) in [
        ("cluster.adders", choice.adders),
        ("cluster.scratchpads", choice.scratchpads),
        ("clusters", choice.clusters),
    ] {
        changes.extend(value.map(|value| (key.to_owned(), f64::from(value))));
    }
    for change in &choice.changes {
        let (key, value) = key_and_value(change)?;
        changes.push((key.to_owned(), number(change, value)?));
    }
    Machine::load(&choice.machine, &changes).map_err(Failure::usage)
}

/// The halves of `KEY=VALUE`.
fn key_and_value(argument: &str) -> Outcome<(&str, &str)> {
    argument
        .split_once('=')
        .ok_or_else(|| Failure::usage(anyhow!("{argument}: write KEY=VALUE")))
}

fn number(argument: &str, value: &str) -> Outcome<f64> {
    value
        .parse()
        .map_err(|_| Failure::usage(anyhow!("{argument}: {value} is not a number")))
}

/// A name of the command line that nothing has.
fn unknown(what: &str, name: &str) -> Failure {
    Failure::usage(anyhow!(
        "no {what} is called {name}: `weir lab list` prints all names"
    ))
}

/// A line of `weir lab list`.
#[derive(Serialize)]
struct Item {
    kind: &'static str,
    name: String,
    about: String,
    source: String,
}

/// A parameter of a machine.
#[derive(Serialize)]
struct ParameterRow {
    key: String,
    value: f64,
    source: String,
}

fn list(arguments: &LabList) -> Outcome<ExitCode> {
    let results = Results::asked_for(&arguments.places)?;
    if let Some(name) = &arguments.machine {
        let machine = Machine::load(name, &[]).map_err(Failure::usage)?;
        let rows: Vec<ParameterRow> = machine
            .parameters()
            .iter()
            .map(|(key, parameter)| ParameterRow {
                key: key.to_owned(),
                value: parameter.value,
                source: parameter.source.clone(),
            })
            .collect();
        let cells =
            |row: &ParameterRow| vec![row.key.clone(), row.value.to_string(), row.source.clone()];
        let header = ["parameter", "value", "source"];
        return results.show(&rows, || {
            let rows = rows.iter().map(cells).collect();
            table::wrapped(&format!("machine {name}"), &header, &[1], rows)
        });
    }
    let kernels = applications::kernels().into_iter().map(|entry| Item {
        kind: "kernel",
        name: entry.name.to_owned(),
        about: entry.about.to_owned(),
        source: entry.source.to_owned(),
    });
    let programs = applications::programs().into_iter().map(|entry| Item {
        kind: "program",
        name: entry.name.to_owned(),
        about: entry.about.to_owned(),
        source: entry.source.to_owned(),
    });
    let experiments = experiments().into_iter().map(|entry| Item {
        kind: "experiment",
        name: entry.name.to_owned(),
        about: entry.about.to_owned(),
        source: entry.source.to_owned(),
    });
    let machines = Machine::names().into_iter().map(|name| Item {
        kind: "machine",
        name: name.to_owned(),
        about: format!("`weir lab list --machine {name}` prints its parameters"),
        source: String::new(),
    });
    let items: Vec<Item> = programs
        .chain(kernels)
        .chain(experiments)
        .chain(machines)
        .collect();
    results.show(&items, || {
        ["program", "kernel", "experiment", "machine"]
            .map(|kind| section(&items, kind))
            .concat()
    })
}

/// The items of a kind. Sources are sections of one thesis, whose name the title
/// has.
fn section(items: &[Item], kind: &str) -> String {
    const THESIS: &str = "Lai 2006, ";
    let rows = items.iter().filter(|item| item.kind == kind).map(|item| {
        let source = item.source.strip_prefix(THESIS).unwrap_or(&item.source);
        vec![item.name.clone(), item.about.clone(), source.to_owned()]
    });
    let header = [kind, "purpose", "Lai 2006"];
    table::wrapped("", &header, &[], rows.collect())
}
