//! One module per command.

use std::process::ExitCode;

use weir_console::{Outcome, manual};

use crate::cli::{Cli, Command};

mod bench;
mod control;
mod conversion;
mod engines;
mod fabric;
mod generate;
mod inspect;
mod lab;
mod live;
mod measure;
mod protect;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod replay;
mod run;
mod sa;

/// Runs the command of the command line.
pub fn dispatch(cli: Cli) -> Outcome<ExitCode> {
    match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => run::check(&arguments),
        Command::Status(arguments) => control::status(&arguments),
        Command::Reload(arguments) => control::reload(&arguments),
        Command::Sa(arguments) => sa::sa(&arguments),
        Command::Protect(arguments) => protect::protect(&arguments),
        Command::Unprotect(arguments) => protect::unprotect(&arguments),
        Command::Inspect(arguments) => inspect::inspect(&arguments),
        Command::Measure(arguments) => measure::measure(&arguments),
        Command::Fabric(arguments) => fabric::fabric(&arguments),
        #[cfg(target_os = "linux")]
        Command::Record(arguments) => record::record(&arguments),
        #[cfg(target_os = "linux")]
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Generate(arguments) => generate::generate(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Engines(arguments) => engines::engines(&arguments),
        Command::Lab(arguments) => lab::start(&arguments, &cli.messages),
        Command::Completions(arguments) => manual::completions::<Cli>(&arguments),
        Command::Man(arguments) => manual::man::<Cli>(&arguments, &["lab"]),
    }
}
