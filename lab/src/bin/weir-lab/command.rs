//! One module per command; `list` is here.

use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Failure, Outcome, manual, table};
use weir_lab::shared::model::{self, Model, WORK_PREFIX, WorkKey, Workload};
use weir_lab::shared::parameters::Parameters;
use weir_lab::stream_processor::experiments::experiments;
use weir_lab::stream_processor::machine::{BUILT_IN, Machine};

use results::Results;

use crate::cli::{Cli, Command, Inputs, List, MachineChoice};

mod captures;
mod cost;
mod experiment;
mod files;
mod lengths;
mod reproduce;
mod results;
mod run;
mod schedule;
mod sensitivity;
mod sweep;

/// Does what the command line asks for.
pub fn dispatch(cli: Cli) -> Outcome<ExitCode> {
    match cli.command {
        Command::List(arguments) => list(&arguments),
        Command::Schedule(arguments) => schedule::schedule(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Cost(arguments) => cost::cost(&arguments),
        Command::Experiment(arguments) => experiment::experiment(&arguments),
        Command::Lengths(arguments) => lengths::lengths(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Sensitivity(arguments) => sensitivity::sensitivity(&arguments),
        Command::Completions(arguments) => manual::completions::<Cli>(&arguments),
        Command::Man(arguments) => manual::man::<Cli>(&arguments, &[]),
    }
}

/// The stream processor of the command line.
fn machine(choice: &MachineChoice) -> Outcome<Machine> {
    let name = choice.machine.as_deref().unwrap_or(BUILT_IN[0].0);
    let changes = assignments(&choice.changes)?;
    Machine::load(name, &changes).map_err(Failure::usage)
}

/// The workload of that name, or of that file, with the settings of the command line,
/// its model, and the machine that it runs on.
fn workload(
    name: &str,
    choice: &MachineChoice,
    inputs: &Inputs,
) -> Outcome<(&'static dyn Model, Parameters, Workload)> {
    let kind_of = |model: &'static dyn Model| {
        let mut kinds = model.workloads().into_iter();
        let of_file = (model.file_kind()).filter(|(_, ending)| name.ends_with(ending));
        (kinds.find(|kind| kind.name == name)).or(of_file.map(|(kind, _)| kind))
    };
    let found = weir_lab::models().into_iter().find_map(|model| {
        let (machine, _) = model.machines().first()?;
        kind_of(model).map(|_| *machine)
    });
    let default = found.ok_or_else(|| unknown("program or kernel", name))?;
    let (model, machine) = parameters(choice.machine.as_deref().unwrap_or(default))?;
    let Some(kind) = kind_of(model) else {
        return Err(Failure::usage(anyhow!(
            "{name} does not run on {}, a machine of the model {}",
            machine.name(),
            model.name()
        )));
    };
    let (of_work, of_machine): (Vec<_>, Vec<_>) = assignments(&choice.changes)?
        .into_iter()
        .partition(|(key, _)| key.starts_with(WORK_PREFIX));
    let machine = machine.with(&of_machine).map_err(Failure::usage)?;
    model.check(&machine).map_err(Failure::usage)?;
    let workload = if kind.name == name {
        files::no_inputs(name, &inputs.inputs)?;
        Workload::new(kind)
    } else {
        Workload::of_file(kind, files::work_file(name, &inputs.inputs)?)
    };
    let workload = workload.with(&of_work).map_err(failure)?;
    Ok((model, machine, workload))
}

/// What the user can mend is an error of the command line.
fn failure(error: model::Failure) -> Failure {
    match error {
        model::Failure::Parameters(_) | model::Failure::Workload(_) => Failure::usage(error),
        model::Failure::Run(_) => Failure::running(error),
    }
}

/// The keys and values of `--set`.
fn assignments(arguments: &[String]) -> Outcome<Vec<(String, f64)>> {
    let assignment = |argument: &String| {
        let (key, value) = key_and_value(argument)?;
        Ok((key.to_owned(), number(argument, value)?))
    };
    arguments.iter().map(assignment).collect()
}

/// The machine of that name or file, and the model that it is for.
fn parameters(name: &str) -> Outcome<(&'static dyn Model, Parameters)> {
    let models = weir_lab::models();
    let built_in: Vec<(&str, &str)> = models
        .iter()
        .flat_map(|model| model.machines().iter().copied())
        .collect();
    let parameters = Parameters::load(name, &built_in).map_err(Failure::usage)?;
    let model = models
        .iter()
        .copied()
        .find(|model| model.name() == parameters.model());
    let Some(model) = model else {
        return Err(Failure::usage(anyhow!(
            "{name}: there is no model {}",
            parameters.model()
        )));
    };
    model.check(&parameters).map_err(Failure::usage)?;
    Ok((model, parameters))
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
        "no {what} is called {name}: `weir-lab list` prints all names"
    ))
}

/// A line of `weir-lab list`.
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
    /// The range that it may be in, where its entry declares one.
    range: Option<[f64; 2]>,
    source: String,
}

fn list(arguments: &List) -> Outcome<ExitCode> {
    let results = Results::asked_for(&arguments.places)?;
    if let Some(name) = &arguments.machine {
        let (_, machine) = parameters(name)?;
        let rows: Vec<ParameterRow> = machine
            .iter()
            .map(|(key, parameter)| ParameterRow {
                key: key.to_owned(),
                value: parameter.value,
                range: parameter.range,
                source: parameter.source.clone(),
            })
            .collect();
        let cells = |row: &ParameterRow| {
            let range = row.range.map(|[least, most]| format!("{least} to {most}"));
            vec![
                row.key.clone(),
                row.value.to_string(),
                range.unwrap_or_default(),
                row.source.clone(),
            ]
        };
        let header = ["parameter", "value", "range", "source"];
        return results.show(&rows, || {
            let rows = rows.iter().map(cells).collect();
            table::wrapped(&format!("machine {name}"), &header, &[1, 2], rows)
        });
    }
    let models = weir_lab::models();
    let kinds = models.iter().flat_map(|model| model.workloads());
    let workloads = kinds.map(|kind| Item {
        kind: kind.kind,
        name: kind.name.to_owned(),
        about: kind.about.to_owned(),
        source: kind.source.to_owned(),
    });
    let mut keys: Vec<WorkKey> = Vec::new();
    let kinds = models.iter().flat_map(|model| model.workloads());
    for key in kinds.flat_map(|kind| kind.keys) {
        if !keys.contains(key) {
            keys.push(*key);
        }
    }
    let keys = keys.iter().map(|key| Item {
        kind: "workload",
        name: key.key.to_owned(),
        about: format!(
            "{}; {} to {}, by default {}",
            key.about, key.least, key.most, key.default
        ),
        source: String::new(),
    });
    let experiments = experiments().into_iter().map(|entry| Item {
        kind: "experiment",
        name: entry.name.to_owned(),
        about: entry.about.to_owned(),
        source: entry.source.to_owned(),
    });
    let built_in = models.iter().flat_map(|model| {
        let names = model.machines().iter().map(|(name, _)| *name);
        names.map(|name| (name, model.name()))
    });
    let machines = built_in.map(|(name, model)| Item {
        kind: "machine",
        name: name.to_owned(),
        about: format!("{model}; `weir-lab list --machine {name}` prints its parameters"),
        source: String::new(),
    });
    let items: Vec<Item> = workloads
        .chain(keys)
        .chain(experiments)
        .chain(machines)
        .collect();
    results.show(&items, || {
        ["program", "kernel", "workload", "experiment", "machine"]
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
