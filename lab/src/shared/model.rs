//! What a model is to the commands: workloads that it runs on machines, and the
//! published values that it reproduces.

pub use bench::{Bench, Effort};
pub use entry::{Class, Computation, Entry, Standing, Values};
pub use failure::Failure;
pub use run::{Activity, Metric, Output, Run, Trace, digits};
pub use workload::{Input, WORK_PREFIX, WorkFile, WorkKey, Workload, WorkloadKind};

use super::parameters::{ParameterError, Parameters};
use super::report::Plot;

mod bench;
mod entry;
mod failure;
mod run;
mod workload;

/// A model: a program whose parameters come from a machine file. The commands
/// `run`, `sweep`, `reproduce` and `sensitivity` and the HTML report know it by
/// this interface alone.
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

    /// What it runs. Names are unique among all models of a program.
    fn workloads(&self) -> Vec<WorkloadKind>;

    /// The kind of workloads that it reads from files, if there is one, and how
    /// the names of these files end: `.kernel`.
    fn file_kind(&self) -> Option<(WorkloadKind, &'static str)> {
        None
    }

    /// Runs a workload of its own on the machine of a bench. The same workload
    /// on the same machine has the same results.
    ///
    /// # Errors
    /// A workload that is not possible or does not fit the machine, and runs
    /// that fail.
    fn run(&self, bench: &Bench, workload: &Workload) -> Result<Run, Failure>;

    /// The published values, as comma-separated values (see
    /// [`reproduce`](super::reproduce)). A model without any has an empty table.
    fn published(&self) -> &'static str;

    /// The values of all rows when machine and kernels were frozen, in the columns id and
    /// values, computed as in a full run; none where they never were. Later changes of
    /// the model are seen beside them.
    fn frozen(&self) -> Option<&'static str> {
        None
    }

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
