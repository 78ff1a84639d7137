//! A cache of sub-keys (2.6.1): packets of flows, and clusters that keep the
//! sub-keys of some. Scratchpads grow where they have no room.

use super::{Finding, Findings};
use crate::stream_processor::applications::aes::SUB_KEY_WORDS;
use crate::stream_processor::applications::aes::cache::{Flows, encrypt_kept, example_flows};
use crate::stream_processor::applications::aes::programs::{Width, Workload, encrypt};
use crate::stream_processor::cost::{Process, Shape};
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::{Program, run as play};

const PACKETS: usize = 768;
const FLOWS: usize = 256;
/// Words of the table.
const TABLE_WORDS: u32 = 256;

pub(super) fn run(machine: &Machine) -> Findings {
    // Packets of 8 blocks, as in figure 2.26.
    let blocks = 8usize.next_multiple_of(machine.clusters);
    let flows = Flows::example(example_flows(PACKETS, FLOWS), blocks);
    let keys = flows.keys_of_packets();
    let workload = Workload::fixed(PACKETS, blocks, true, Width::Single);
    let each = encrypt(machine.clusters, &workload, &keys, &flows.text)?.program;
    let mut findings = Vec::new();
    let expansions = PACKETS.div_ceil(machine.clusters);
    measure("no cache", machine, &each, [0, expansions], &mut findings)?;
    for sets in [1u32, 2, 4, 8, 16, 32] {
        let kept = encrypt_kept(machine.clusters, sets, &flows)?;
        // Beside the table and the keys of the stream at hand.
        let needed = TABLE_WORDS + (sets + 1) * SUB_KEY_WORDS;
        let words = needed.max(machine.cluster.scratchpad_words);
        let grown = machine.with("cluster.scratchpad_words", f64::from(words))?;
        let setting = format!(
            "{} keys, scratchpads of {words} words",
            sets as usize * machine.clusters
        );
        let counts = [kept.hits, kept.expansions];
        measure(&setting, &grown, &kept.program, counts, &mut findings)?;
    }
    Ok(findings)
}

fn measure(
    setting: &str,
    machine: &Machine,
    program: &Program,
    [hits, expansions]: [usize; 2],
    findings: &mut Vec<Finding>,
) -> Result<(), ModelError> {
    let outcome = play(program, machine)?.measured();
    let area = Process::of(&machine.costs.technology).square_mm(Shape::of(machine).area().total());
    let packets = PACKETS as f64;
    findings.extend([
        Finding::new(
            setting,
            "packets with cached sub-keys",
            100.0 * hits as f64 / packets,
            "%",
        ),
        Finding::new(
            setting,
            "packets per key expansion",
            packets / expansions as f64,
            "",
        ),
        Finding::new(
            setting,
            "cycles per packet",
            outcome.cycles / packets,
            "cycles",
        ),
        Finding::new(
            setting,
            "kernel cycles per packet",
            outcome.kernel_cycles / packets,
            "cycles",
        ),
        Finding::new(setting, "area", area, "mm²"),
    ]);
    Ok(())
}
