//! The `weir` command: one gate for packet streams.
//!
//! `cli` says what can be asked for, `command` does it, `config` reads the
//! file of `weir run`, `gateway` turns it into pipelines, `execute` runs them,
//! and `report` shows what happened, to people and to scripts.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use weir_console::{Failure, messages};

mod associations;
mod changes;
mod cli;
mod command;
mod config;
mod execute;
mod filter;
mod gateway;
mod input;
mod inspected;
mod measured;
#[cfg(target_os = "linux")]
mod pace;
#[cfg(target_os = "linux")]
mod recording;
mod report;
mod rules;
mod secrets;
mod signals;
mod values;

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
