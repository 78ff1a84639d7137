//! The command `weir-lab`: machine models, and what they reproduce.
//!
//! `cli` says what can be asked for, and `command` does it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

mod cli;
mod command;

fn main() -> ExitCode {
    weir_console::run(command::dispatch)
}
