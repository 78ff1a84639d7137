//! A network interface in front: the thesis simulates packets that lie in
//! memory.

use super::{Finding, Findings};
use crate::stream_processor::applications::{Size, program};
use crate::stream_processor::cost::power;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::run as play;

const PACKETS: usize = 64;

pub(super) fn run(machine: &Machine) -> Findings {
    let mut findings = Vec::new();
    for (name, bytes) in [("aes", 128), ("aes", 1536), ("mmh", 128), ("mmh", 1536)] {
        let Some(entry) = program(name) else {
            continue;
        };
        let size = Size {
            packets: PACKETS,
            bytes,
            key_agile: true,
            dual: false,
        };
        let written = (entry.build)(machine.clusters, &size)?;
        for (carries, from) in [(0.0, "memory"), (1.0, "network interface")] {
            let machine = machine.with("network.carries_packets", carries)?;
            let outcome = play(&written, &machine)?.measured();
            let cycles = outcome.cycles;
            let setting = format!("{name}, packets of {bytes} bytes from {from}");
            let gbit_per_s = 8.0 * (PACKETS * bytes) as f64 / cycles * machine.clock_mhz / 1000.0;
            let watts = power(&outcome, &machine).total_watts();
            findings.extend([
                Finding::new(
                    &setting,
                    "cycles per packet",
                    cycles / PACKETS as f64,
                    "cycles",
                ),
                Finding::new(&setting, "throughput", gbit_per_s, "Gbit/s"),
                Finding::new(&setting, "power", watts, "W"),
            ]);
        }
    }
    Ok(findings)
}
