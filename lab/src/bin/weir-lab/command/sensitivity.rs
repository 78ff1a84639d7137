//! `weir-lab sensitivity`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use weir_console::progress::Bar;
use weir_console::{Failure, Outcome, table};
use weir_lab::shared::model::Effort;
use weir_lab::shared::parallel;
use weir_lab::shared::reproduce::{Sensitivity, Study, assumptions, sensitivity as study_of};

use super::parameters;
use super::reproduce::{effort, failure};
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
    verdict_before: &'static str,
    verdict_after: &'static str,
    flips: bool,
}

pub fn sensitivity(arguments: &cli::Sensitivity) -> Outcome<ExitCode> {
    let results = Results::asked_for(&arguments.places)?;
    let (model, machine) = parameters(&arguments.machine)?;
    let assumed = assumptions(&machine, &arguments.parameters).map_err(Failure::usage)?;
    let done = Arc::new(AtomicUsize::new(0));
    let bar = Bar::count(assumed.len(), arguments.places.common.quiet, &done);
    let effort = effort(arguments.short);
    let ids: Vec<&str> = arguments.rows.iter().map(String::as_str).collect();
    let threads = parallel::cores();
    let study = study_of(model, &machine, &ids, &assumed, effort, threads, || {
        done.fetch_add(1, Ordering::Relaxed);
    })
    .map_err(failure)?;
    drop(bar);
    let rows: Vec<JsonRow<'_>> = study.moved.iter().map(json_row).collect();
    results.show(&rows, || tables(&rows, &study, assumed.len(), effort))
}

fn tables(rows: &[JsonRow<'_>], study: &Study, parameters: usize, effort: Effort) -> String {
    let title = format!(
        "{parameters} parameters, each changed alone{}",
        if effort == Effort::Short {
            ", as in `weir-lab reproduce --short`"
        } else {
            ""
        }
    );
    let header = [
        "parameter",
        "from",
        "to",
        "row",
        "before",
        "after",
        "change %",
        "verdict",
    ];
    let cells = |row: &JsonRow<'_>| {
        vec![
            row.parameter.to_owned(),
            row.from.to_string(),
            row.to.to_string(),
            row.id.to_owned(),
            format!("{:.2}", row.before),
            format!("{:.2}", row.after),
            format!("{:+.1}", row.change_percent),
            if row.flips {
                format!("{}, now {}", row.verdict_before, row.verdict_after)
            } else {
                String::new()
            },
        ]
    };
    let moved = table::wrapped(
        &title,
        &header,
        &[1, 2, 4, 5, 6],
        rows.iter().map(cells).collect(),
    );
    if study.refused.is_empty() {
        return moved;
    }
    let refused = study.refused.iter().map(|it| {
        vec![
            it.parameter.clone(),
            it.to.to_string(),
            it.id.clone(),
            it.reason.clone(),
        ]
    });
    let header = ["parameter", "to", "row", "reason"];
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
        verdict_before: row.verdicts[0].name(),
        verdict_after: row.verdicts[1].name(),
        flips: row.flips(),
    }
}
