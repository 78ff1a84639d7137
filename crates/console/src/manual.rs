//! A program's own manual: completion scripts and manual pages.

use std::path::{Path, PathBuf};
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

/// Writes the pages of a program, `PROGRAM.1` and `PROGRAM-COMMAND.1`, but not those of `programs`:
/// commands that start programs, which write the pages of these names themselves.
pub fn man<C: CommandFactory>(arguments: &Man, programs: &[&str]) -> Outcome<ExitCode> {
    let mut command = C::command().disable_help_subcommand(true);
    command.build();
    output::require_folder_of(&arguments.folder.join(command.get_name()))?;
    write_pages(&command, programs, &arguments.folder)
        .with_context(|| format!("cannot write pages to {}", arguments.folder.display()))
        .map_err(Failure::Running)?;
    Ok(ExitCode::SUCCESS)
}

fn write_pages(command: &clap::Command, programs: &[&str], folder: &Path) -> std::io::Result<()> {
    for command in command.get_subcommands() {
        if !programs.contains(&command.get_name()) {
            write_pages(command, &[], folder)?;
        }
    }
    clap_mangen::Man::new(command.clone()).generate_to(folder)?;
    Ok(())
}
