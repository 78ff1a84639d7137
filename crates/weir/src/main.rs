//! The `weir` command: one gate for packet streams.
//!
//! `cli` has the arguments, `command` runs it by `weir_gateway`, and `tables` shows to
//! people what happened.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use weir_console::{Failure, messages};

mod cli;
mod command;
mod execute;
mod failure;
mod operate;
#[cfg(target_os = "linux")]
mod privileges;
mod rules;
#[cfg(target_os = "linux")]
mod sandbox;
mod secrets;
mod signals;
mod tables;

use cli::{Cli, Command};

fn main() -> ExitCode {
    weir_console::run(|cli: Cli| {
        // The lab's program gets the process as it began, and neither keys nor kernels.
        if !matches!(cli.command, Command::Lab(_)) {
            secrets::keep_out_of_core_dumps()?;
            weir_simd::force_from_environment().map_err(Failure::usage)?;
            messages::detail(format_args!("active ISA {}", weir_simd::tier().name()));
        }
        command::dispatch(cli)
    })
}
