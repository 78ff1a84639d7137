//! `weir-lab reproduce`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use weir_console::progress::Bar;
use weir_console::{Failure, Outcome, table};
use weir_lab::reproduce::{Effort, ReproduceError, Row, page, reproduce as rows_of, tally};

use super::results::Results;
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
    let results = Results::with_page(&arguments.places, arguments.html.as_deref())?;
    let effort = effort(arguments.short);
    let done = Arc::new(AtomicUsize::new(0));
    let count = if arguments.ids.is_empty() {
        weir_lab::reproduce::published().len()
    } else {
        arguments.ids.len()
    };
    let bar = Bar::count(count, arguments.places.common.quiet, &done);
    let rows = rows_of(&arguments.ids, effort, |now, _| {
        done.store(now, Ordering::Relaxed);
    })
    .map_err(|error| match error {
        ReproduceError::Unknown { .. } => Failure::usage(error),
        _ => Failure::running(error),
    })?;
    drop(bar);
    let as_json: Vec<JsonRow<'_>> = rows.iter().map(json_row).collect();
    results.show_with_page(
        &as_json,
        || tables(&rows),
        || page(&rows).map_err(Failure::running),
    )
}

pub(super) fn effort(short: bool) -> Effort {
    if short { Effort::SHORT } else { Effort::FULL }
}

fn json_row(row: &Row) -> JsonRow<'_> {
    JsonRow {
        id: &row.published.id,
        place: &row.published.place,
        statement: &row.published.quantity,
        quantity: row.quantity(),
        conditions: &row.published.conditions,
        class: row.class.name(),
        published: &row.published.value,
        modelled: row.modelled.as_deref(),
        unit: &row.published.unit,
        error_percent: row.error_percent,
        tolerance_percent: row.tolerance_percent,
        fitted: row.fitted,
        verdict: row.verdict.name(),
        note: &row.note,
    }
}

fn tables(rows: &[Row]) -> String {
    const HEADER: [&str; 7] = [
        "row",
        "quantity",
        "published",
        "modelled",
        "error %",
        "verdict",
        "note",
    ];
    // Rows with the same note share its number.
    let mut notes: Vec<&str> = Vec::new();
    let mut cells = Vec::with_capacity(rows.len());
    for row in rows {
        let note = match row.note.as_str() {
            "" => String::new(),
            note => {
                let known = notes.iter().position(|known| *known == note);
                let index = known.unwrap_or(notes.len());
                if known.is_none() {
                    notes.push(note);
                }
                (index + 1).to_string()
            }
        };
        let published = &row.published;
        let fitted = if row.fitted { ", fitted" } else { "" };
        cells.push(vec![
            published.id.clone(),
            published.quantity.clone(),
            format!("{} {}", published.value, published.unit),
            row.modelled.clone().unwrap_or_default(),
            row.error_percent
                .map_or(String::new(), |error| format!("{error:+.1}")),
            format!("{}{fitted}", row.verdict.name()),
            note,
        ]);
    }
    let listed = table::wrapped("", &HEADER, &[4, 6], cells);
    let notes: String = notes
        .iter()
        .enumerate()
        .map(|(index, note)| table::paragraph(&format!("{:3}  ", index + 1), note))
        .collect();
    let notes = match notes.as_str() {
        "" => String::new(),
        notes => format!("notes\n{notes}\n"),
    };

    let of = |[some, all]: [usize; 2]| format!("{some} of {all}");
    let counts = tally(rows)
        .into_iter()
        .map(|line| vec![line.outcome.to_owned(), of(line.rows), of(line.quantities)])
        .collect();
    let header = ["outcome", "rows", "independent quantities"];
    listed + &notes + &table::table("", &header, &[1, 2], counts)
}
