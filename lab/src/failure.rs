//! What can go wrong on the way from a kernel to a run.

use crate::applications::ProgramFailure;
use crate::kernel::BuildError;
use crate::machine::MachineError;
use crate::schedule::ScheduleError;
use crate::stream::RunError;

/// A model that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A machine that cannot be used.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A kernel that cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A program that cannot be written.
    #[error(transparent)]
    Program(#[from] ProgramFailure),
    /// A kernel that cannot be scheduled.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A program that cannot run.
    #[error(transparent)]
    Run(#[from] RunError),
}
