//! `weir-lab sweep`: one workload on many machines, on all cores.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::anyhow;
use serde::Serialize;
use weir_console::progress::Bar;
use weir_console::{Failure, Outcome, table};
use weir_lab::shared::model::{Metric, digits};
use weir_lab::shared::parallel;
use weir_lab::shared::report::{Cell, Look, Mark, Page, Plot, Scale, Series};
use weir_lab::shared::sweep::{Axis, Sweep};

use super::results::Results;
use super::run::by_key;
use super::workload;
use crate::cli;

/// Metrics in the table and in figures: the first ones of a run.
const SHOWN: usize = 4;

/// One run of a sweep.
struct SweepRow {
    /// The values that were set.
    set: BTreeMap<String, f64>,
    /// The metrics, or why there is no run.
    run: Result<Vec<Metric>, String>,
}

/// The same as scripts see it.
#[derive(Serialize)]
struct JsonRow<'a> {
    set: &'a BTreeMap<String, f64>,
    #[serde(flatten)]
    metrics: Option<BTreeMap<&'a str, f64>>,
    error: Option<&'a str>,
}

pub fn sweep(arguments: &cli::Sweep) -> Outcome<ExitCode> {
    let (model, machine, workload) =
        workload(&arguments.name, &arguments.machine, &arguments.inputs)?;
    let axes: Vec<Axis> = arguments
        .over
        .iter()
        .map(|axis| Axis::parse(axis))
        .collect::<Result<_, _>>()
        .map_err(Failure::usage)?;
    let sweep = Sweep::new(model, &machine, &workload, &axes).map_err(Failure::usage)?;
    let results = Results::with_file(&arguments.places, arguments.html.as_deref())?;

    let done = Arc::new(AtomicUsize::new(0));
    let bar = Bar::count(sweep.points().len(), arguments.places.common.quiet, &done);
    let threads = arguments.threads.unwrap_or_else(parallel::cores);
    let runs = sweep.run(threads, || {
        done.fetch_add(1, Ordering::Relaxed);
    });
    drop(bar);
    if let Some(Err(reason)) = runs.first()
        && runs.iter().all(Result::is_err)
    {
        return Err(Failure::usage(anyhow!("{reason}")));
    }
    let points = sweep.points().iter();
    let rows: Vec<SweepRow> = points
        .zip(runs)
        .map(|(point, run)| SweepRow {
            set: point.iter().cloned().collect(),
            run: run.map_err(|error| error.to_string()),
        })
        .collect();
    let as_json: Vec<JsonRow<'_>> = rows
        .iter()
        .map(|row| JsonRow {
            set: &row.set,
            metrics: row.run.as_ref().ok().map(|metrics| by_key(metrics)),
            error: row.run.as_ref().err().map(String::as_str),
        })
        .collect();

    let title = format!("{} on {}", workload.name(), machine.name());
    let ran = rows.iter().find_map(|row| row.run.as_deref().ok());
    let shown: Vec<&Metric> = ran.unwrap_or_default().iter().take(SHOWN).collect();
    let keys = axes.iter().map(|axis| axis.key.as_str());
    let measured = shown.iter().map(|metric| metric.key.as_str());
    let header: Vec<&str> = keys.chain(measured).chain(["note"]).collect();
    let table = || {
        let rows = rows.iter().map(|row| cells(row, &axes, shown.len()));
        rows.collect::<Vec<_>>()
    };
    results.show_with_file(
        &as_json,
        || {
            // Reasons are long: they follow the table, which has no column for them.
            let columns = header.len() - 1;
            let right: Vec<usize> = (0..columns).collect();
            let mut cells = table();
            cells.iter_mut().for_each(|row| row.truncate(columns));
            table::wrapped(&title, &header[..columns], &right, cells) + &not_possible(&rows)
        },
        || Ok(page(&title, &header, &table(), &rows, &axes, &shown)),
    )
}

/// Why combinations did not run: each reason once.
fn not_possible(rows: &[SweepRow]) -> String {
    let mut reasons: Vec<(&str, usize, &SweepRow)> = Vec::new();
    for row in rows {
        let Err(reason) = &row.run else {
            continue;
        };
        match reasons.iter_mut().find(|(known, ..)| known == reason) {
            Some((_, count, _)) => *count += 1,
            None => reasons.push((reason, 1, row)),
        }
    }
    let paragraphs: String = reasons
        .into_iter()
        .map(|(reason, count, first)| {
            let set = first
                .set
                .iter()
                .map(|(key, value)| format!("{key}={value}"));
            let first = set.collect::<Vec<_>>().join(", ");
            let text = format!("{count} of {}, first {first}: {reason}", rows.len());
            table::paragraph("  ", &text)
        })
        .collect();
    if paragraphs.is_empty() {
        return paragraphs;
    }
    format!("not possible\n{paragraphs}\n")
}

/// A page with a figure for each metric over the first axis, a curve for each
/// combination of the others, and all rows.
fn page(
    title: &str,
    header: &[&str],
    table: &[Vec<String>],
    rows: &[SweepRow],
    axes: &[Axis],
    shown: &[&Metric],
) -> String {
    /// More curves cannot be distinguished.
    const MOST_CURVES: usize = 16;
    let mut page = Page::new(title);
    let Some((first, others)) = axes.split_first() else {
        return page.finish();
    };
    for (place, metric) in shown.iter().enumerate() {
        let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for row in rows {
            let curve = row.curve(others);
            if !curves.contains_key(&curve) {
                order.push(curve.clone());
            }
            let points = curves.entry(curve).or_default();
            points.extend(row.shown(place).map(|it| (row.set[&first.key], it.value)));
        }
        let series = order.iter().take(MOST_CURVES).map(|name| Series {
            name: name.clone(),
            mark: Mark::Line,
            points: curves[name].clone(),
        });
        page.plot(&Plot {
            title: metric.name.clone(),
            x: first.key.clone(),
            y: metric.key.clone(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            series: series.collect(),
        });
        if order.len() > MOST_CURVES {
            page.text(&format!(
                "The first {MOST_CURVES} of {} curves. The table has all of them.",
                order.len()
            ));
        }
    }
    let cells: Vec<Vec<Cell>> = table
        .iter()
        .map(|row| {
            let last = row.len() - 1;
            let look = |at| if at < last { Look::Number } else { Look::Words };
            row.iter()
                .enumerate()
                .map(|(at, words)| (look(at), words.clone()))
                .collect()
        })
        .collect();
    page.table(header, &cells);
    page.finish()
}

impl SweepRow {
    /// The metric at a place, of a row that ran.
    fn shown(&self, place: usize) -> Option<&Metric> {
        self.run.as_ref().ok()?.get(place)
    }

    /// The values of some axes, as the name of a curve.
    fn curve(&self, axes: &[Axis]) -> String {
        let values: Vec<String> = axes
            .iter()
            .map(|axis| format!("{} {}", axis.key, self.set[&axis.key]))
            .collect();
        if values.is_empty() {
            "model".to_owned()
        } else {
            values.join(", ")
        }
    }
}

/// The values of a row, its first metrics, and why it has none.
fn cells(row: &SweepRow, axes: &[Axis], shown: usize) -> Vec<String> {
    let set = axes.iter().map(|axis| row.set[&axis.key].to_string());
    let metrics = (0..shown).map(|place| {
        let metric = row.shown(place);
        metric.map_or_else(String::new, |metric| digits(metric.value))
    });
    let note = row.run.as_ref().err().cloned().unwrap_or_default();
    set.chain(metrics).chain([note]).collect()
}
