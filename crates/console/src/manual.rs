//! A program's own manual: completion scripts and manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Print a completion script for a shell.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell.
    pub shell: Shell,
}

/// Write the manual pages, one per command, into a folder (`man -l FOLDER/PAGE` shows one).
#[derive(Args, Debug)]
pub struct Man {
    /// The folder.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Prints the completion script of a program to standard output.
pub fn completions<C: CommandFactory>(arguments: &Completions) -> Outcome<ExitCode> {
    let mut command = C::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    output::write_stdout(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of a program, `PROGRAM.1` and `PROGRAM-COMMAND.1`.
pub fn man<C: CommandFactory>(arguments: &Man) -> Outcome<ExitCode> {
    let command = C::command();
    output::require_folder_of(&arguments.folder.join(command.get_name()))?;
    clap_mangen::generate_to(command, &arguments.folder)
        .with_context(|| format!("cannot write pages to {}", arguments.folder.display()))
        .map_err(Failure::Running)?;
    Ok(ExitCode::SUCCESS)
}
