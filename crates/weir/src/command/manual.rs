//! `weir completions` and `weir man`.

use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::{Cli, Completions, Man};
use crate::failure::{Failure, Outcome};
use crate::output;

pub fn completions(arguments: &Completions) -> Outcome<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "weir", &mut script);
    output::write_stdout(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub fn man(arguments: &Man) -> Outcome<ExitCode> {
    output::require_folder_of(&arguments.folder.join("weir.1"))?;
    clap_mangen::generate_to(Cli::command(), &arguments.folder)
        .with_context(|| format!("cannot write pages to {}", arguments.folder.display()))
        .map_err(Failure::Running)?;
    Ok(ExitCode::SUCCESS)
}
