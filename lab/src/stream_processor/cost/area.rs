//! Areas of a machine's parts.

use super::{SCRATCHPAD_WORDS, Shape, WORD_BITS};

/// The parts of a machine, in grids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// How many clusters there are.
    pub clusters: f64,
    /// A cluster, with its switch.
    pub cluster: f64,
    /// A cluster's bank of the stream register file, with its stream buffers.
    pub srf_bank: f64,
    /// The microcode store.
    pub microcontroller: f64,
    /// The switch between clusters.
    pub switch: f64,
}

impl Area {
    /// All parts.
    pub fn total(&self) -> f64 {
        self.clusters * (self.cluster + self.srf_bank) + self.microcontroller + self.switch
    }
}

impl Shape {
    /// The area of each part.
    pub fn area(&self) -> Area {
        let cluster = self.units_area() + self.cluster_switch_area();
        let srf_bank = self.srf_bank_area();
        // Rows and columns of words over the square of clusters.
        let words = self.communicators * WORD_BITS * self.clusters.sqrt();
        let side = (cluster + srf_bank).sqrt();
        Area {
            clusters: self.clusters,
            cluster,
            srf_bank,
            microcontroller: self.microcode_bits * self.costs.area.sram_bit_grids,
            switch: self.clusters
                * self.communicators
                * WORD_BITS
                * self.clusters.sqrt()
                * (words + 2.0 * side),
        }
    }

    fn units_area(&self) -> f64 {
        let area = self.costs.area;
        let width = self.units() * area.registers_tracks
            + self.alus * area.alu_tracks
            + self.scratchpads * area.scratchpad_tracks;
        let more_words = self.scratchpads * (self.scratchpad_words - SCRATCHPAD_WORDS);
        area.height_tracks * width + more_words * WORD_BITS * area.sram_bit_grids
    }

    /// Units lie in rows and columns. Each sends a word over a column's wires,
    /// and takes words from a row's; stream buffers take part as units do.
    fn cluster_switch_area(&self) -> f64 {
        let area = self.costs.area;
        let units = self.units();
        let side = units.sqrt();
        let wires = side * WORD_BITS;
        let between_units = units
            * wires
            * (2.0 * wires
                + area.height_tracks
                + 2.0 * area.alu_tracks
                + 2.0 * area.registers_tracks);
        let to_buffers = side
            * (3.0 * wires + area.height_tracks + area.alu_tracks + area.registers_tracks)
            * self.cluster_buffers()
            * WORD_BITS;
        between_units + to_buffers
    }

    /// Words, and two rows for each stream buffer.
    fn srf_bank_area(&self) -> f64 {
        let area = self.costs.area;
        let buffers = self.costs.scaling.buffers_elsewhere + self.cluster_buffers();
        self.srf_words * WORD_BITS * area.sram_bit_grids
            + 2.0 * self.srf_row_words() * buffers * area.stream_buffer_word_grids
    }
}
