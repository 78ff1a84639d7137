//! What a model is to the commands: machines, and the published values that it
//! reproduces.

use super::parameters::{ParameterError, Parameters};
use super::report::Plot;
use super::reproduce::{Bench, Entry};

/// A model: a program whose parameters come from a machine file. The commands
/// `reproduce` and `sensitivity` and the HTML report know it by this interface
/// alone.
pub trait Model: Sync {
    /// The name that machine files give in `model = "…"`.
    fn name(&self) -> &'static str;

    /// The built-in machines: name, and text of the file. The first one is the
    /// machine of the published rows.
    fn machines(&self) -> &'static [(&'static str, &'static str)];

    /// Checks parameters together.
    ///
    /// # Errors
    /// A parameter that is missing, unknown or out of range, and values that
    /// exclude each other.
    fn check(&self, parameters: &Parameters) -> Result<(), ParameterError>;

    /// The published values, as comma-separated values (see
    /// [`reproduce`](super::reproduce)). A model without any has an empty table.
    fn published(&self) -> &'static str;

    /// The computation of each published value.
    fn entries(&self) -> Vec<&'static Entry>;

    /// The title of the report, and what its rows are.
    fn title(&self) -> [&'static str; 2];

    /// Curves of the report, if the source has figures.
    ///
    /// # Errors
    /// Runs that fail.
    fn figures(&self, bench: &Bench) -> Result<Vec<Plot>, Failure>;
}

/// A run that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The machine.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The workload.
    #[error("{0}")]
    Workload(String),
    /// The run itself.
    #[error("{0}")]
    Run(String),
}
