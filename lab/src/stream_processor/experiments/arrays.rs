//! Arrays of streams: small packets wait for the host, which sends three
//! instructions and more for each.

use super::{Finding, Findings};
use crate::stream_processor::applications::{Size, program};
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::{Cause, run as play};

const PACKETS: usize = 256;
/// Packets of 8 blocks, as in figure 2.26.
const BYTES: usize = 128;

pub(super) fn run(machine: &Machine) -> Findings {
    let size = Size {
        packets: PACKETS,
        bytes: BYTES,
        key_agile: true,
        dual: false,
    };
    let mut findings = Vec::new();
    for name in ["aes", "mmh"] {
        let Some(entry) = program(name) else {
            continue;
        };
        let written = (entry.build)(machine.clusters, &size)?;
        for streams in [1, 2, 4, 8, 16] {
            let machine = machine.with("host.array_streams", f64::from(streams))?;
            let outcome = play(&written, &machine)?.measured();
            let setting = format!("{name}, arrays of {streams}");
            let cycles = outcome.cycles / PACKETS as f64;
            let waited = outcome.stalls.get(&Cause::Host).copied().unwrap_or(0.0);
            findings.extend([
                Finding::new(&setting, "cycles per packet", cycles, "cycles"),
                Finding::new(
                    &setting,
                    "time in which clusters wait for the host",
                    100.0 * waited / outcome.cycles,
                    "%",
                ),
            ]);
        }
    }
    Ok(findings)
}
