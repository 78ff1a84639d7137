//! Change detection on three processors (6.5), with as many keys in an interval as
//! 6.6.1 measures an update with.

use super::{Finding, Findings};
use crate::stream_processor::applications::example_words;
use crate::stream_processor::applications::sketch::Hashing;
use crate::stream_processor::applications::sketch::change::{WINDOW, detect_changes};
use crate::stream_processor::applications::sketch::programs::example_functions;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::run as play;

const KEYS: usize = 1920;
const INTERVALS: usize = WINDOW + 6;

pub(super) fn run(machine: &Machine) -> Findings {
    let functions = example_functions(machine.clusters, Hashing::Four);
    let records: Vec<u32> = example_words(2 * KEYS * INTERVALS)
        .into_iter()
        .enumerate()
        .map(|(place, word)| if place % 2 == 0 { word } else { word % 1500 })
        .collect();
    let intervals: Vec<Vec<u32>> = records.chunks(2 * KEYS).map(<[u32]>::to_vec).collect();
    let made = detect_changes(machine.clusters, &functions, &intervals, 1.0)?;
    let mut findings = Vec::new();
    for (setting, program, intervals) in [
        ("update", &made.update, INTERVALS),
        ("forecast", &made.forecast, INTERVALS),
        ("detection", &made.detect, INTERVALS - WINDOW),
    ] {
        let outcome = play(program, machine)?.measured();
        let cycles = outcome.cycles / intervals as f64;
        let kernels = outcome.kernel_cycles / intervals as f64;
        findings.extend([
            Finding::new(setting, "cycles per interval", cycles, "cycles"),
            Finding::new(setting, "kernel cycles per interval", kernels, "cycles"),
        ]);
    }
    Ok(findings)
}
