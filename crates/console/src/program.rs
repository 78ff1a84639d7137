//! The frame of a program: from its command line to its exit status.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use clap::error::ErrorKind;
use signal_hook::consts::{SIGHUP, SIGUSR2};
use signal_hook::flag;

use crate::arguments::Messages;
use crate::events::{self, Messenger};
use crate::failure::{Failure, Outcome};
use crate::messages;

/// Parses the command line, does the work, and returns the exit status: 2 where the command line
/// is wrong, otherwise that of the work. Each error or defect is reported in one line; an output
/// whose reader went away ends the program with status 0.
pub fn run<C>(work: impl FnOnce(C) -> Outcome<ExitCode>) -> ExitCode
where
    C: Parser + AsRef<Messages>,
{
    messages::name_program(C::command().get_name());
    // A panic is reported in one line too; the run that met it ends as failed.
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string);
        messages::error(format_args!(
            "defect at {}: {message}: please report it with the input",
            place.as_deref().unwrap_or("an unknown place")
        ));
    }));
    let cli = match C::try_parse() {
        Ok(cli) => cli,
        Err(response) => return show_response(&response),
    };
    let Messages {
        color,
        log_format,
        verbose,
    } = *cli.as_ref();
    messages::configure(color, log_format, verbose);
    // Only a second call could fail.
    let _ = tracing::subscriber::set_global_default(Messenger);
    messages::detail(format_args!("version {}", env!("CARGO_PKG_VERSION")));
    let outcome = survive_requests().and_then(|()| work(cli));
    events::finish();
    match outcome {
        Ok(code) => code,
        // A reader of an output that goes away, as `head` does, has what it wants.
        Err(failure) if failure.is_reader_gone() => ExitCode::SUCCESS,
        Err(failure) => {
            messages::error(&failure);
            failure.exit_code()
        }
    }
}

/// Makes SIGHUP and SIGUSR2 harmless. Without a handler they end the process;
/// a program adds what they do where there is something to reopen or reload.
fn survive_requests() -> Outcome {
    for signal in [SIGHUP, SIGUSR2] {
        flag::register(signal, Arc::default())
            .context("cannot handle signals")
            .map_err(Failure::Running)?;
    }
    Ok(())
}

/// Prints what was asked for (help, version), or one line about what is wrong
/// with the command line.
fn show_response(response: &clap::Error) -> ExitCode {
    if !response.use_stderr() {
        // A reader that went away is no failure.
        let _ = response.print();
        return ExitCode::SUCCESS;
    }
    if response.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        messages::error("no command is given; see --help");
        return ExitCode::from(2);
    }
    let text = response.to_string();
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
