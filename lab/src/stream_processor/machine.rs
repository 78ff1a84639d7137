//! Machine models, read from text files: kernels are scheduled for them, and
//! programs run on them.
//!
//! The format of the files is that of [`parameters`](crate::shared::parameters).
//!
//! The structure of a machine is fixed: adders execute additions, logic, shifts
//! and comparisons; adders, multipliers and dividers execute selections and
//! shuffles (thesis, 2.6); each scratchpad has a read port and a write port (2.4).

use crate::shared::parameters::{ParameterError, Parameters};

use crate::stream_processor::kernel::Class;

pub use costs::{Areas, Costs, Delays, Energies, Scaling, Technology};

mod costs;

/// The name of the model in machine files.
pub const MODEL: &str = "stream-processor";

/// The built-in machines, by name.
pub const BUILT_IN: [(&str, &str); 2] = [
    ("imagine", include_str!("../../machines/imagine.toml")),
    (
        "imagine-original",
        include_str!("../../machines/imagine-original.toml"),
    ),
];

/// How long an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cycles from issue until an operation that needs the result can issue.
    pub latency: u32,
    /// Cycles for which the unit takes nothing else.
    pub interval: u32,
}

/// The parts of a cluster, and of what feeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Units that add, compare, shift and do logic.
    pub adders: u32,
    /// Units that multiply.
    pub multipliers: u32,
    /// Units that divide.
    pub dividers: u32,
    /// Scratchpads.
    pub scratchpads: u32,
    /// Words of each scratchpad.
    pub scratchpad_words: u32,
    /// Units that exchange words with other clusters.
    pub communicators: u32,
    /// Words of all local register files together.
    pub register_words: u32,
    /// Words per cycle between the cluster and the stream register file.
    pub stream_ports: u32,
    /// Cycles that a block of code takes beside its operations, for the
    /// branch that ends it.
    pub branch_cycles: u32,
}

/// The stream register file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamRegisterFile {
    /// Its size.
    pub bytes: u64,
    /// Bytes that it moves to and from all clusters, memory and host in one
    /// cycle.
    pub bytes_per_cycle: f64,
}

/// Memory and the units that move streams to and from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Bytes per cycle, all streams together.
    pub bytes_per_cycle: f64,
    /// Cycles from the start of a transfer to its first word.
    pub latency_cycles: u64,
    /// Streams that can be under way at once.
    pub address_generators: u32,
    /// Bytes per cycle of one stream.
    pub stream_bytes_per_cycle: f64,
    /// Share of the rate that is left when words are not in sequence.
    pub indexed_share: f64,
}

/// The microcontroller's store of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Microcode {
    /// Instructions that it holds.
    pub instructions: u32,
    /// Bits of an instruction.
    pub instruction_bits: u32,
    /// Cycles from the issue of a kernel to its first instruction.
    pub start_cycles: u64,
    /// Cycles from a kernel's last instruction to its completion.
    pub end_cycles: u64,
}

/// The host and the way its instructions take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Clock of the bus in MHz; it moves a word of 32 bits at a time.
    pub bus_mhz: f64,
    /// Bus cycles for a word.
    pub bus_cycles_per_word: f64,
    /// Bus words of `memop`, which moves a stream to or from memory.
    pub memop_words: u32,
    /// Bus words of `clustop`, which starts a kernel.
    pub clustop_words: u32,
    /// Bus words of `load_ucode`, which loads a kernel's instructions.
    pub load_ucode_words: u32,
    /// Bus words of `write_imm`, which sets a register of the controller.
    pub write_imm_words: u32,
    /// Bus words of `move`, which reads one.
    pub move_words: u32,
    /// Bus words of `barrier`.
    pub barrier_words: u32,
    /// Stream instructions that may wait in the scoreboard.
    pub scoreboard_slots: u32,
    /// Cycles until the host knows the length of a stream that a kernel or a
    /// copy determined.
    pub length_cycles: u64,
    /// Streams of an array that one instruction moves or hands to a kernel.
    pub array_streams: u32,
}

