//! Runs of chapters 4 and 6.

use super::Thesis;
use crate::shared::model::Bench;
use crate::stream_processor::applications::sketch::Hashing;
use crate::stream_processor::applications::{ProgramFailure, example_words, mmh, sketch};
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::schedule::{Schedule, UnitKind};
use crate::stream_processor::stream::{MemoryRange, Outcome, Program, run};

/// Adders of chapter 4's machine (figure 4.5).
pub(super) const MMH_ADDERS: u32 = 4;
/// Packets of a run of MMH.
const PACKETS: usize = 64;
/// Imagine's clusters.
const CLUSTERS: usize = 8;
/// Keys of a run of a sketch's update (6.6.1).
pub(super) const KEYS: f64 = 1920.0;

/// Cycles for each of many packets.
pub(super) fn mmh_cycles(bench: &Bench, bytes: usize) -> Result<f64, ModelError> {
    Ok(mmh_outcome(bench, bytes)?.cycles / PACKETS as f64)
}

/// A run with many packets, from its barrier on.
pub(super) fn mmh_outcome(bench: &Bench, bytes: usize) -> Result<Outcome, ModelError> {
    let blocks = bytes / (4 * mmh::BLOCK_WORDS);
    let program = bench.program(&format!("mmh {bytes}"), || {
        let packets = example_words(PACKETS * blocks * mmh::BLOCK_WORDS);
        let key = example_words(mmh::KEY_WORDS);
        Ok(mmh::programs::authenticate(CLUSTERS, &packets, blocks, &key, &key)?.program)
    })?;
    Ok(run(&program, &bench.imagine(MMH_ADDERS, 1)?)?.measured())
}

/// The loop over blocks: cycles of an iteration alone, cycles from one to the
/// next when they overlap, and cycles for which each adder is busy.
pub(super) fn mmh_loop(bench: &Bench) -> Result<[f64; 3], ModelError> {
    let schedule = Schedule::of(&mmh::level_1(CLUSTERS)?, &bench.imagine(MMH_ADDERS, 1)?)?;
    let Some(block) = schedule.block_of("blocks") else {
        return Ok([0.0; 3]);
    };
    let interval = f64::from(block.steady_cycles());
    let adders = schedule
        .occupancy(block)
        .into_iter()
        .find(|(kind, _)| *kind == UnitKind::Adder);
    let busy = adders.map_or(0.0, |(_, share)| share * interval);
    Ok([f64::from(block.iteration_cycles), interval, busy])
}

/// Cycles of an update with 1920 keys, which are loaded in that time.
pub(super) fn sketch_cycles(bench: &Bench, hashing: Hashing) -> Result<f64, ModelError> {
    Ok(sketch_outcome(bench, hashing)?.cycles)
}

/// A run of an update with 1920 keys, between its barriers.
pub(super) fn sketch_outcome(bench: &Bench, hashing: Hashing) -> Result<Outcome, ModelError> {
    let program = bench.program(&format!("sketch {hashing:?}"), || {
        let functions = sketch::programs::example_functions(CLUSTERS, hashing);
        let records = example_words(2 * KEYS as usize);
        Ok(sketch::programs::updated(CLUSTERS, hashing, &functions, &records)?.program)
    })?;
    Ok(run(&program, &bench.imagine(3, 1)?)?.measured())
}

/// Cycles of loading sketches of 32 KB from memory (6.6.1), without what the
/// host sends before.
pub(super) fn load_cycles(bench: &Bench, sketches: usize) -> Result<f64, ModelError> {
    let machine = bench.imagine(3, 1)?;
    let words = 8192;
    let mut program = Program::new(machine.clusters, vec![0; sketches * words]);
    program.barrier();
    for sketch in 0..sketches {
        let start = sketch * words;
        let range = MemoryRange { start, words };
        program.load(range).map_err(ProgramFailure::from)?;
    }
    Ok(run(&program, &machine)?.measured().cycles)
}
