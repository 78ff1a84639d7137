//! Two headers at once on 16 clusters (figure 8.5), and four on 32.

use super::rows::grown;
use super::{Finding, Findings};
use crate::stream_processor::applications::example_words;
use crate::stream_processor::applications::sketch::Hashing;
use crate::stream_processor::applications::sketch::groups::{GROUP, updated};
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::run as play;

/// As many as 6.6.1 has.
const KEYS: usize = 1920;

pub(super) fn run(machine: &Machine) -> Findings {
    let functions: Vec<u32> = example_words(GROUP * Hashing::Two.words())
        .into_iter()
        .map(|word| word >> 2)
        .collect();
    let records = example_words(2 * KEYS);
    let mut findings = Vec::new();
    for clusters in [8u32, 16, 32] {
        let machine = grown(machine, clusters)?;
        let program = updated(clusters as usize, &functions, &records)?.program;
        let cycles = play(&program, &machine)?.measured().cycles / KEYS as f64;
        let headers = clusters as usize / GROUP;
        let setting = format!("{clusters} clusters, {headers} headers at once");
        // Packets of 40 bytes.
        let gbit_per_s = 8.0 * 40.0 / cycles * machine.clock_mhz / 1000.0;
        findings.extend([
            Finding::new(&setting, "cycles per key", cycles, "cycles"),
            Finding::new(&setting, "throughput", gbit_per_s, "Gbit/s"),
        ]);
    }
    Ok(findings)
}
