//! Multi-SIMD: clusters in groups, each with its own microcontroller, that run
//! apart. A packet goes to the group that has the fewest rows of blocks to do.
//!
//! All machines have 32 clusters, and memory, host and stream register file as
//! much faster and larger than Imagine's; groups share them evenly.

use super::rows::grown;
use super::{Finding, Findings};
use crate::stream_processor::applications::aes::programs::{BLOCK_WORDS, Workload, encrypt};
use crate::stream_processor::applications::example_words;
use crate::stream_processor::cost::{Process, Shape, power};
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::lengths::trace_like;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::run as play;

const CLUSTERS: u32 = 32;
const PACKETS: usize = 600;
const BLOCK_BYTES: u32 = 16;

pub(super) fn run(machine: &Machine) -> Findings {
    let mut findings = Vec::new();
    for groups in [1, 2, 4, 8] {
        let group = grown(machine, CLUSTERS / groups)?;
        let done = encrypted(&group, groups as usize)?;
        let process = Process::of(&group.costs.technology);
        let area = process.square_mm(f64::from(groups) * Shape::of(&group).area().total());
        let setting = format!("{groups} × {} clusters", CLUSTERS / groups);
        let gbit_per_s = 128.0 * done.blocks / done.cycles * group.clock_mhz / 1000.0;
        findings.extend([
            Finding::new(
                &setting,
                "cycles per block",
                done.cycles / done.blocks,
                "cycles",
            ),
            Finding::new(&setting, "throughput", gbit_per_s, "Gbit/s"),
            Finding::new(
                &setting,
                "cluster occupancy",
                100.0 * done.blocks / done.padded,
                "%",
            ),
            Finding::new(&setting, "area", area, "mm²"),
            Finding::new(&setting, "throughput per mm²", gbit_per_s / area, "Gbit/s"),
            Finding::new(
                &setting,
                "energy per block",
                1e9 * done.joules / done.blocks,
                "nJ",
            ),
        ]);
    }
    Ok(findings)
}

/// What all groups did.
struct Done {
    /// Of the group that is done last.
    cycles: f64,
    blocks: f64,
    /// Blocks with those that fill rows.
    padded: f64,
    joules: f64,
}

/// Encrypts packets of a trace's lengths, each under its own key.
fn encrypted(group: &Machine, groups: usize) -> Result<Done, ModelError> {
    let row = group.clusters;
    let mut dealt: Vec<Vec<usize>> = vec![Vec::new(); groups];
    let mut done = Done {
        cycles: 0.0,
        blocks: 0.0,
        padded: 0.0,
        joules: 0.0,
    };
    for bytes in trace_like(PACKETS) {
        let blocks = bytes.div_ceil(BLOCK_BYTES) as usize;
        done.blocks += blocks as f64;
        let least = dealt
            .iter_mut()
            .min_by_key(|packets| packets.iter().sum::<usize>());
        if let Some(packets) = least {
            packets.push(blocks.next_multiple_of(row));
        }
    }
    for packets in dealt.into_iter().filter(|packets| !packets.is_empty()) {
        let workload = Workload::with_keys_for(packets);
        let keys = example_words(workload.packets.len() * BLOCK_WORDS);
        let text = example_words(workload.blocks() * BLOCK_WORDS);
        let program = encrypt(row, &workload, &keys, &text)?.program;
        let outcome = play(&program, group)?.measured();
        done.cycles = done.cycles.max(outcome.cycles);
        done.padded += workload.blocks() as f64;
        done.joules += power(&outcome, group).joules;
    }
    Ok(done)
}
