//! Runs of chapter 5.

use crate::failure::ModelError;
use std::sync::Arc;

use super::Bench;
use super::closed_forms::bloom_false_positives;
use super::compare::Entry;
use crate::applications::inspect::programs::{
    example_packets, example_patterns, inspect, pipeline,
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
pub(super) const ADDERS: u32 = 8;
/// Processors of the pipeline: the first and "the rest of the three" (5.2.3).
const PROCESSORS: usize = 4;
/// Bytes of the longest packets and of the shortest.
const LONGEST: usize = 1500;
const SMALLEST: usize = 64;

const INDEX: &str = "The modelled kernel forms the index once per byte, with a shift and an \
     addition, so that hardware saves 3 of the loop's 161 cycles. Formed once for each of \
     the four tables it would save 8.7 %, but bit extraction would fall to 33 % of the \
     operations (row imagine-078).";
const STALLS: &str = "The thesis's run with tabulation takes as long as with shift-add-xor, \
     because of stalls of the stream register file. The model has no arbitration between \
     indexed and sequential accesses, and its run with tabulation takes 0.79 of the time.";

/// Chapter 5.
pub(super) fn entry(id: &str) -> Option<Entry> {
    Some(match id {
        "imagine-065" => Entry::closed(|_| Ok(vec![bloom_false_positives(41.0, 16.0)]))
            .within(1.5)
            .note("The ratio of 41 is rounded: half a unit of it moves the rate by 10 %."),
        "imagine-066" => {
            Entry::closed(|_| Ok(vec![bloom_false_positives(65_536.0 / 2000.0, 16.0)]))
                .within(200.0)
                .note("Compared by order of magnitude.")
        }
        "imagine-067" => {
            Entry::closed(|_| Ok(vec![bloom_false_positives(131_072.0 / 2000.0, 16.0)]))
                .within(200.0)
                .note("Compared by order of magnitude.")
        }
        "imagine-071" => Entry::simulated(|bench| {
            [Family::ShiftAddXor, Family::Tabulation, Family::H1]
                .map(|family| Ok(scan_cycles(bench, family, 8)? / scan_cycles(bench, family, 4)?))
                .into_iter()
                .collect()
        })
        .in_numbers(&[0.5; 3])
        .note(
            "Shift-add-xor, tabulation and H1. Tabulation gains least, as the text says: with 8 \
             adders its loop waits for the one scratchpad and the one indexed port, which \
             take 128 of its 161 cycles.",
        ),
        "imagine-072" => Entry::simulated(|bench| Ok(vec![pipeline_mbit_per_s(bench, LONGEST)?]))
            .note(
                "The first processor limits the pipeline, and its kernels run all the time: \
                 265 cycles for 32 bytes, where 2173 operations on 8 adders need at least 245. \
                 The thesis's 15,000 cycles for a packet are 319 for 32 bytes.",
            ),
        "imagine-073" => Entry::simulated(|bench| Ok(vec![pipeline_mbit_per_s(bench, SMALLEST)?]))
            .note(
                "Packets of 64 bytes. The thesis's two rates give 9.3 cycles per byte and 1,100 \
                 per packet; the model has 8.4 and 160, because its kernels have no start and \
                 end cycles.",
            ),
        "imagine-074" => Entry::simulated(|bench| {
            let [one, other] = both(bench)?;
            Ok(vec![
                rate(&other, other.srf_bytes) / rate(&one, one.srf_bytes),
            ])
        })
        .note(STALLS),
        "imagine-075" => Entry::simulated(|bench| {
            let [one, other] = both(bench)?;
            let ratio = rate(&other, other.register_bytes) / rate(&one, one.register_bytes);
            Ok(vec![100.0 * (ratio - 1.0)])
        })
        .note(STALLS),
        "imagine-076" => Entry::simulated(|bench| {
            let cycles = |design: Design| loop_cycles(bench, &scan(CLUSTERS, &design)?, ADDERS);
            let alone = cycles(Design::second(Family::Tabulation))?;
            Ok(vec![100.0 * (1.0 - cycles(indexed())? / alone)])
        })
        .note(INDEX),
        "imagine-077" => Entry::simulated(|bench| {
            let [_, alone] = both(bench)?;
            let assisted = second(bench, indexed())?;
            Ok(vec![100.0 * (alone.cycles / assisted.cycles - 1.0)])
        })
        .note(INDEX),
        "imagine-078" => Entry::simulated(|_| {
            let kernel = scan(CLUSTERS, &Design::second(Family::Tabulation))?;
            Ok(vec![100.0 * extraction_share(&kernel)])
        })
        .note("Of the loop with tabulation, which is the one of figure 5.10."),
        "imagine-079" => Entry::ordering(|bench| {
            let design = Design::new(Family::ShiftAddXor, Position::First);
            let design = design.with_filter(FilterPlace::Memory);
            let program = alone(bench, design)?;
            let cycles = after_barrier(&program, &machine(bench)?)?.cycles;
            mbit_per_s(bench, LONGEST, cycles).map(|rate| vec![rate])
        })
        .note("A packet needs 48,000 words out of sequence."),
        "imagine-text-03" => Entry::ordering(|bench| {
            let [one, other] = both(bench)?;
            Ok(vec![one.cycles / other.cycles])
        })
        .in_numbers(&[1.0])
        .note(STALLS),
        _ => return None,
    })
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
        let stages = pipeline(family, &functions, count, &example_patterns(), &packets)?;
        Ok(stages.into_iter().map(|stage| stage.program).collect())
    })
}

/// A processor that looks at packets of 1500 bytes, after the first one where
/// it is not the first.
fn alone(bench: &Bench, design: Design) -> Result<Arc<Program>, ModelError> {
    let made = bench.programs(format!("inspect {design:?}"), || {
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
        Ok(vec![made.program])
    })?;
    Ok(Arc::clone(&made[0]))
}

/// The second processor's run with shift-add-xor, and with tables.
pub(super) fn both(bench: &Bench) -> Result<[Outcome; 2], ModelError> {
    Ok([
        second(bench, Design::second(Family::ShiftAddXor))?,
        second(bench, Design::second(Family::Tabulation))?,
    ])
}

fn second(bench: &Bench, design: Design) -> Result<Outcome, ModelError> {
    after_barrier(&*alone(bench, design)?, &machine(bench)?)
}

/// A run from its barrier on.
fn after_barrier(program: &Program, machine: &Machine) -> Result<Outcome, ModelError> {
    Ok(run(program, machine)?.measured())
}

/// Bytes per cycle.
fn rate(outcome: &Outcome, bytes: u64) -> f64 {
    bytes as f64 / outcome.cycles
}
