//! The energy of each action of a machine, and the power of a run.

use super::{Process, Shape, WORD_BITS};
use crate::stream_processor::kernel::Class;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::Outcome;

/// Energies of a machine's actions, in units of one bit on a wire of one
/// track's length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energies {
    /// An arithmetic operation, without its registers.
    pub alu: f64,
    /// The registers of an operation.
    pub registers: f64,
    /// An access to a scratchpad, without its registers.
    pub scratchpad: f64,
    /// A word over the switch of a cluster.
    pub cluster_switch: f64,
    /// A word over the switch between clusters.
    pub switch: f64,
    /// A word into or out of a stream buffer.
    pub stream_buffer: f64,
    /// A word between a stream buffer and its bank of the stream register
    /// file.
    pub srf_word: f64,
    /// A word of an indexed stream.
    pub indexed_word: f64,
    /// An instruction: from the microcode store to all clusters.
    pub instruction: f64,
}

impl Shape {
    /// The energy of each action.
    pub fn energies(&self) -> Energies {
        let (energy, area) = (self.costs.energy, self.area());
        let two_sides = |area: f64| 2.0 * area.sqrt();
        let stream_buffer = WORD_BITS * energy.stream_buffer_bit;
        let row = self.srf_words * WORD_BITS * energy.sram_bit;
        let srf_word = row / self.srf_row_words();
        // A tree whose branches are the sides of clusters.
        let wires = self.clusters * (area.cluster + area.srf_bank).sqrt();
        Energies {
            alu: energy.alu,
            registers: energy.registers,
            scratchpad: energy.scratchpad,
            cluster_switch: WORD_BITS * two_sides(area.cluster),
            switch: WORD_BITS * two_sides(area.total()),
            stream_buffer,
            srf_word,
            indexed_word: energy.indexed_factor * (stream_buffer + srf_word),
            instruction: self.microcode_bits * energy.sram_bit + self.instruction_bits * wires,
        }
    }

    /// The energy of a cycle in which all units work, for a kernel that is
    /// typical in its streams.
    pub fn busy_cycle(&self) -> f64 {
        let each = self.energies();
        let words = self.costs.scaling.srf_words_per_operation * self.alus;
        let cluster = self.units() * (each.registers + each.cluster_switch)
            + self.alus * each.alu
            + self.scratchpads * each.scratchpad
            + self.communicators * each.switch
            + words * (each.stream_buffer + each.srf_word);
        self.clusters * cluster + each.instruction
    }
}

/// A part of a machine, as to what takes power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Units, registers, scratchpads and the switch of clusters.
    Clusters,
    /// The stream register file and its buffers.
    StreamRegisterFile,
    /// Microcode.
    Microcontroller,
    /// The switch between clusters.
    Switch,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 4] = [
        Part::Clusters,
        Part::StreamRegisterFile,
        Part::Microcontroller,
        Part::Switch,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Part::Clusters => "clusters",
            Part::StreamRegisterFile => "stream register file",
            Part::Microcontroller => "microcontroller",
            Part::Switch => "switch between clusters",
        }
    }
}

/// The mean power of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Watts of each part, in the order of [`Part::ALL`].
    pub watts: [f64; Part::ALL.len()],
    /// Energy of the whole run.
    pub joules: f64,
    /// Energy for each arithmetic operation.
    pub picojoules_per_operation: f64,
}

impl Power {
    /// All parts.
    pub fn total_watts(&self) -> f64 {
        self.watts.iter().sum()
    }
}

/// The power of a run on a machine, from what it did.
pub fn power(outcome: &Outcome, machine: &Machine) -> Power {
    let each = Shape::of(machine).energies();
    let process = Process::of(&machine.costs.technology);
    let count = |class: Class| -> f64 {
        let found = outcome.by_class.iter().find(|(other, _)| *other == class);
        found.map_or(0.0, |(_, count)| *count as f64)
    };
    let sum = |classes: &[Class]| classes.iter().map(|&class| count(class)).sum::<f64>();

    let scratchpad = sum(&[Class::ScratchRead, Class::ScratchWrite]);
    let indexed = sum(&[Class::IndexedRead, Class::IndexedWrite]);
    let streamed = sum(&[Class::Input, Class::Output]);
    let moved = count(Class::Communicate);
    let operations = outcome.operations as f64;
    // A 64-bit addition is as many additions as it keeps an adder busy for.
    let additions = f64::from(machine.timing(Class::Add64).interval.max(1));
    let done = operations + count(Class::Add64) * (additions - 1.0);
    let issued = done + scratchpad + moved;
    let moved_words = (outcome.memory_bytes + outcome.network_bytes) as f64 / 4.0;
    let energy = [
        issued * (each.registers + each.cluster_switch)
            + done * each.alu
            + scratchpad * each.scratchpad,
        // Words to and from memory and network go through buffers as well.
        (streamed + moved_words) * (each.stream_buffer + each.srf_word)
            + indexed * each.indexed_word,
        // Instructions are fetched while a kernel runs.
        outcome.kernel_cycles * each.instruction,
        moved * each.switch,
    ];
    let seconds = outcome.cycles.max(1.0) / (machine.clock_mhz * 1e6);
    let joules = process.joules(energy.iter().sum());
    Power {
        watts: energy.map(|energy| process.joules(energy) / seconds),
        joules,
        picojoules_per_operation: joules / operations.max(1.0) * 1e12,
    }
}
