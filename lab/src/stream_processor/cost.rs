//! Area, energy and delay of stream processors, after Khailany et al.,
//! "Exploring the VLSI scalability of stream processors" (HPCA 2003).
//!
//! A [`Shape`] has the parameters that costs depend on: clusters, their units,
//! the words of their memories. It is that of a machine file, or of the paper's
//! machines, which scale with the arithmetic units per cluster or with the
//! number of clusters. [`Shape::area`] is in grids, squares of one track's
//! width; [`Shape::energies`] in units of one bit on a wire of that length;
//! [`Process`] converts them to mm² and joules. [`power`] computes the power of
//! a run from its operations.
//!
//! Layout: the units of a cluster form a square with a switch between them, and
//! the clusters with their banks of the stream register file form another one.
//! A bit that crosses a square travels along two sides.
//!
//! Not in the model: dividers (the paper's 5 units per cluster are Imagine's
//! adders and multipliers), the controllers of memory, network and host, pads,
//! the clock tree, and leakage.

pub use area::Area;
pub use energy::{Energies, Part, Power, power};
pub use process::Process;

use crate::stream_processor::machine::{Costs, Machine};

mod area;
mod energy;
mod process;
#[cfg(test)]
mod tests;

/// Bits of a word.
const WORD_BITS: f64 = 32.0;
/// Words of the scratchpad whose width is a parameter.
const SCRATCHPAD_WORDS: f64 = 256.0;

/// What costs depend on. Numbers of units need not be whole: the paper's
/// machines have a fifth of a scratchpad for each arithmetic unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Clusters.
    pub clusters: f64,
    /// Arithmetic units of a cluster: adders and multipliers.
    pub alus: f64,
    /// Scratchpads of a cluster.
    pub scratchpads: f64,
    /// Words of each scratchpad.
    pub scratchpad_words: f64,
    /// Units for communication of a cluster.
    pub communicators: f64,
    /// Words of the stream register file, for each cluster.
    pub srf_words: f64,
    /// Bits of the microcode store.
    pub microcode_bits: f64,
    /// Bits of an instruction.
    pub instruction_bits: f64,
    /// The parameters.
    pub costs: Costs,
}

impl Shape {
    /// The shape of a machine.
    pub fn of(machine: &Machine) -> Shape {
        let (cluster, microcode) = (&machine.cluster, &machine.microcode);
        let instruction_bits = f64::from(microcode.instruction_bits);
        Shape {
            clusters: machine.clusters as f64,
            alus: f64::from(cluster.adders + cluster.multipliers),
            scratchpads: f64::from(cluster.scratchpads),
            scratchpad_words: f64::from(cluster.scratchpad_words),
            communicators: f64::from(cluster.communicators),
            srf_words: machine.srf.bytes as f64 / 4.0 / machine.clusters as f64,
            microcode_bits: f64::from(microcode.instructions) * instruction_bits,
            instruction_bits,
            costs: machine.costs,
        }
    }

    /// The paper's machine with a number of clusters of a number of arithmetic units:
    /// all else grows with them.
    pub fn scaled(clusters: f64, alus: f64, costs: Costs) -> Shape {
        let scaling = costs.scaling;
        // A cluster has one of each at least.
        let scratchpads = (scaling.scratchpads_per_alu * alus).max(1.0);
        let communicators = (scaling.communicators_per_alu * alus).max(1.0);
        let units = alus + scratchpads + communicators;
        let instruction_bits = scaling.instruction_bits + scaling.instruction_bits_per_unit * units;
        Shape {
            clusters,
            alus,
            scratchpads,
            scratchpad_words: SCRATCHPAD_WORDS,
            communicators,
            srf_words: scaling.srf_words_per_alu_cycle * scaling.memory_latency_cycles * alus,
            microcode_bits: scaling.instructions * instruction_bits,
            instruction_bits,
            costs,
        }
    }

    /// Units of a cluster.
    pub fn units(&self) -> f64 {
        self.alus + self.scratchpads + self.communicators
    }

    /// Stream buffers of the clusters.
    fn cluster_buffers(&self) -> f64 {
        self.costs.scaling.buffers_of_clusters + self.costs.scaling.buffers_per_alu * self.alus
    }

    /// Words of a row of a cluster's bank of the stream register file.
    fn srf_row_words(&self) -> f64 {
        self.costs.scaling.srf_row_words_per_alu * self.alus
    }

    /// Delay of a bit within a cluster and between clusters, in FO4: along two
    /// sides, and through a tree of multiplexers.
    pub fn delays_fo4(&self) -> [f64; 2] {
        let (delay, area) = (self.costs.delay, self.area());
        let of = |area: f64, sources: f64| {
            2.0 * area.sqrt() / delay.tracks_per_fo4
                + delay.multiplexer_fo4 * sources.max(1.0).log2()
        };
        [
            of(area.cluster, self.units()),
            of(area.total(), self.clusters * self.communicators),
        ]
    }
}
