//! `weir-lab sensitivity`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use weir_console::progress::Bar;
use weir_console::{Failure, Outcome, table};
use weir_lab::parallel;
use weir_lab::reproduce::{Effort, Sensitivity, Study, assumptions, sensitivity as study_of};

use super::reproduce::effort;
use super::results::Results;
use crate::cli;

/// A result that changes.
#[derive(Serialize)]
struct JsonRow<'a> {
    parameter: &'a str,
    source: &'a str,
    from: f64,
    to: f64,
    id: &'a str,
    quantity: &'a str,
    before: f64,
    after: f64,
    change_percent: f64,
    flips: bool,
}

pub fn sensitivity(arguments: &cli::Sensitivity) -> Outcome<ExitCode> {
    let results = Results::asked_for(&arguments.places)?;
    let assumed = assumptions(&arguments.parameters).map_err(Failure::usage)?;
    let done = Arc::new(AtomicUsize::new(0));
    let bar = Bar::count(assumed.len(), arguments.places.common.quiet, &done);
    let effort = effort(arguments.short);
    let study = study_of(&assumed, effort, parallel::cores(), || {
        done.fetch_add(1, Ordering::Relaxed);
    })
    .map_err(Failure::running)?;
    drop(bar);
    let rows: Vec<JsonRow<'_>> = study.moved.iter().map(json_row).collect();
    results.show(&rows, || tables(&rows, &study, assumed.len(), effort))
}

fn tables(rows: &[JsonRow<'_>], study: &Study, parameters: usize, effort: Effort) -> String {
    let title = format!(
        "{parameters} parameters, each changed alone; AES runs of {} blocks, as in \
         `weir-lab reproduce{}`",
        effort.blocks,
        if effort == Effort::SHORT {
            " --short"
        } else {
            ""
        }
    );
    let header = [
        "parameter",
        "from",
        "to",
        "row",
        "quantity",
        "before",
        "after",
        "change %",
        "flips",
    ];
    let cells = |row: &JsonRow<'_>| {
        vec![
            row.parameter.to_owned(),
            row.from.to_string(),
            format!("{:.3}", row.to),
            row.id.to_owned(),
            row.quantity.to_owned(),
            format!("{:.2}", row.before),
            format!("{:.2}", row.after),
            format!("{:+.1}", row.change_percent),
            if row.flips { "yes" } else { "" }.to_owned(),
        ]
    };
    let moved = rows.iter().map(cells).collect();
    let moved = table::table(&title, &header, &[1, 2, 5, 6, 7], moved);
    if study.refused.is_empty() {
        return moved;
    }
    let refused = study.refused.iter().map(|it| {
        vec![
            it.parameter.clone(),
            format!("{:.3}", it.to),
            it.reason.clone(),
        ]
    });
    let header = ["parameter", "to", "reason"];
    moved + &table::wrapped("not possible", &header, &[1], refused.collect())
}

fn json_row(row: &Sensitivity) -> JsonRow<'_> {
    JsonRow {
        parameter: &row.parameter,
        source: &row.source,
        from: row.from,
        to: row.to,
        id: &row.id,
        quantity: &row.quantity,
        before: row.before,
        after: row.after,
        change_percent: 100.0 * (row.after / row.before - 1.0),
        flips: row.flips,
    }
}
