//! What area, energy and delay of a machine follow from: the parameters of the
//! cost model ([`crate::stream_processor::cost`]), as a machine file gives them.

use crate::shared::parameters::Reader;

/// The process that a machine is made in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Technology {
    /// Drawn length of a gate.
    pub feature_um: f64,
    /// Supply.
    pub supply_v: f64,
    /// Capacitance of a wire with its repeaters.
    pub wire_ff_per_um: f64,
    /// Share of cycles in which a wire goes from 1 to 0.
    pub discharges: f64,
    /// Features from one wire to the next, a track.
    pub track_features: f64,
}

/// Areas in grids, a track by a track; widths and heights in tracks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Areas {
    /// A bit of the stream register file, of microcode or of a scratchpad.
    pub sram_bit_grids: f64,
    /// A word of a stream buffer.
    pub stream_buffer_word_grids: f64,
    /// Height of everything in a cluster.
    pub height_tracks: f64,
    /// Width of an arithmetic unit.
    pub alu_tracks: f64,
    /// Width of the two register files of a unit.
    pub registers_tracks: f64,
    /// Width of a scratchpad of 256 words.
    pub scratchpad_tracks: f64,
}

/// Energies, as multiples of what a wire of one track takes for a bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energies {
    /// An arithmetic operation.
    pub alu: f64,
    /// The register files of a unit, for an operation.
    pub registers: f64,
    /// An access to a scratchpad.
    pub scratchpad: f64,
    /// An access to a memory, for each bit that it holds.
    pub sram_bit: f64,
    /// A bit into or out of a stream buffer.
    pub stream_buffer_bit: f64,
    /// How many times the energy of words in sequence an indexed word takes.
    pub indexed_factor: f64,
}

/// Delays. FO4 is the delay of an inverter that drives four of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delays {
    /// Tracks that a signal goes in one FO4.
    pub tracks_per_fo4: f64,
    /// A multiplexer of two inputs.
    pub multiplexer_fo4: f64,
    /// A cycle of the clock.
    pub cycle_fo4: f64,
}

/// How the parts of a stream processor grow with its arithmetic units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Words of the stream register file for each unit and cycle of latency.
    pub srf_words_per_alu_cycle: f64,
    /// The latency of memory for that.
    pub memory_latency_cycles: f64,
    /// Words of a row of the stream register file for each unit of a cluster.
    pub srf_row_words_per_alu: f64,
    /// Words to and from stream buffers for each operation of a typical kernel.
    pub srf_words_per_operation: f64,
    /// Stream buffers of memory, host and network.
    pub buffers_elsewhere: f64,
    /// Stream buffers of the clusters, beside those that come with units.
    pub buffers_of_clusters: f64,
    /// Stream buffers of the clusters for each unit of one.
    pub buffers_per_alu: f64,
    /// Units for communication for each arithmetic unit.
    pub communicators_per_alu: f64,
    /// Scratchpads for each arithmetic unit.
    pub scratchpads_per_alu: f64,
    /// Instructions of microcode.
    pub instructions: f64,
    /// Bits of an instruction beside those for units.
    pub instruction_bits: f64,
    /// Bits of an instruction for each unit.
    pub instruction_bits_per_unit: f64,
}

/// All parameters of the cost model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The process.
    pub technology: Technology,
    /// Areas.
    pub area: Areas,
    /// Energies.
    pub energy: Energies,
    /// Delays.
    pub delay: Delays,
    /// Growth.
    pub scaling: Scaling,
}

impl Costs {
    pub(super) fn read(take: &mut Reader<'_>) -> Costs {
        /// Anything that is not nothing.
        const SMALL: f64 = 1e-6;
        const LARGE: f64 = 1e9;
        let mut positive = |key: &str| take.number(key, SMALL, LARGE);
        Costs {
            technology: Technology {
                feature_um: positive("technology.feature_um"),
                supply_v: positive("technology.supply_v"),
                wire_ff_per_um: positive("technology.wire_ff_per_um"),
                discharges: positive("technology.discharges"),
                track_features: positive("technology.track_features"),
            },
            area: Areas {
                sram_bit_grids: positive("area.sram_bit_grids"),
                stream_buffer_word_grids: positive("area.stream_buffer_word_grids"),
                height_tracks: positive("area.height_tracks"),
                alu_tracks: positive("area.alu_tracks"),
                registers_tracks: positive("area.registers_tracks"),
                scratchpad_tracks: positive("area.scratchpad_tracks"),
            },
            energy: Energies {
                alu: positive("energy.alu"),
                registers: positive("energy.registers"),
                scratchpad: positive("energy.scratchpad"),
                sram_bit: positive("energy.sram_bit"),
                stream_buffer_bit: positive("energy.stream_buffer_bit"),
                indexed_factor: positive("energy.indexed_factor"),
            },
            delay: Delays {
                tracks_per_fo4: positive("delay.tracks_per_fo4"),
                multiplexer_fo4: positive("delay.multiplexer_fo4"),
                cycle_fo4: positive("delay.cycle_fo4"),
            },
            scaling: Scaling {
                srf_words_per_alu_cycle: positive("scaling.srf_words_per_alu_cycle"),
                memory_latency_cycles: positive("scaling.memory_latency_cycles"),
                srf_row_words_per_alu: positive("scaling.srf_row_words_per_alu"),
                srf_words_per_operation: positive("scaling.srf_words_per_operation"),
                buffers_elsewhere: positive("scaling.buffers_elsewhere"),
                buffers_of_clusters: positive("scaling.buffers_of_clusters"),
                buffers_per_alu: positive("scaling.buffers_per_alu"),
                communicators_per_alu: positive("scaling.communicators_per_alu"),
                scratchpads_per_alu: positive("scaling.scratchpads_per_alu"),
                instructions: positive("scaling.instructions"),
                instruction_bits: positive("scaling.instruction_bits"),
                instruction_bits_per_unit: positive("scaling.instruction_bits_per_unit"),
            },
        }
    }
}
