//! `weir lab sweep`: one program on many machines, on all cores.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::Vacant;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::anyhow;
use serde::Serialize;
use weir_lab::applications;
use weir_lab::machine::Machine;
use weir_lab::stream::{self, Program};

use super::run::{ProgramRow, written};
use super::{key_and_value, machine, number, show, unknown};
use crate::cli::lab::LabSweep;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Bar;
use crate::report::table;

/// The most machines of one sweep.
const MOST_MACHINES: usize = 100_000;

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

pub fn sweep(arguments: &LabSweep) -> Outcome<ExitCode> {
    let entry = applications::program(&arguments.program)
        .ok_or_else(|| unknown("program", &arguments.program))?;
    let base = machine(&arguments.machine)?;
    let axes: Vec<(String, Vec<f64>)> = arguments
        .over
        .iter()
        .map(|axis| {
            let (key, values) = key_and_value(axis)?;
            let values = values.split(',').map(|value| number(axis, value));
            Ok((key.to_owned(), values.collect::<Outcome<Vec<f64>>>()?))
        })
        .collect::<Outcome<_>>()?;
    let machines = machines(&base, &axes)?;
    let json = output::Document::asked_for(&arguments.common)?;

    // A program is written once for each number of clusters.
    let size = arguments.work.size();
    let mut programs: BTreeMap<usize, Program> = BTreeMap::new();
    for (_, machine) in &machines {
        if let Vacant(place) = programs.entry(machine.clusters) {
            place.insert(written(&entry, machine, &size)?);
        }
    }

    let done = Arc::new(AtomicUsize::new(0));
    let bar = Bar::count(machines.len(), arguments.common.quiet, &done);
    let one = |(set, machine): &(BTreeMap<String, f64>, Machine)| {
        let played = stream::run(&programs[&machine.clusters], machine);
        done.fetch_add(1, Ordering::Relaxed);
        let (run, error) = match played {
            Ok(played) => {
                let row = ProgramRow::new(entry.name, machine, &size, &played);
                (Some(row), None)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        SweepRow {
            set: set.clone(),
            run,
            error,
        }
    };
    let rows = on_all_cores(&machines, one);
    drop(bar);

    show(json, &arguments.common, &rows, || {
        let keys = axes.iter().map(|(key, _)| key.as_str());
        let results = ["cycles/packet", "Gbit/s", "kernels %", "W", "note"];
        let header: Vec<&str> = keys.chain(results).collect();
        let right: Vec<usize> = (0..header.len() - 1).collect();
        let rows = rows.iter().map(cells).collect();
        table::table(
            &format!("{} on {}", entry.name, base.name()),
            &header,
            &right,
            rows,
        )
    })
}

/// Every combination of the axes' values.
fn machines(
    base: &Machine,
    axes: &[(String, Vec<f64>)],
) -> Outcome<Vec<(BTreeMap<String, f64>, Machine)>> {
    let count = axes
        .iter()
        .try_fold(1usize, |count, (_, values)| count.checked_mul(values.len()));
    if count.is_none_or(|count| count > MOST_MACHINES) {
        return Err(Failure::usage(anyhow!(
            "a sweep has at most {MOST_MACHINES} machines: give fewer values"
        )));
    }
    let mut machines = vec![(BTreeMap::new(), base.clone())];
    for (key, values) in axes {
        let mut next = Vec::new();
        for (set, machine) in &machines {
            for &value in values {
                let mut set = set.clone();
                set.insert(key.clone(), value);
                next.push((set, machine.with(key, value).map_err(Failure::usage)?));
            }
        }
        machines = next;
    }
    Ok(machines)
}

/// What a function makes of each item, in their order.
fn on_all_cores<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = of(item);
            if let Ok(mut made) = made.lock() {
                made.push((index, result));
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 1..cores.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut made = made.into_inner().unwrap_or_default();
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, result)| result).collect()
}

fn cells(row: &SweepRow) -> Vec<String> {
    let mut cells: Vec<String> = row.set.values().map(ToString::to_string).collect();
    match &row.run {
        Some(run) => cells.extend(run.in_short()),
        None => cells.extend([const { String::new() }; 4]),
    }
    cells.push(row.error.clone().unwrap_or_default());
    cells
}
