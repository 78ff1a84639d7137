//! `weir-lab experiment`.

use std::process::ExitCode;

use serde::Serialize;
use weir_console::{Failure, Outcome, table};
use weir_lab::stream_processor::experiments::{self, Finding};

use super::results::Results;
use super::{machine, unknown};
use crate::cli;

/// What was found.
#[derive(Serialize)]
struct Row<'a> {
    experiment: &'a str,
    setting: &'a str,
    quantity: &'a str,
    value: f64,
    unit: &'a str,
}

pub fn experiment(arguments: &cli::Experiment) -> Outcome<ExitCode> {
    let found = experiments::experiment(&arguments.name)
        .ok_or_else(|| unknown("experiment", &arguments.name))?;
    let machine = machine(&arguments.machine)?;
    let results = Results::asked_for(&arguments.places)?;
    let findings = (found.run)(&machine).map_err(Failure::usage)?;
    let rows: Vec<Row<'_>> = findings.iter().map(|it| row(found.name, it)).collect();
    results.show(&rows, || {
        let cells = |row: &Row<'_>| {
            vec![
                row.setting.to_owned(),
                row.quantity.to_owned(),
                format!("{:.2}", row.value),
                row.unit.to_owned(),
            ]
        };
        let header = ["setting", "quantity", "value", "unit"];
        let rows = rows.iter().map(cells).collect();
        table::wrapped(found.about, &header, &[2], rows)
    })
}

fn row<'a>(experiment: &'a str, finding: &'a Finding) -> Row<'a> {
    Row {
        experiment,
        setting: &finding.setting,
        quantity: finding.quantity,
        value: finding.value,
        unit: finding.unit,
    }
}
