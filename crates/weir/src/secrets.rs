//! Keeps secrets out of core dumps.

use anyhow::Context;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use weir_console::{Failure, Outcome};

/// A process that holds keys leaves no core file and cannot be traced by
/// other processes of its user.
pub fn keep_out_of_core_dumps() -> Outcome {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable))
        .context("cannot switch core dumps off")
        .map_err(Failure::Running)
}
