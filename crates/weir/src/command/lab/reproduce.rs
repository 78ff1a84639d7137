//! `weir lab reproduce`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use weir_lab::reproduce::{Effort, ReproduceError, Row, page, reproduce as rows_of, summary};

use super::results::Results;
use crate::cli::lab::LabReproduce;
use crate::failure::{Failure, Outcome};
use crate::progress::Bar;
use crate::report::table;

/// A row as scripts see it.
#[derive(Serialize)]
struct JsonRow<'a> {
    id: &'a str,
    #[serde(rename = "where")]
    place: &'a str,
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

pub fn reproduce(arguments: &LabReproduce) -> Outcome<ExitCode> {
    let results = Results::with_page(&arguments.places, arguments.html.as_deref())?;
    let effort = if arguments.short {
        Effort::SHORT
    } else {
        Effort::FULL
    };
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
        ReproduceError::Unknown(_) => Failure::usage(error),
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

fn json_row(row: &Row) -> JsonRow<'_> {
    JsonRow {
        id: &row.published.id,
        place: &row.published.place,
        quantity: &row.published.quantity,
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
    const ERROR: usize = 6;
    let cells = rows.iter().map(|row| row.cells().to_vec()).collect();
    let listed = table::table("", &Row::HEADER, &[ERROR], cells);

    let summary = summary(rows)
        .into_iter()
        .map(|(name, count)| vec![name, count])
        .collect();
    listed + &table::table("rows", &[], &[], summary)
}
