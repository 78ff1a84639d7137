//! `weir-lab sweep`: one program on many machines, on all cores.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::anyhow;
use serde::Serialize;
use weir_console::progress::Bar;
use weir_console::{Failure, Outcome, table};
use weir_lab::shared::parallel;
use weir_lab::shared::report::{Cell, Look, Mark, Page, Plot, Scale, Series};
use weir_lab::stream_processor::applications;
use weir_lab::stream_processor::sweep::{Axis, Sweep};

use super::results::Results;
use super::run::ProgramRow;
use super::{machine, unknown};
use crate::cli;

/// One machine of a sweep.
#[derive(Serialize)]
struct SweepRow {
    /// The values that were set.
    set: BTreeMap<String, f64>,
    /// The run, or none where the program does not fit the machine.
    #[serde(flatten)]
    run: Option<ProgramRow>,
    /// Why it does not.
    error: Option<String>,
}

pub fn sweep(arguments: &cli::Sweep) -> Outcome<ExitCode> {
    let entry = applications::program(&arguments.program)
        .ok_or_else(|| unknown("program", &arguments.program))?;
    let base = machine(&arguments.machine)?;
    let axes: Vec<Axis> = arguments
        .over
        .iter()
        .map(|axis| Axis::parse(axis))
        .collect::<Result<_, _>>()
        .map_err(Failure::usage)?;
    let sweep = Sweep::new(&base, arguments.work.size()?, &axes).map_err(Failure::usage)?;
    let results = Results::with_page(&arguments.places, arguments.html.as_deref())?;

    let done = Arc::new(AtomicUsize::new(0));
    let bar = Bar::count(sweep.points().len(), arguments.places.common.quiet, &done);
    let threads = arguments.threads.unwrap_or_else(parallel::cores);
    let runs = sweep.run(&entry, threads, |machine, size, outcome| {
        done.fetch_add(1, Ordering::Relaxed);
        match outcome {
            Ok(outcome) => Ok(ProgramRow::new(&entry, machine, size, outcome)),
            Err(error) => Err(error.to_string()),
        }
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
        .map(|(point, run)| {
            let (run, error) = match run {
                Ok(run) => (Some(run), None),
                Err(error) => (None, Some(error)),
            };
            SweepRow {
                set: point.iter().cloned().collect(),
                run,
                error,
            }
        })
        .collect();

    let title = format!("{} on {}", entry.name, base.name());
    let keys = axes.iter().map(|axis| axis.key.as_str());
    let measured = ["cycles/packet", "Gbit/s", "kernels %", "W", "note"];
    let header: Vec<&str> = keys.chain(measured).collect();
    let table = || rows.iter().map(|row| cells(row, &axes)).collect::<Vec<_>>();
    results.show_with_page(
        &rows,
        || {
            let right: Vec<usize> = (0..header.len() - 1).collect();
            table::table(&title, &header, &right, table())
        },
        || Ok(page(&title, &header, &table(), &rows, &axes)),
    )
}

/// A number of a run.
type Of = fn(&ProgramRow) -> f64;

/// A page with a figure for each result over the first axis, a curve for each
/// combination of the others, and all rows.
fn page(
    title: &str,
    header: &[&str],
    table: &[Vec<String>],
    rows: &[SweepRow],
    axes: &[Axis],
) -> String {
    /// More curves cannot be distinguished.
    const MOST_CURVES: usize = 16;
    let mut page = Page::new(title);
    let Some((first, others)) = axes.split_first() else {
        return page.finish();
    };
    let results: [(&str, Of); 4] = [
        ("cycles per packet", |run| run.cycles_per_packet),
        ("Gbit/s", |run| run.gbit_per_s),
        ("W", |run| run.watts),
        ("nJ per byte", |run| run.nanojoules_per_byte),
    ];
    for (name, of) in results {
        let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for row in rows {
            let curve = row.curve(others);
            if !curves.contains_key(&curve) {
                order.push(curve.clone());
            }
            let points = curves.entry(curve).or_default();
            points.extend(row.run.iter().map(|run| (row.set[&first.key], of(run))));
        }
        let series = order.iter().take(MOST_CURVES).map(|name| Series {
            name: name.clone(),
            mark: Mark::Line,
            points: curves[name].clone(),
        });
        page.plot(&Plot {
            title: name.to_owned(),
            x: first.key.clone(),
            y: name.to_owned(),
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

fn cells(row: &SweepRow, axes: &[Axis]) -> Vec<String> {
    let mut cells: Vec<String> = axes
        .iter()
        .map(|axis| row.set[&axis.key].to_string())
        .collect();
    match &row.run {
        Some(run) => cells.extend(run.in_short()),
        None => cells.extend([const { String::new() }; 4]),
    }
    cells.push(row.error.clone().unwrap_or_default());
    cells
}
