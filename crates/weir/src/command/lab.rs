//! `weir lab`: starts the lab's own program, `weir-lab`, in the place of this one.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow};
use clap::ValueEnum;
use weir_console::{Failure, Messages, Outcome};

use crate::cli::Lab;

const PROGRAM: &str = "weir-lab";

/// Becomes `weir-lab`: the one beside this program, otherwise the first on PATH. Signals and exit
/// status are then its own. Returns only where there is none, or it cannot be started.
pub fn start(arguments: &Lab, messages: &Messages) -> Outcome<ExitCode> {
    for program in beside().into_iter().chain([PathBuf::from(PROGRAM)]) {
        let error = Command::new(&program)
            .args(options(messages))
            .args(&arguments.arguments)
            .exec();
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error)
                .with_context(|| format!("cannot start {}", program.display()))
                .map_err(Failure::Usage);
        }
    }
    Err(Failure::usage(anyhow!(
        "{PROGRAM} is neither beside weir nor on PATH: `make install-lab` installs it, \
         `cargo build --release --package {PROGRAM}` builds it"
    )))
}

/// The program in the folder of this one, if there is a file of its name.
fn beside() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name(PROGRAM);
    program.exists().then_some(program)
}

/// The options on messages that were given before those of `weir-lab`.
fn options(messages: &Messages) -> Vec<OsString> {
    fn name(value: &impl ValueEnum) -> String {
        let value = value.to_possible_value();
        value.map_or(String::new(), |value| value.get_name().to_owned())
    }
    let mut options = vec![
        format!("--color={}", name(&messages.color)).into(),
        format!("--log-format={}", name(&messages.log_format)).into(),
    ];
    if messages.verbose {
        options.push("--verbose".into());
    }
    options
}
