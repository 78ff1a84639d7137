//! Runs of chapter 5.

use crate::failure::ModelError;
use std::sync::Arc;

use super::Bench;
use super::compare::Entry;
use crate::applications::inspect::programs::{
    example_contents, example_packets, inspect, pipeline,
};
use crate::applications::inspect::{
    Design, Family, FilterPlace, Functions, LENGTHS, Position, SHORTEST, scan,
};
use crate::kernel::{Counts, Kernel, Node};
use crate::machine::Machine;
use crate::schedule::Schedule;
use crate::stream::{Outcome, Program, run};

/// Imagine's clusters.
const CLUSTERS: usize = 8;
/// Adders of the chapter's runs (5.3.2).
const ADDERS: u32 = 8;
/// Processors of the pipeline: the first and "the rest of the three" (5.2.3).
const PROCESSORS: usize = 4;
/// Bytes of the longest packets and of the shortest.
const LONGEST: usize = 1500;
const SMALLEST: usize = 64;

const INDEX: &str = "the index is formed once for each byte, with a shift and an addition: \
             hardware saves 3 of the loop's 161 cycles; formed for each of the four \
             tables, it saves 8.7 %, but extraction of bits falls to 33 %";

/// The row of a number.
pub(super) fn entry(number: u32) -> Entry {
    match number {
        71 => Entry::simulated(|bench| {
            let families = [Family::ShiftAddXor, Family::H1];
            let ratios = families
                .map(|family| Ok(scan_cycles(bench, family, 8)? / scan_cycles(bench, family, 4)?));
            ratios.into_iter().collect()
        })
        .in_numbers(&[0.5; 2])
        .note(
            "shift-add-xor and H1; tabulation gains less, as the thesis says (0.61): \
             with 8 adders its loop is no longer theirs, but waits for the one \
             scratchpad and the one indexed port, which take 128 of its 161 cycles",
        ),
        72 => Entry::simulated(|bench| Ok(vec![pipeline_mbit_per_s(bench, LONGEST)?])).note(
            "the first processor, whose kernels run all the time: its loop takes \
             265 cycles for 32 bytes, where 2173 operations on 8 adders take at \
             least 245; the thesis's 15,000 cycles for a packet are 319",
        ),
        73 => Entry::simulated(|bench| Ok(vec![pipeline_mbit_per_s(bench, SMALLEST)?])).note(
            "packets of 64 bytes; the thesis's two rates are 9.3 cycles for a byte \
             and 1,100 for a packet, here 8.4 and 160: kernel 1 does 284 operations \
             in 70 cycles, and the host is hidden behind kernel 2",
        ),
        74 => Entry::simulated(|bench| {
            let [one, other] = both(bench)?;
            Ok(vec![
                rate(&other, other.srf_bytes) / rate(&one, one.srf_bytes),
            ])
        })
        .note(
            "2.8 times the bytes in 0.79 of the time; half of those of \
             shift-add-xor are intermediate hashes that come in and go out, and \
             without the ones that come in it is 4.3 times the bytes; the thesis's \
             run takes as long as with shift-add-xor, for stalls that are not modelled",
        ),
        75 => Entry::simulated(|bench| {
            let [one, other] = both(bench)?;
            let ratio = rate(&other, other.register_bytes) / rate(&one, one.register_bytes);
            Ok(vec![100.0 * (ratio - 1.0)])
        })
        .note(
            "23 % fewer words in 21 % less time; in equal time, as the thesis has it, \
             it would be -23 %",
        ),
        76 => Entry::simulated(|bench| {
            let cycles = |design: Design| loop_cycles(bench, &scan(CLUSTERS, &design)?, ADDERS);
            let alone = cycles(Design::second(Family::Tabulation))?;
            Ok(vec![100.0 * (1.0 - cycles(indexed())? / alone)])
        })
        .note(INDEX),
        77 => Entry::simulated(|bench| {
            let [_, alone] = both(bench)?;
            let assisted = second(bench, indexed())?;
            Ok(vec![100.0 * (alone.cycles / assisted.cycles - 1.0)])
        })
        .note(INDEX),
        78 => Entry::simulated(|_| {
            let kernel = scan(CLUSTERS, &Design::second(Family::Tabulation))?;
            Ok(vec![100.0 * extraction_share(&kernel)])
        })
        .note("of tabulation's loop, the one of figure 5.10"),
        _ => Entry::ordering(|bench| {
            let design = Design::new(Family::ShiftAddXor, Position::First);
            let design = design.with_filter(FilterPlace::Memory);
            let program = alone(bench, design)?;
            let cycles = after_barrier(&program, &machine(bench)?)?.cycles;
            mbit_per_s(bench, LONGEST, cycles).map(|rate| vec![rate])
        })
        .note("48,000 words out of sequence for a packet"),
    }
}

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
    (16 * bench.effort.blocks / SHARE / bytes).max(2)
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
    bench.programs(format!("inspect {family:?} {bytes} {count}"), || {
        let functions = Functions::example(family, CLUSTERS, SHORTEST + LENGTHS * count);
        let packets = example_packets(packets_of(bench, bytes), bytes);
        let stages = pipeline(family, &functions, count, &example_contents(), &packets)?;
        Ok(stages.into_iter().map(|stage| stage.program).collect())
    })
}

/// A processor that looks at packets of 1500 bytes, after the first one where
/// it is not the first.
fn alone(bench: &Bench, design: Design) -> Result<Arc<Program>, ModelError> {
    let made = bench.programs(format!("inspect {design:?}"), || {
        let functions = Functions::example(design.family, CLUSTERS, design.prefix_bytes());
        let packets = example_packets(packets_of(bench, LONGEST), LONGEST);
        let contents = example_contents();
        let before = match design.position {
            Position::First => None,
            Position::After(_) => {
                let first = Design::new(design.family, Position::First);
                Some(inspect(&first, &functions, &contents, &packets, None)?.longest())
            }
        };
        let made = inspect(&design, &functions, &contents, &packets, before.as_deref())?;
        Ok(vec![made.program])
    })?;
    Ok(Arc::clone(&made[0]))
}

/// The second processor's runs with that many adders: with shift-add-xor, and
/// with tables.
pub(super) fn with_adders(bench: &Bench, adders: u32) -> Result<[Outcome; 2], ModelError> {
    let machine = bench.imagine(adders, 1)?;
    let run = |family| after_barrier(&*alone(bench, Design::second(family))?, &machine);
    Ok([run(Family::ShiftAddXor)?, run(Family::Tabulation)?])
}

/// The second processor's run with shift-add-xor, and with tables.
fn both(bench: &Bench) -> Result<[Outcome; 2], ModelError> {
    Ok([
        second(bench, Design::second(Family::ShiftAddXor))?,
        second(bench, Design::second(Family::Tabulation))?,
    ])
}

fn second(bench: &Bench, design: Design) -> Result<Outcome, ModelError> {
    after_barrier(&*alone(bench, design)?, &machine(bench)?)
}

/// A run, its cycles counted from the barrier.
fn after_barrier(program: &Program, machine: &Machine) -> Result<Outcome, ModelError> {
    let outcome = run(program, machine)?;
    let begin = outcome.set_up_cycles();
    Ok(Outcome {
        cycles: outcome.cycles - begin,
        ..outcome
    })
}

/// Bytes per cycle.
fn rate(outcome: &Outcome, bytes: u64) -> f64 {
    bytes as f64 / outcome.cycles
}
