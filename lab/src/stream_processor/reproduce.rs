//! The values that the stream thesis states, and the runs behind them.

use std::sync::Arc;

use crate::shared::model::{Bench, Entry};
use crate::shared::parameters::ParameterError;
use crate::stream_processor::applications::ProgramFailure;
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::Program;

pub(crate) use closed_forms::bloom_false_positives;
pub(super) use figures::figures;

mod aes;
mod authentication;
mod chip;
mod closed_forms;
mod encryption;
mod figures;
mod hashing;
mod inspection;
mod inspection_rows;
mod patterns;
mod references;
mod sketches;
mod sub_sketches;
mod substituted;
#[cfg(test)]
mod tests;

/// The published values.
pub(super) const PUBLISHED: &str = include_str!("reproduce/published.csv");

/// The values of all rows when machine and kernels were frozen (`lab/docs/freeze.md`).
pub(super) const FROZEN: &str = include_str!("reproduce/freeze-1.csv");

/// The registry, by chapter.
pub(super) fn entries() -> Vec<&'static Entry> {
    let chapters: [&[Entry]; 7] = [
        references::ENTRIES,
        encryption::ENTRIES,
        authentication::ENTRIES,
        inspection_rows::ENTRIES,
        sketches::ENTRIES,
        chip::ENTRIES,
        substituted::ENTRIES,
    ];
    chapters.into_iter().flatten().collect()
}

/// The thesis's machine and programs on a bench.
trait Thesis {
    /// The machine of the thesis's experiments, with that many adders and
    /// scratchpads in a cluster.
    fn imagine(&self, adders: u32, scratchpads: u32) -> Result<Machine, ParameterError>;

    /// The program of that name, written at its first use.
    fn program(
        &self,
        name: &str,
        write: impl FnOnce() -> Result<Program, ProgramFailure>,
    ) -> Result<Arc<Program>, ModelError>;

    /// Gigabits per second of a number of bits in a number of cycles.
    fn gbit_per_s(&self, bits: f64, cycles: f64) -> Result<f64, ParameterError>;
}

impl Thesis for Bench {
    fn imagine(&self, adders: u32, scratchpads: u32) -> Result<Machine, ParameterError> {
        Machine::of(&self.parameters(&[
            ("cluster.adders", f64::from(adders)),
            ("cluster.scratchpads", f64::from(scratchpads)),
        ])?)
    }

    fn program(
        &self,
        name: &str,
        write: impl FnOnce() -> Result<Program, ProgramFailure>,
    ) -> Result<Arc<Program>, ModelError> {
        Ok(self.input(name, write)?)
    }

    fn gbit_per_s(&self, bits: f64, cycles: f64) -> Result<f64, ParameterError> {
        Ok(bits / cycles * self.imagine(3, 1)?.clock_mhz / 1000.0)
    }
}
