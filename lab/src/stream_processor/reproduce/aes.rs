//! Runs of chapter 2.

use std::sync::Arc;

use super::Thesis;
use crate::shared::model::Bench;
use crate::stream_processor::applications::aes::programs::{BLOCK_WORDS, Width, Workload, encrypt};
use crate::stream_processor::applications::{aes, example_words};
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::kernel::{Class, Kernel};
use crate::stream_processor::lengths::trace_like;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::schedule::{Call, Schedule};
use crate::stream_processor::stream::{Outcome, run};

/// Blocks that AES runs of many packets encrypt (2.6).
const BLOCKS: usize = 61_440;
/// Scratchpads of all of the chapter's simulations (2.4).
pub(super) const SCRATCHPADS: u32 = 2;
/// The 1,536 bytes of the largest packet, in blocks.
pub(super) const LARGEST: usize = 96;

/// A run from its barrier on.
#[derive(Clone)]
pub(super) struct Run {
    /// Cycles.
    pub(super) cycles: f64,
    /// Blocks that were encrypted.
    pub(super) blocks: f64,
    /// Cycles of the core's calls, and of the final round's.
    pub(super) core: f64,
    pub(super) final_round: f64,
    pub(super) outcome: Outcome,
}

impl Run {
    pub(super) fn cycles_per_block(&self) -> f64 {
        self.cycles / self.blocks
    }

    pub(super) fn kernel_share(&self) -> f64 {
        100.0 * self.outcome.kernel_share()
    }
}

fn play(bench: &Bench, machine: &Machine, workload: &Workload) -> Result<Run, ModelError> {
    let program = bench.program(&format!("{} {workload:?}", machine.clusters), || {
        let keys = example_words(workload.packets.len() * BLOCK_WORDS);
        let text = example_words(workload.blocks() * BLOCK_WORDS);
        Ok(encrypt(machine.clusters, workload, &keys, &text)?.program)
    })?;
    let outcome = run(&program, machine)?.measured();
    let [core, final_round] = [2, 3].map(|kernel| outcome.by_kernel[kernel]);
    Ok(Run {
        cycles: outcome.cycles,
        blocks: workload.blocks() as f64,
        core,
        final_round,
        outcome,
    })
}

fn run_of(bench: &Bench, adders: u32, workload: &Workload) -> Result<Arc<Run>, ModelError> {
    bench.result(&format!("{adders} {workload:?}"), || {
        play(bench, &bench.imagine(adders, SCRATCHPADS)?, workload)
    })
}

/// One stream under one key (figure 2.12).
pub(super) fn single_stream(
    bench: &Bench,
    adders: u32,
    blocks: usize,
    width: Width,
) -> Result<Arc<Run>, ModelError> {
    run_of(bench, adders, &Workload::fixed(1, blocks, false, width))
}

/// Packets of one size, under one key or one each (figures 2.13, 2.17).
pub(super) fn packets(
    bench: &Bench,
    blocks: usize,
    key_agile: bool,
) -> Result<Arc<Run>, ModelError> {
    let packets = bench.effort().of(BLOCKS) / blocks;
    let workload = Workload::fixed(packets, blocks, key_agile, Width::Single);
    run_of(bench, 4, &workload)
}

/// Packets of the lengths of a trace, padded to whole rows of blocks.
pub(super) struct Trace {
    pub(super) run: Arc<Run>,
    /// Cycles for each block that is not padding.
    pub(super) cycles_per_block: f64,
    /// The share of bytes that are padding.
    pub(super) padding_percent: f64,
}

/// A run with such packets. Keys change with packets.
pub(super) fn trace(bench: &Bench) -> Result<Trace, ModelError> {
    let (mut packets, mut blocks_of_data) = (Vec::new(), 0.0);
    for length in trace_like(bench.effort().of(BLOCKS) / 50) {
        let blocks = length.div_ceil(16) as usize;
        blocks_of_data += blocks as f64;
        packets.push(blocks.div_ceil(8) * 8);
    }
    let run = run_of(bench, 4, &Workload::with_keys_for(packets))?;
    Ok(Trace {
        cycles_per_block: run.cycles / blocks_of_data,
        padding_percent: 100.0 * (1.0 - blocks_of_data / run.blocks),
        run,
    })
}

fn scheduled(
    bench: &Bench,
    kernel: Kernel,
    adders: u32,
    scratchpads: u32,
) -> Result<Schedule, ModelError> {
    Ok(Schedule::of(&kernel, &bench.imagine(adders, scratchpads)?)?)
}

/// Cycles of a round, "basic block 4" of the core (table 2.2).
pub(super) fn round_cycles(
    bench: &Bench,
    adders: u32,
    scratchpads: u32,
) -> Result<f64, ModelError> {
    let schedule = scheduled(bench, aes::core()?, adders, scratchpads)?;
    Ok(schedule
        .block_of("rounds")
        .map_or(0.0, |block| f64::from(block.cycles)))
}

/// Cycles and operations per cycle of the key expansion's loop.
pub(super) fn expansion(
    bench: &Bench,
    width: Width,
    adders: u32,
) -> Result<(f64, f64), ModelError> {
    let kernel = match width {
        Width::Single => aes::key_expansion()?,
        Width::Dual => aes::key_expansion_dual()?,
    };
    let schedule = scheduled(bench, kernel, adders, SCRATCHPADS)?;
    let run = schedule.run(&Call {
        records: vec![8 * width.at_once() as u64],
        scalars: vec![],
    });
    let parallelism = schedule
        .block_of("rounds")
        .map_or(0.0, |block| block.parallelism());
    Ok((run.cycles as f64, parallelism))
}

/// Scratchpad reads of a call of the core for one record per cluster, those in
/// the rounds, and writes (2.4).
pub(super) fn core_accesses(bench: &Bench) -> Result<[f64; 3], ModelError> {
    let schedule = scheduled(bench, aes::core()?, 4, SCRATCHPADS)?;
    let reads_of = |records: u64| {
        let run = schedule.run(&Call {
            records: vec![8 * records],
            scalars: vec![0, 0],
        });
        [Class::ScratchRead, Class::ScratchWrite].map(|class| run.of_class(class) as f64)
    };
    let [reads, writes] = reads_of(1);
    Ok([reads, reads - reads_of(0)[0], writes])
}

/// Cycles of sending a set of sub-keys to all clusters, beside the core's own
/// start: its loop of key distribution.
pub(super) fn distribution_cycles(bench: &Bench) -> Result<f64, ModelError> {
    let schedule = scheduled(bench, aes::core()?, 4, SCRATCHPADS)?;
    let block = schedule.block_of("key distribution");
    Ok(block.map_or(0.0, |block| {
        f64::from(block.cycles) * f64::from(aes::ROUNDS - 1)
    }))
}
