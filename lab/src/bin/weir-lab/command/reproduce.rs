//! `weir-lab reproduce`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::anyhow;
use serde::Serialize;
use weir_console::progress::Bar;
use weir_console::{Failure, Outcome, table};
use weir_lab::shared::model::{Effort, Model};
use weir_lab::shared::parameters::Parameters;
use weir_lab::shared::reproduce::{
    ReproduceError, Row, page, published, reproduce as rows_of, tally,
};

use super::results::Results;
use super::{assignments, parameters};
use crate::cli;

/// A row as scripts see it.
#[derive(Serialize)]
struct JsonRow<'a> {
    id: &'a str,
    #[serde(rename = "where")]
    place: &'a str,
    statement: &'a str,
    /// The independent quantity; rows that measure one share it.
    quantity: &'a str,
    conditions: &'a str,
    /// The workload and the settings of the machine.
    workload: &'a str,
    class: &'static str,
    published: &'a str,
    modelled: Option<&'a str>,
    unit: &'a str,
    error_percent: Option<f64>,
    tolerance_percent: Option<f64>,
    fitted: bool,
    verdict: &'static str,
    note: &'a str,
}

pub fn reproduce(arguments: &cli::Reproduce) -> Outcome<ExitCode> {
    let results = Results::with_file(&arguments.places, arguments.html.as_deref())?;
    let changes = assignments(&arguments.machine.changes)?;
    let (model, machine) = machine_of(&arguments.machine, &arguments.ids)?;
    let done = Arc::new(AtomicUsize::new(0));
    let count = match arguments.ids.len() {
        0 => model.published().lines().count().saturating_sub(1),
        ids => ids,
    };
    let bar = Bar::count(count, arguments.places.common.quiet, &done);
    let effort = effort(arguments.short);
    let rows = rows_of(model, &machine, &changes, &arguments.ids, effort, |now| {
        done.store(now, Ordering::Relaxed);
    })
    .map_err(failure)?;
    drop(bar);
    let as_json: Vec<JsonRow<'_>> = rows.iter().map(json_row).collect();
    results.show_with_file(
        &as_json,
        || tables(&rows, arguments.notes),
        || page(model, &machine, &changes, &rows).map_err(super::failure),
    )
}

/// The model whose rows are meant, and its machine: that of `--machine`, or the
/// one that has the first of the ids.
fn machine_of(
    choice: &cli::MachineChoice,
    ids: &[String],
) -> Outcome<(&'static dyn Model, Parameters)> {
    if let Some(name) = &choice.machine {
        return parameters(name);
    }
    let models = weir_lab::models();
    let has = |model: &&'static dyn Model| {
        ids.first().is_none_or(|id| {
            let rows = published(model.published());
            rows.is_ok_and(|rows| rows.iter().any(|row| row.id == *id))
        })
    };
    // An id that no model has is an error of the first one, which lists its rows.
    let model = models.iter().copied().find(has).or(models.first().copied());
    let machine = model.and_then(|model| model.machines().first());
    machine.map_or_else(
        || Err(Failure::usage(anyhow!("there is no model with a machine"))),
        |(name, _)| parameters(name),
    )
}

/// What the user can mend is an error of the command line.
pub(super) fn failure(error: ReproduceError) -> Failure {
    match error {
        ReproduceError::Unknown { .. } => Failure::usage(error),
        ReproduceError::Model(error) => super::failure(error),
        ReproduceError::Registry(_) => Failure::running(error),
    }
}

pub(super) fn effort(short: bool) -> Effort {
    if short { Effort::Short } else { Effort::Full }
}

fn json_row(row: &Row) -> JsonRow<'_> {
    JsonRow {
        id: &row.published.id,
        place: &row.published.place,
        statement: &row.published.quantity,
        quantity: row.quantity(),
        conditions: &row.published.conditions,
        workload: row.entry.workload,
        class: row.entry.class.name(),
        published: &row.published.value,
        modelled: row.modelled.as_deref(),
        unit: &row.published.unit,
        error_percent: row.error_percent,
        tolerance_percent: row.tolerance_percent(),
        fitted: row.entry.fitted,
        verdict: row.verdict.name(),
        note: row.entry.note,
    }
}

fn tables(rows: &[Row], with_notes: bool) -> String {
    const HEADER: [&str; 6] = [
        "row",
        "quantity",
        "published",
        "modelled",
        "error %",
        "verdict",
    ];
    let cells = |row: &Row| {
        let published = &row.published;
        let fitted = if row.entry.fitted { ", fitted" } else { "" };
        let error = row.error_percent.map(|error| format!("{error:+.1}"));
        vec![
            published.id.clone(),
            published.quantity.clone(),
            format!("{} {}", published.value, published.unit),
            row.modelled.clone().unwrap_or_default(),
            error.unwrap_or_default(),
            format!("{}{fitted}", row.verdict.name()),
        ]
    };
    let listed = table::wrapped("", &HEADER, &[4], rows.iter().map(cells).collect());
    let notes = if with_notes {
        notes(rows)
    } else {
        String::new()
    };

    let of = |[some, all]: [usize; 2]| format!("{some} of {all}");
    let counts = tally(rows)
        .into_iter()
        .map(|line| vec![line.outcome.to_owned(), of(line.rows), of(line.quantities)])
        .collect();
    let header = ["outcome", "rows", "independent quantities"];
    listed + &notes + &table::wrapped("", &header, &[1, 2], counts)
}

/// The notes, each after the rows that have it.
fn notes(rows: &[Row]) -> String {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows.iter().filter(|row| !row.entry.note.is_empty()) {
        let (note, id) = (row.entry.note, row.published.id.as_str());
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, ids)) => ids.push(id),
            None => notes.push((note, vec![id])),
        }
    }
    let paragraphs: String = notes
        .iter()
        .map(|(note, ids)| table::paragraph("  ", &format!("{}: {note}", ids.join(", "))))
        .collect();
    format!("notes\n{paragraphs}\n")
}
