//! `weir-lab run`.

use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Failure, Outcome, table};
use weir_lab::stream_processor::applications::{self, Entry, ProgramEntry, ProgramFailure, Size};
use weir_lab::stream_processor::cost::power;
use weir_lab::stream_processor::execute::execute;
use weir_lab::stream_processor::machine::Machine;
use weir_lab::stream_processor::schedule::Schedule;
use weir_lab::stream_processor::stream::{self, Outcome as Played, Program};

use super::results::Results;
use super::{machine, unknown};
use crate::cli::{self, Work};

impl Work {
    pub(super) fn size(&self) -> Outcome<Size> {
        let size = Size {
            packets: self.packets as usize,
            bytes: self.bytes as usize,
            key_agile: self.key_agile,
            dual: self.dual,
        };
        if size.packets * size.bytes > Size::MOST_BYTES {
            return Err(Failure::usage(anyhow!(
                "{} packets of {} bytes: a run takes {} bytes at most",
                size.packets,
                size.bytes,
                Size::MOST_BYTES
            )));
        }
        Ok(size)
    }
}

/// A run of a program. All values are of one span: from its first barrier, when
/// kernels, tables and keys are in place, to its last, or to its end.
#[derive(Serialize)]
pub(super) struct ProgramRow {
    program: String,
    machine: String,
    packets: usize,
    /// Bytes that are processed of each packet.
    packet_bytes: usize,
    /// Bytes that are processed of all packets.
    bytes: usize,
    cycles: f64,
    pub(super) cycles_per_packet: f64,
    pub(super) gbit_per_s: f64,
    kernel_share: f64,
    /// Share of the kernels' time in which memory moved streams.
    overlap_share: f64,
    /// Cycles without a kernel, by cause.
    stalls: Vec<(&'static str, f64)>,
    memory_gbyte_per_s: f64,
    srf_gbyte_per_s: f64,
    register_gbyte_per_s: f64,
    gops: f64,
    operations_per_memory_word: f64,
    most_srf_bytes: u64,
    /// Mean power.
    pub(super) watts: f64,
    picojoules_per_operation: f64,
    pub(super) nanojoules_per_byte: f64,
}

impl ProgramRow {
    pub(super) fn new(
        entry: &ProgramEntry,
        machine: &Machine,
        size: &Size,
        played: &Played,
    ) -> ProgramRow {
        let played = played.measured();
        let clock = machine.clock_mhz;
        let packet_bytes = (entry.packet_bytes)(size);
        let bytes = size.packets * packet_bytes;
        let bits = 8.0 * bytes as f64;
        let power = power(&played, machine);
        let cycles = played.cycles;
        ProgramRow {
            program: entry.name.to_owned(),
            machine: machine.name().to_owned(),
            packets: size.packets,
            packet_bytes,
            bytes,
            cycles,
            cycles_per_packet: cycles / size.packets as f64,
            gbit_per_s: bits / cycles * clock / 1000.0,
            kernel_share: played.kernel_share(),
            overlap_share: played.overlap_cycles / played.kernel_cycles.max(1.0),
            stalls: played
                .stalls
                .iter()
                .map(|(cause, cycles)| (cause.name(), *cycles))
                .collect(),
            memory_gbyte_per_s: played.gigabytes_per_s(played.memory_bytes, clock),
            srf_gbyte_per_s: played.gigabytes_per_s(played.srf_bytes, clock),
            register_gbyte_per_s: played.gigabytes_per_s(played.register_bytes, clock),
            gops: played.gigabytes_per_s(played.operations, clock),
            operations_per_memory_word: played.operations_per_memory_word(),
            most_srf_bytes: played.most_srf_bytes,
            watts: power.total_watts(),
            picojoules_per_operation: power.picojoules_per_operation,
            nanojoules_per_byte: 1e9 * power.joules / (bits / 8.0),
        }
    }