/// The interface to the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Whether packets come and go through it, and not to and from memory:
    /// all streams after a program's first barrier.
    pub carries_packets: bool,
    /// Streams that can be under way at once.
    pub streams: u32,
    /// Bytes per cycle, all streams together.
    pub bytes_per_cycle: f64,
    /// Bytes per cycle of one stream.
    pub stream_bytes_per_cycle: f64,
    /// Bus words of `netop`, which moves a stream.
    pub netop_words: u32,
}

/// A stream processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    parameters: Parameters,
    timings: [Timing; Class::ALL.len()],
    /// Clock in MHz.
    pub clock_mhz: f64,
    /// Clusters that run in lock step.
    pub clusters: usize,
    /// What a cluster has.
    pub cluster: Cluster,
    /// The stream register file.
    pub srf: StreamRegisterFile,
    /// Memory.
    pub memory: Memory,
    /// The microcontroller.
    pub microcode: Microcode,
    /// The host.
    pub host: Host,
    /// The interface to the network.
    pub network: Network,
    /// What its area, energy and delays follow from.
    pub costs: Costs,
}

impl Machine {
    /// The machine of that name, or in that file (a name that ends in
    /// `.toml`), with some parameters set to other values.
    ///
    /// # Errors
    /// A file that cannot be read; a parameter that is missing, unknown,
    /// without a source or out of range, by file and key.
    pub fn load(name: &str, changes: &[(String, f64)]) -> Result<Machine, ParameterError> {
        Machine::of(&Parameters::load(name, &BUILT_IN)?.with(changes)?)
    }

    /// The same machine with one parameter set to another value.
    ///
    /// # Errors
    /// A parameter that is unknown or out of range.
    pub fn with(&self, key: &str, value: f64) -> Result<Machine, ParameterError> {
        self.with_all(&[(key.to_owned(), value)])
    }

    /// The same machine with several parameters set to other values.
    ///
    /// # Errors
    /// A parameter that is unknown or out of range, and values that exclude
    /// each other.
    pub fn with_all(&self, changes: &[(String, f64)]) -> Result<Machine, ParameterError> {
        Machine::of(&self.parameters.with(changes)?)
    }

