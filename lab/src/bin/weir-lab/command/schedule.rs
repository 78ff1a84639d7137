//! `weir-lab schedule`.

use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Failure, Outcome, output, table};
use weir_lab::stream_processor::applications;
use weir_lab::stream_processor::kernel::{Kernel, text};
use weir_lab::stream_processor::machine::Machine;
use weir_lab::stream_processor::schedule::{NotPipelined, Schedule};

use super::results::Results;
use super::{files, machine, unknown};
use crate::cli;

/// A block of a schedule.
#[derive(Serialize)]
struct BlockRow {
    kernel: String,
    machine: String,
    block: String,
    operations: u32,
    /// Cycles until all results are computed.
    cycles: u32,
    /// Cycles from the start of an iteration to the start of the next.
    initiation_interval: u32,
    stages: u32,
    operations_per_cycle: f64,
    resource_bound: u32,
    recurrence_bound: u32,
    critical_path: u32,
    registers: u32,
    instructions: u32,
    /// Why iterations are not pipelined, where the kernel allows it.
    not_pipelined: Option<&'static str>,
    /// Share of cycles in which units of a kind are busy.
    occupancy: Vec<(String, f64)>,
}

pub fn schedule(arguments: &cli::Schedule) -> Outcome<ExitCode> {
    let machine = machine(&arguments.machine)?;
    let kernel = kernel(&arguments.kernel, &machine)?;
    let results = Results::asked_for(&arguments.places)?;
    let schedule = Schedule::of(&kernel, &machine).map_err(Failure::usage)?;
    if let Some(path) = &arguments.svg {
        output::Document::create(path)?.write_bytes(schedule.svg().as_bytes())?;
    }
    let rows: Vec<BlockRow> = schedule
        .blocks()
        .iter()
        .map(|block| BlockRow {
            kernel: kernel.name().to_owned(),
            machine: machine.name().to_owned(),
            block: block.label.clone(),
            operations: block.operations,
            cycles: block.cycles,
            initiation_interval: block.steady_cycles(),
            stages: block.pipeline.map_or(1, |pipeline| pipeline.stages),
            operations_per_cycle: block.parallelism(),
            resource_bound: block.bounds.resources,
            recurrence_bound: block.bounds.recurrence,
            critical_path: block.bounds.critical_path,
            registers: block.registers,
            instructions: block.instructions(),
            not_pipelined: block.not_pipelined.map(NotPipelined::reason),
            occupancy: schedule
                .occupancy(block)
                .into_iter()
                .map(|(kind, share)| (kind.name().to_owned(), share))
                .collect(),
        })
        .collect();
    let listing = arguments.listing.then(|| format!("{kernel}\n"));
    results.show(&rows, || {
        listing.unwrap_or_default() + &tables(&rows, &schedule)
    })
}

/// The kernel of that name, or of that file.
fn kernel(name: &str, machine: &Machine) -> Outcome<Kernel> {
    if let Some(entry) = applications::kernel(name) {
        return (entry.build)(machine.clusters).map_err(Failure::running);
    }
    if name.ends_with(text::ENDING) {
        let file = files::work_file(name, &[])?;
        return text::parse(&file.text).map_err(|error| Failure::usage(anyhow!("{name}:{error}")));
    }
    Err(match applications::program(name) {
        Some(_) => Failure::usage(anyhow!(
            "{name} is a program, and only kernels are scheduled: `weir-lab list` prints \
             all kernels, `weir-lab run {name}` runs the program"
        )),
        None => unknown("kernel", name),
    })
}

fn tables(rows: &[BlockRow], schedule: &Schedule) -> String {
    let title = format!(
        "{} on {}: {} operations, {} instructions",
        schedule.kernel().name(),
        schedule.machine().name(),
        schedule.kernel().counts().total(),
        schedule.instructions()
    );
    let header = [
        "block",
        "ops",
        "cycles",
        "II",
        "stages",
        "ops/cycle",
        "ResMII",
        "RecMII",
        "path",
        "regs",
        "not pipelined",
    ];
    let cells = |row: &BlockRow| {
        vec![
            row.block.clone(),
            row.operations.to_string(),
            row.cycles.to_string(),
            row.initiation_interval.to_string(),
            row.stages.to_string(),
            format!("{:.2}", row.operations_per_cycle),
            row.resource_bound.to_string(),
            row.recurrence_bound.to_string(),
            row.critical_path.to_string(),
            row.registers.to_string(),
            row.not_pipelined.unwrap_or_default().to_owned(),
        ]
    };
    let right: Vec<usize> = (1..header.len() - 1).collect();
    let blocks = table::wrapped(&title, &header, &right, rows.iter().map(cells).collect());

    let kinds: Vec<&str> = rows.first().map_or(Vec::new(), |row| {
        row.occupancy
            .iter()
            .map(|(kind, _)| kind.as_str())
            .collect()
    });
    let header: Vec<&str> = std::iter::once("block").chain(kinds).collect();
    let right: Vec<usize> = (1..header.len()).collect();
    let shares = |row: &BlockRow| {
        let shares = row.occupancy.iter();
        std::iter::once(row.block.clone())
            .chain(shares.map(|(_, share)| format!("{:.0}", 100.0 * share)))
            .collect()
    };
    let rows = rows.iter().map(shares).collect();
    blocks + &table::wrapped("busy units, % of cycles", &header, &right, rows)
}
