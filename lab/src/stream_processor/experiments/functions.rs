//! More hash functions for content inspection (5.2.1): one in each cluster, so that 16
//! clusters have 16, and a filter of twice the size.

use super::rows::grown;
use super::{Finding, Findings};
use crate::stream_processor::applications::inspect::programs::{
    example_packets, example_patterns, inspect,
};
use crate::stream_processor::applications::inspect::{
    Design, FILTER_WORDS, Family, Functions, Position,
};
use crate::stream_processor::machine::Machine;
use crate::stream_processor::reproduce::bloom_false_positives;
use crate::stream_processor::stream::run as play;

const PACKETS: usize = 8;
const BYTES: usize = 1500;
/// Patterns of the thesis's example.
const PATTERNS: f64 = 2000.0;
/// As many as the chapter's runs have (5.3.2).
const ADDERS: f64 = 8.0;

pub(super) fn run(machine: &Machine) -> Findings {
    let machine = machine.with("cluster.adders", ADDERS)?;
    let design = Design::new(Family::ShiftAddXor, Position::First);
    let packets = example_packets(PACKETS, BYTES);
    let mut findings = Vec::new();
    for clusters in [8u32, 16, 32] {
        let machine = grown(&machine, clusters)?;
        let functions = Functions::example(design.family, machine.clusters, design.prefix_bytes());
        let program = inspect(&design, &functions, &example_patterns(), &packets, None)?.program;
        let cycles = play(&program, &machine)?.measured().cycles;
        let bits = f64::from(FILTER_WORDS * u32::BITS * clusters);
        let setting = format!("{clusters} clusters, {clusters} hash functions");
        let mbit_per_s = 8.0 * (PACKETS * BYTES) as f64 / cycles * machine.clock_mhz;
        let rate = bloom_false_positives(bits / PATTERNS, f64::from(clusters));
        findings.extend([
            Finding::new(
                &setting,
                "cycles per packet",
                cycles / PACKETS as f64,
                "cycles",
            ),
            Finding::new(&setting, "throughput", mbit_per_s, "Mbit/s"),
            Finding::new(
                &setting,
                "false positives, 2,000 patterns",
                -rate.log10(),
                "decades",
            ),
        ]);
    }
    Ok(findings)
}
