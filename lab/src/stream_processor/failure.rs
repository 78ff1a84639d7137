//! What can go wrong on the way from a kernel to a run.

use crate::shared::model::Failure;
use crate::shared::parameters::ParameterError;
use crate::stream_processor::applications::ProgramFailure;
use crate::stream_processor::kernel::BuildError;
use crate::stream_processor::schedule::ScheduleError;
use crate::stream_processor::stream::RunError;

/// A model that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A machine that cannot be used.
    #[error(transparent)]
    Machine(#[from] ParameterError),
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

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Failure {
        match error {
            ModelError::Machine(error) => Failure::Parameters(error),
            ModelError::Program(ProgramFailure::Workload(reason)) => Failure::Workload(reason),
            // Another machine may have the room.
            ModelError::Schedule(_) | ModelError::Run(_) => Failure::Workload(error.to_string()),
            ModelError::Build(_) | ModelError::Program(_) => Failure::Run(error.to_string()),
        }
    }
}
