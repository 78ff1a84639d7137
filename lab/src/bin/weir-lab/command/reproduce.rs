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
    ReproduceError, Row, frozen, page, published, reproduce as rows_of, tally,
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
    /// The value when the model was frozen, and its verdict.
    frozen: Option<&'a str>,
    frozen_verdict: Option<&'static str>,
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
    let frozen = frozen(model, &arguments.ids).map_err(failure)?;
    let as_json: Vec<JsonRow<'_>> = rows.iter().map(|row| json_row(row, &frozen)).collect();
    results.show_with_file(
        &as_json,
        || tables(&rows, &frozen, arguments.notes),
        || page(model, &machine, &changes, &rows, &frozen).map_err(super::failure),
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

/// The same row when the model was frozen.
fn same<'a>(row: &Row, frozen: &'a [Row]) -> Option<&'a Row> {
    let mut frozen = frozen.iter();
    frozen.find(|then| then.published.id == row.published.id)
}

fn json_row<'a>(row: &'a Row, frozen: &'a [Row]) -> JsonRow<'a> {
    let then = same(row, frozen);
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
        frozen: then.and_then(|then| then.modelled.as_deref()),
        frozen_verdict: then.map(|then| then.verdict.name()),
        unit: &row.published.unit,
        error_percent: row.error_percent,
        tolerance_percent: row.tolerance_percent(),
        fitted: row.entry.fitted,
        verdict: row.verdict.name(),
        note: row.entry.note,
    }
}

fn tables(rows: &[Row], frozen: &[Row], with_notes: bool) -> String {
    const HEADER: [&str; 7] = [
        "row",
        "quantity",
        "published",
        "modelled",
        "frozen",
        "error %",
        "verdict",
    ];
    let cells = |row: &Row| {
        let published = &row.published;
        let fitted = if row.entry.fitted { ", fitted" } else { "" };
        let error = row.error_percent.map(|error| format!("{error:+.1}"));
        let then = same(row, frozen).and_then(|then| then.modelled.as_ref());
        vec![
            published.id.clone(),
            published.quantity.clone(),
            format!("{} {}", published.value, published.unit),
            row.modelled.clone().unwrap_or_default(),
            then.cloned().unwrap_or_default(),
            error.unwrap_or_default(),
            format!("{}{fitted}", row.verdict.name()),
        ]
    };
    let listed = table::wrapped("", &HEADER, &[5], rows.iter().map(cells).collect());
    let notes = if with_notes {
        notes(rows)
    } else {
        String::new()
    };

    let of = |[some, all]: [usize; 2]| format!("{some} of {all}");
    let counts = tally(rows)
        .into_iter()
        .zip(tally(frozen))
        .map(|(line, then)| {
            let now = [of(line.rows), of(line.quantities)];
            let then = [of(then.rows), of(then.quantities)];
            [vec![line.outcome.to_owned()], now.to_vec(), then.to_vec()].concat()
        })
        .collect();
    let header = [
        "outcome",
        "rows",
        "independent quantities",
        "rows when frozen",
        "quantities when frozen",
    ];
    listed + &notes + &table::wrapped("", &header, &[1, 2, 3, 4], counts)
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
