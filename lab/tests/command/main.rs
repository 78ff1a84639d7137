//! The command as scripts see it: every test starts `weir-lab` and reads what it wrote.

mod contract;
mod documents;
mod models;

use std::ffi::OsStr;
use std::process::Command;

use weir_processes::Said;

/// Runs `weir-lab` with empty standard input.
fn lab<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Said {
    weir_processes::run(command(arguments), b"")
}

fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-lab"));
    command.args(arguments);
    command
}
