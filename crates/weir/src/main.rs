//! The `weir` command: one gate for packet streams.
//!
//! `cli` says what can be asked for, `command` does it, `config` reads the
//! file of `weir run`, `gateway` turns it into pipelines, `execute` runs them,
//! and `report` shows what happened, to people and to scripts.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

mod associations;
mod changes;
mod cli;
mod command;
mod config;
mod execute;
mod failure;
mod filter;
mod gateway;
mod input;
mod inspected;
mod measured;
mod messages;
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
        messages::error(format_args!(
            "defect at {}: {message}: please report it with the input",
            place.as_deref().unwrap_or("an unknown place")
        ));
    }));
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) => return show_answer(&answer),
    };
    let cli::Messages {
        color,
        log_format,
        verbose,
    } = cli.messages;
    messages::configure(color, log_format, verbose);
    match signals::survive_requests()
        .and_then(|()| secrets::keep_out_of_core_dumps())
        .and_then(|()| weir_simd::force_from_environment().map_err(Failure::usage))
        .and_then(|_| {
            let version = env!("CARGO_PKG_VERSION");
            messages::detail(format_args!(
                "version {version}, active ISA {}",
                weir_simd::tier().name()
            ));
            command::dispatch(cli)
        }) {
        Ok(code) => code,
        // A reader of an output that goes away, as `head` does, has what it wants.
        Err(failure) if failure.is_reader_gone() => ExitCode::SUCCESS,
        Err(failure) => {
            messages::error(&failure);
            failure.exit_code()
        }
    }
}

/// Prints what was asked for (help, version), or one line about what is wrong
/// with the command line.
fn show_answer(answer: &clap::Error) -> ExitCode {
    if !answer.use_stderr() {
        // A reader that went away is no failure.
        let _ = answer.print();
        return ExitCode::SUCCESS;
    }
    if answer.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        messages::error("no command is given; see --help");
        return ExitCode::from(2);
    }
    let text = answer.to_string();
    let mut parts = text
        .split("\n\n")
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let message = parts.next().unwrap_or_default();
    let tip = parts
        .find(|part| part.starts_with("tip: "))
        .map(|tip| format!(" ({tip})"))
        .unwrap_or_default();
    messages::error(format_args!(
        "{}{tip}; see --help",
        message.trim_start_matches("error: ")
    ));
    ExitCode::from(2)
}
