//! Stream programs, and the machine that runs them (the thesis's StreamC).
//!
//! A [`Program`] is written as a host program: it loads streams from memory
//! into the stream register file, calls kernels on them and stores what they
//! give. Each call computes at once, so that a program has real results; what
//! the host would send to the stream controller is recorded beside them.
//! [`simulate`] plays the record on a machine: the host's bus, the scoreboard,
//! room in the stream register file, address generators that share the
//! memory's rate, one kernel at a time, and the store of microcode.
//!
//! The simulation goes from event to event. Streams move at even rates: a
//! kernel that takes words faster than the stream register file gives them
//! takes longer by that ratio.

pub use program::{
    Instruction, KernelId, MemoryRange, Program, ProgramError, Recorded, Stream, StreamFacts,
};
pub use simulate::{Activity, Cause, Outcome, SimulateError, Task, Unit, simulate};

use crate::stream_processor::machine::Machine;
use crate::stream_processor::schedule::{Schedule, ScheduleError};

mod program;
mod simulate;
#[cfg(test)]
mod tests;

/// A program that cannot be scheduled for a machine or run on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A kernel.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The program.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
}

/// Schedules a program's kernels and plays it.
///
/// # Errors
/// Kernels that the machine has no room for, and streams.
pub fn run(program: &Program, machine: &Machine) -> Result<Outcome, RunError> {
    let kernels = program.kernels().iter();
    let schedules = kernels
        .map(|kernel| Schedule::of(kernel, machine))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(simulate(program, machine, &schedules)?)
}
