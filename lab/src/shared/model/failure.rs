//! Why a run is not possible.

use crate::shared::parameters::ParameterError;

/// A run that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The machine.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The workload, alone or on this machine: other values may be possible.
    #[error("{0}")]
    Workload(String),
    /// The run itself: a check of the model failed.
    #[error("{0}")]
    Run(String),
}
