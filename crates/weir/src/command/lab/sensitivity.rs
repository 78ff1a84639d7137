//! `weir lab sensitivity`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use weir_lab::parallel;
use weir_lab::reproduce::{Sensitivity, assumptions, sensitivity as moved_rows};

use super::results::Results;
use crate::cli::lab::LabSensitivity;
use crate::failure::{Failure, Outcome};
use crate::progress::Bar;
use crate::report::table;

/// A result that moves.
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

pub fn sensitivity(arguments: &LabSensitivity) -> Outcome<ExitCode> {
    let results = Results::asked_for(&arguments.places)?;
    let assumed = assumptions(&arguments.parameters).map_err(Failure::usage)?;
    let done = Arc::new(AtomicUsize::new(0));
    let bar = Bar::count(assumed.len(), arguments.places.common.quiet, &done);
    let moved = moved_rows(&assumed, parallel::cores(), || {
        done.fetch_add(1, Ordering::Relaxed);
    })
    .map_err(Failure::running)?;
    drop(bar);
    let rows: Vec<JsonRow<'_>> = moved.iter().map(json_row).collect();
    results.show(&rows, || {
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
        let rows = rows.iter().map(cells).collect();
        table::table("", &header, &[1, 2, 5, 6, 7], rows)
    })
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