    /// The machine with those parameters.
    ///
    /// # Errors
    /// Parameters of another model, or missing, unknown or out of range; values
    /// that exclude each other.
    pub fn of(parameters: &Parameters) -> Result<Machine, ParameterError> {
        let mut take = parameters.reader(MODEL)?;
        let timings = Class::ALL.map(|class| {
            let mut value = |what: &str, most| {
                take.count(&format!("operation.{}.{what}", class.name()), 1, most)
            };
            Timing {
                latency: value("latency", 64),
                interval: value("interval", 64),
            }
        });
        let machine = Machine {
            timings,
            clock_mhz: take.number("clock_mhz", 1.0, 100_000.0),
            clusters: take.power_of_two("clusters", 32) as usize,
            cluster: Cluster {
                adders: take.count("cluster.adders", 1, 64),
                multipliers: take.count("cluster.multipliers", 1, 64),
                dividers: take.count("cluster.dividers", 0, 64),
                scratchpads: take.count("cluster.scratchpads", 1, 16),
                scratchpad_words: take.count("cluster.scratchpad_words", 1, 1 << 20),
                communicators: take.count("cluster.communicators", 1, 16),
                register_words: take.count("cluster.register_words", 8, 1 << 16),
                stream_ports: take.count("cluster.stream_ports", 1, 16),
                branch_cycles: take.count("cluster.branch_cycles", 0, 64),
            },
            srf: StreamRegisterFile {
                bytes: u64::from(take.count("srf.bytes", 1024, 1 << 30)),
                bytes_per_cycle: take.number("srf.bytes_per_cycle", 0.25, 65_536.0),
            },
            memory: Memory {
                bytes_per_cycle: take.number("memory.bytes_per_cycle", 0.01, 65_536.0),
                latency_cycles: u64::from(take.count("memory.latency_cycles", 0, 100_000)),
                address_generators: take.count("memory.address_generators", 1, 64),
                stream_bytes_per_cycle: take.number(
                    "memory.stream_bytes_per_cycle",
                    0.01,
                    65_536.0,
                ),
                indexed_share: take.number("memory.indexed_share", 0.001, 1.0),
            },
            microcode: Microcode {
                instructions: take.count("microcode.instructions", 1, 1 << 20),
                instruction_bits: take.count("microcode.instruction_bits", 1, 1 << 16),
                start_cycles: u64::from(take.count("microcode.start_cycles", 0, 100_000)),
                end_cycles: u64::from(take.count("microcode.end_cycles", 0, 100_000)),
            },
            host: Host {
                bus_mhz: take.number("host.bus_mhz", 0.1, 100_000.0),
                bus_cycles_per_word: take.number("host.bus_cycles_per_word", 0.1, 1_000.0),
                memop_words: take.count("host.memop_words", 1, 64),
                clustop_words: take.count("host.clustop_words", 1, 64),
                load_ucode_words: take.count("host.load_ucode_words", 1, 64),
                write_imm_words: take.count("host.write_imm_words", 1, 64),
                move_words: take.count("host.move_words", 1, 64),
                barrier_words: take.count("host.barrier_words", 1, 64),
                scoreboard_slots: take.count("host.scoreboard_slots", 1, 4096),
                length_cycles: u64::from(take.count("host.length_cycles", 0, 1_000_000)),
                array_streams: take.count("host.array_streams", 1, 1024),
            },
            network: Network {
                carries_packets: take.count("network.carries_packets", 0, 1) == 1,
                streams: take.count("network.streams", 1, 64),
                bytes_per_cycle: take.number("network.bytes_per_cycle", 0.01, 65_536.0),
                stream_bytes_per_cycle: take.number(
                    "network.stream_bytes_per_cycle",
                    0.01,
                    65_536.0,
                ),
                netop_words: take.count("network.netop_words", 1, 64),
            },
            costs: Costs::read(&mut take),
            parameters: parameters.clone(),
        };
        take.finish()?;
        match machine.contradiction() {
            Some((key, reason)) => Err(ParameterError::Contradiction {
                file: parameters.name().to_owned(),
                key: key.to_owned(),
                reason: reason.to_owned(),
            }),
            None => Ok(machine),
        }
    }

    /// A key whose value others exclude, and why.
    fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let (memory, cluster, srf) = (&self.memory, &self.cluster, &self.srf);
        let units = cluster.adders + cluster.multipliers + cluster.dividers;
        let row_bytes = 4 * self.clusters as u64;
        [
            (
                memory.stream_bytes_per_cycle > memory.bytes_per_cycle,
                "memory.stream_bytes_per_cycle",
                "one stream cannot be faster than memory.bytes_per_cycle",
            ),
            (
                self.network.stream_bytes_per_cycle > self.network.bytes_per_cycle,
                "network.stream_bytes_per_cycle",
                "one stream cannot be faster than network.bytes_per_cycle",
            ),
            (
                memory.bytes_per_cycle > srf.bytes_per_cycle,
                "memory.bytes_per_cycle",
                "memory cannot be faster than srf.bytes_per_cycle, where its words go",
            ),
            (
                !srf.bytes.is_multiple_of(row_bytes),
                "srf.bytes",
                "its bytes are no whole number of words for each cluster",
            ),
            (
                cluster.register_words < 2 * units,
                "cluster.register_words",
                "there are less than two words for each adder, multiplier and divider",
            ),
        ]
        .into_iter()
        .find_map(|(wrong, key, reason)| wrong.then_some((key, reason)))
    }

    /// Its name, or its file's.
    pub fn name(&self) -> &str {
        self.parameters.name()
    }

    /// Every parameter with its source.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// How long operations of a class take.
    pub fn timing(&self, class: Class) -> Timing {
        self.timings[class as usize]
    }
}

#[cfg(test)]
mod tests;