    /// Cycles per packet, throughput, the kernels' share and power, as text.
    pub(super) fn in_short(&self) -> [String; 4] {
        [
            format!("{:.1}", self.cycles_per_packet),
            format!("{:.3}", self.gbit_per_s),
            format!("{:.1}", 100.0 * self.kernel_share),
            format!("{:.2}", self.watts),
        ]
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let mut rows = vec![
            row(
                "packets",
                format!("{}, {} bytes of each", self.packets, self.packet_bytes),
            ),
            row(
                "cycles",
                format!(
                    "{:.0}, {:.1} per packet",
                    self.cycles, self.cycles_per_packet
                ),
            ),
            row("throughput", format!("{:.3} Gbit/s", self.gbit_per_s)),
            row(
                "kernels",
                format!("{:.1} % of all cycles", 100.0 * self.kernel_share),
            ),
            row(
                "memory",
                format!(
                    "moves streams in {:.1} % of the kernels' cycles",
                    100.0 * self.overlap_share
                ),
            ),
        ];
        for (cause, cycles) in &self.stalls {
            rows.push(row(
                &format!("waits for {cause}"),
                format!("{cycles:.0} cycles"),
            ));
        }
        rows.push(row(
            "bandwidth",
            format!(
                "memory {:.2}, stream register file {:.2}, local registers {:.1} GB/s",
                self.memory_gbyte_per_s, self.srf_gbyte_per_s, self.register_gbyte_per_s
            ),
        ));
        rows.push(row(
            "operations",
            format!(
                "{:.2} GOPS, {:.1} per memory word",
                self.gops, self.operations_per_memory_word
            ),
        ));
        rows.push(row(
            "power",
            format!(
                "{:.2} W, {:.0} pJ per operation, {:.2} nJ per byte",
                self.watts, self.picojoules_per_operation, self.nanojoules_per_byte
            ),
        ));
        rows
    }
}

/// A run of a kernel.
#[derive(Serialize)]
struct KernelRow {
    kernel: String,
    machine: String,
    records: usize,
    cycles: u64,
    /// Whether the replayed schedule computes the same outputs as the executor.
    outputs_agree: bool,
    output_words: Vec<usize>,
}

pub fn run(arguments: &cli::Run) -> Outcome<ExitCode> {
    let machine = machine(&arguments.machine)?;
    match (
        applications::program(&arguments.name),
        applications::kernel(&arguments.name),
    ) {
        (Some(entry), _) => run_program(arguments, &entry, &machine),
        (None, Some(entry)) => run_kernel(arguments, &entry, &machine),
        (None, None) => Err(unknown("program or kernel", &arguments.name)),
    }
}

/// Writes a program for a machine.
fn written(entry: &ProgramEntry, machine: &Machine, size: &Size) -> Outcome<Program> {
    (entry.build)(machine.clusters, size).map_err(|error| match error {
        ProgramFailure::Workload(_) => Failure::usage(error),
        _ => Failure::running(error),
    })
}

fn run_program(arguments: &cli::Run, entry: &ProgramEntry, machine: &Machine) -> Outcome<ExitCode> {
    let results = Results::asked_for(&arguments.places)?;
    let size = arguments.work.size()?;
    let program = written(entry, machine, &size)?;
    let played = stream::run(&program, machine).map_err(Failure::usage)?;
    let rows = [ProgramRow::new(entry, machine, &size, &played)];
    results.show(&rows, || {
        let title = format!("{} on {}", entry.name, machine.name());
        table::table(&title, &[], &[], rows[0].cells())
    })
}

fn run_kernel(arguments: &cli::Run, entry: &Entry, machine: &Machine) -> Outcome<ExitCode> {
    let results = Results::asked_for(&arguments.places)?;
    let kernel = (entry.build)(machine.clusters).map_err(Failure::running)?;
    let schedule = Schedule::of(&kernel, machine).map_err(Failure::usage)?;
    let (given, pads) = entry.example(&kernel, machine.clusters);
    let expected = execute(
        &kernel,
        machine.clusters,
        &mut given.clone(),
        &mut pads.clone(),
    )
    .map_err(Failure::running)?;
    let (found, cycles) = schedule
        .replay(&mut given.clone(), &mut pads.clone())
        .map_err(Failure::running)?;
    let row = KernelRow {
        kernel: entry.name.to_owned(),
        machine: machine.name().to_owned(),
        records: entry.records * machine.clusters,
        cycles,
        outputs_agree: found == expected,
        output_words: found.iter().map(Vec::len).collect(),
    };
    results.show(&[&row], || {
        let cell = |name: &str, value: String| vec![name.to_owned(), value];
        let rows = vec![
            cell("records", row.records.to_string()),
            cell("cycles", row.cycles.to_string()),
            cell("output", format!("{:?} words", row.output_words)),
        ];
        let title = format!("{} on {}", row.kernel, row.machine);
        table::table(&title, &[], &[], rows)
    })?;
    if !row.outputs_agree {
        return Err(Failure::running(anyhow!(
            "kernel {}: the replayed schedule and the executor compute different outputs",
            row.kernel
        )));
    }
    Ok(ExitCode::SUCCESS)
}
