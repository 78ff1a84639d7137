//! The stream processor as a model.

use super::kernel::text::ENDING;
use super::machine::{BUILT_IN, MODEL, Machine};
use super::{reproduce, workloads};
use crate::shared::model::{Bench, Entry, Failure, Model, Run, Workload, WorkloadKind};
use crate::shared::parameters::{ParameterError, Parameters};
use crate::shared::report::Plot;

/// The model.
#[derive(Clone, Copy, Debug)]
pub struct StreamProcessor;

impl Model for StreamProcessor {
    fn name(&self) -> &'static str {
        MODEL
    }

    fn machines(&self) -> &'static [(&'static str, &'static str)] {
        &BUILT_IN
    }

    fn check(&self, parameters: &Parameters) -> Result<(), ParameterError> {
        Machine::of(parameters).map(drop)
    }

    fn workloads(&self) -> Vec<WorkloadKind> {
        workloads::kinds()
    }

    fn file_kind(&self) -> Option<(WorkloadKind, &'static str)> {
        Some((workloads::KERNEL_FILE, ENDING))
    }

    fn run(&self, bench: &Bench, workload: &Workload) -> Result<Run, Failure> {
        workloads::run(bench, workload)
    }

    fn published(&self) -> &'static str {
        reproduce::PUBLISHED
    }

    fn frozen(&self) -> Option<&'static str> {
        Some(reproduce::FROZEN)
    }

    fn entries(&self) -> Vec<&'static Entry> {
        reproduce::entries()
    }

    fn title(&self) -> [&'static str; 2] {
        [
            "The stream thesis beside its model",
            "The values that Lai, Packet Processing on Stream Architecture (2006), states, each \
             beside the value of a model.",
        ]
    }

    fn figures(&self, bench: &Bench) -> Result<Vec<Plot>, Failure> {
        Ok(reproduce::figures(bench)?)
    }
}
