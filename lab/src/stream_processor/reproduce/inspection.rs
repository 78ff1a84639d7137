//! Runs of chapter 5.

use std::sync::Arc;

use super::Thesis;
use crate::shared::model::Bench;
use crate::stream_processor::applications::inspect::programs::{
    example_packets, example_patterns, inspect, pipeline,
};
use crate::stream_processor::applications::inspect::{
    Design, Family, FilterPlace, Functions, LENGTHS, Position, SHORTEST, scan,
};
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::kernel::{Counts, Kernel, Node};
use crate::stream_processor::machine::Machine;
use crate::stream_processor::schedule::Schedule;
use crate::stream_processor::stream::{Outcome, Program, run};

/// Imagine's clusters.
const CLUSTERS: usize = 8;
/// Adders of the chapter's runs (5.3.2).
pub(super) const ADDERS: u32 = 8;
/// Processors of the pipeline: the first and "the rest of the three" (5.2.3).
const PROCESSORS: usize = 4;
/// Bytes of the longest packets and of the shortest.
pub(super) const LONGEST: usize = 1500;
pub(super) const SMALLEST: usize = 64;

fn machine(bench: &Bench) -> Result<Machine, ModelError> {
    Ok(bench.imagine(ADDERS, 1)?)
}

/// The second processor with tables and hardware that forms indices.
fn indexed() -> Design {
    Design {
        index_assist: true,
        ..Design::second(Family::Tabulation)
    }
}

/// Cycles of the loop over the packet.
fn loop_cycles(bench: &Bench, kernel: &Kernel, adders: u32) -> Result<f64, ModelError> {
    let schedule = Schedule::of(kernel, &bench.imagine(adders, 1)?)?;
    let block = schedule.block_of("packet");
    Ok(block.map_or(0.0, |block| f64::from(block.steady_cycles())))
}

/// Cycles of the second processor's loop over the packet.
pub(super) fn scan_cycles(bench: &Bench, family: Family, adders: u32) -> Result<f64, ModelError> {
    loop_cycles(bench, &scan(CLUSTERS, &Design::second(family))?, adders)
}

/// The share of the tabulation loop's operations that find the bit of a hash, in
/// percent.
pub(super) fn extraction_percent(bench: &Bench) -> Result<f64, ModelError> {
    let design = Design::second(Family::Tabulation);
    let kernel = bench.input("inspect-2-tabulation", || scan(CLUSTERS, &design))?;
    Ok(100.0 * extraction_share(&kernel))
}

/// Cycles of the tabulation loop that hardware for indices saves, in percent.
pub(super) fn index_loop_percent(bench: &Bench) -> Result<f64, ModelError> {
    let cycles = |design: Design| loop_cycles(bench, &scan(CLUSTERS, &design)?, ADDERS);
    let alone = cycles(Design::second(Family::Tabulation))?;
    Ok(100.0 * (1.0 - cycles(indexed())? / alone))
}

/// The throughput of the second processor that such hardware gains, in percent.
pub(super) fn index_run_percent(bench: &Bench) -> Result<f64, ModelError> {
    let [_, alone] = both(bench)?;
    let assisted = second(bench, indexed())?;
    Ok(100.0 * (alone.cycles / assisted.cycles - 1.0))
}

/// The rate of the first processor with its filter in memory.
pub(super) fn filter_in_memory_mbit_per_s(bench: &Bench) -> Result<f64, ModelError> {
    let design = Design::new(Family::ShiftAddXor, Position::First);
    let program = alone(bench, design.with_filter(FilterPlace::Memory))?;
    let cycles = after_barrier(&program, &machine(bench)?)?.cycles;
    mbit_per_s(bench, LONGEST, cycles)
}

/// The share of a loop's operations that find the bit of a hash in a word: a
/// mask and a shift for the word's address, a shift and a mask for the bit.
fn extraction_share(kernel: &Kernel) -> f64 {
    const FOR_A_QUERY: u32 = 4;
    let mut share = 0.0;
    for node in kernel.body() {
        if let Node::Loop(looped) = node {
            let counts = Counts::of_nodes(&looped.body);
            let queries = counts.of("scratch_read");
            share = f64::from(FOR_A_QUERY * queries) / f64::from(counts.total());
        }
    }
    share
}

/// Packets of a run: fewer bytes than AES encrypts, for kernel 2 does more for
/// each.
fn packets_of(bench: &Bench, bytes: usize) -> usize {
    const SHARE: usize = 50;
    (16 * bench.effort().of(61_440) / SHARE / bytes).max(2)
}

/// The rate of the pipeline: that of its slowest processor.
pub(super) fn pipeline_mbit_per_s(bench: &Bench, bytes: usize) -> Result<f64, ModelError> {
    let mut slowest: f64 = 0.0;
    for program in processors(bench, Family::ShiftAddXor, bytes, PROCESSORS)? {
        slowest = slowest.max(after_barrier(&program, &machine(bench)?)?.cycles);
    }
    mbit_per_s(bench, bytes, slowest)
}

fn mbit_per_s(bench: &Bench, bytes: usize, cycles: f64) -> Result<f64, ModelError> {
    let bits = (8 * bytes * packets_of(bench, bytes)) as f64;
    Ok(1000.0 * bench.gbit_per_s(bits, cycles)?)
}

/// The programs of a pipeline.
fn processors(
    bench: &Bench,
    family: Family,
    bytes: usize,
    count: usize,
) -> Result<Vec<Arc<Program>>, ModelError> {
    let name = format!("inspect {family:?} {bytes} {count}");
    let made = bench.input(&name, || -> Result<_, ModelError> {
        let functions = Functions::example(family, CLUSTERS, SHORTEST + LENGTHS * count);
        let packets = example_packets(packets_of(bench, bytes), bytes);
        let stages = pipeline(family, &functions, count, &example_patterns(), &packets)?;
        let programs = stages.into_iter().map(|stage| Arc::new(stage.program));
        Ok(programs.collect::<Vec<_>>())
    })?;
    Ok(made.to_vec())
}

/// A processor that looks at packets of 1500 bytes, after the first one where
/// it is not the first.
fn alone(bench: &Bench, design: Design) -> Result<Arc<Program>, ModelError> {
    bench.program(&format!("inspect {design:?}"), || {
        let functions = Functions::example(design.family, CLUSTERS, design.prefix_bytes());
        let packets = example_packets(packets_of(bench, LONGEST), LONGEST);
        let patterns = example_patterns();
        let before = match design.position {
            Position::First => None,
            Position::After(_) => {
                let first = Design::new(design.family, Position::First);
                Some(inspect(&first, &functions, &patterns, &packets, None)?.longest())
            }
        };
        let made = inspect(&design, &functions, &patterns, &packets, before.as_deref())?;
        Ok(made.program)
    })
}

/// The second processor's run with shift-add-xor, and with tables.
pub(super) fn both(bench: &Bench) -> Result<[Outcome; 2], ModelError> {
    Ok([
        second(bench, Design::second(Family::ShiftAddXor))?,
        second(bench, Design::second(Family::Tabulation))?,
    ])
}

fn second(bench: &Bench, design: Design) -> Result<Outcome, ModelError> {
    let program = alone(bench, design)?;
    after_barrier(&program, &machine(bench)?)
}

/// A run from its barrier on.
fn after_barrier(program: &Program, machine: &Machine) -> Result<Outcome, ModelError> {
    Ok(run(program, machine)?.measured())
}

/// Bytes per cycle.
pub(super) fn rate(outcome: &Outcome, bytes: u64) -> f64 {
    bytes as f64 / outcome.cycles
}
