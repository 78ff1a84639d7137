//! A number of clusters that programs do not know: the machine fills the last
//! row of a packet's blocks, so that padding is neither stored nor loaded, and
//! leaves clusters without a block idle.

use super::{Finding, Findings};
use crate::stream_processor::cost::{Process, Shape};
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::lengths::{Lengths, trace_like};
use crate::stream_processor::machine::Machine;

const PACKETS: usize = 1000;
const BLOCK_BYTES: u32 = 16;

pub(super) fn run(machine: &Machine) -> Findings {
    let mut lengths = Lengths::new(BLOCK_BYTES);
    for bytes in trace_like(PACKETS) {
        lengths.add(bytes, 1);
    }
    let process = Process::of(&machine.costs.technology);
    let mut findings = Vec::new();
    for clusters in [1u32, 2, 4, 8, 16, 32] {
        let Some(filling) = lengths.filling(u64::from(clusters)) else {
            continue;
        };
        let machine = grown(machine, clusters)?;
        let shape = Shape::of(&machine);
        let all = shape.busy_cycle();
        // Idle clusters take no energy; instructions are sent to all.
        let instruction = shape.energies().instruction;
        let some = instruction + (all - instruction) * filling.utilisation;
        let each_block = f64::from(clusters) * filling.utilisation;
        let setting = format!("{clusters} clusters");
        let picojoules = |energy: f64| 1e12 * process.joules(energy) / each_block;
        findings.extend([
            Finding::new(
                &setting,
                "padding in the bytes moved",
                100.0 * filling.padding,
                "%",
            ),
            Finding::new(
                &setting,
                "cluster occupancy",
                100.0 * filling.utilisation,
                "%",
            ),
            Finding::new(
                &setting,
                "energy of a busy cycle per block, padded",
                picojoules(all),
                "pJ",
            ),
            Finding::new(
                &setting,
                "energy of a busy cycle per block, idle clusters off",
                picojoules(some),
                "pJ",
            ),
        ]);
    }
    Ok(findings)
}

/// The machine with another number of clusters; its stream register file, its
/// memory and its host grow with them.
pub(super) fn grown(machine: &Machine, clusters: u32) -> Result<Machine, ModelError> {
    let growth = f64::from(clusters) / machine.clusters as f64;
    let changes = [
        ("clusters", f64::from(clusters)),
        ("srf.bytes", machine.srf.bytes as f64 * growth),
        ("srf.bytes_per_cycle", machine.srf.bytes_per_cycle * growth),
        (
            "memory.bytes_per_cycle",
            machine.memory.bytes_per_cycle * growth,
        ),
        (
            "memory.stream_bytes_per_cycle",
            machine.memory.stream_bytes_per_cycle * growth,
        ),
        ("host.bus_mhz", machine.host.bus_mhz * growth),
    ];
    let changes = changes.map(|(key, value)| (key.to_owned(), value));
    Ok(machine.with_all(&changes)?)
}
