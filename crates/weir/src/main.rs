//! The `weir` command: one gate for packet streams.
//!
//! `cli` says what can be asked for, `command` does it, `config` reads the
//! file of `weir run`, `gateway` turns it into pipelines, `execute` runs them,
//! and `report` shows what happened, to people and to scripts.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;

mod associations;
mod cli;
mod command;
mod config;
mod execute;
mod failure;
mod filter;
mod gateway;
mod input;
mod output;

mod progress;
mod report;
mod rules;
mod secrets;
mod signals;
mod values;

use failure::Failure;

fn main() -> ExitCode {
    // A defect is told in one line too; the run that met it ends as failed.
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string);
        eprintln!(
            "weir: defect at {}: {message}: please report it with the input",
            place.as_deref().unwrap_or("an unknown place")
        );
    }));
    let cli = cli::Cli::parse();
    match secrets::keep_out_of_core_dumps()
        .and_then(|()| weir_simd::force_from_environment().map_err(Failure::usage))
        .and_then(|_| command::dispatch(cli))
    {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("weir: {failure}");
            failure.exit_code()
        }
    }
}
