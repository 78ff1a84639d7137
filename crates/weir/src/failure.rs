//! Failures of a command and their exit statuses.

use std::fmt;
use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The command line, or a file that it names, is wrong: exit status 2.
    Usage(anyhow::Error),
    /// The work failed while it was under way: exit status 1.
    Running(anyhow::Error),
}

impl Failure {
    pub fn usage(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Usage(error.into())
    }

    pub fn running(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Running(error.into())
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Running(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    /// One line, causes included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(error) | Failure::Running(error)) = self;
        let text = format!("{error:#}");
        for (number, line) in text.lines().map(str::trim).enumerate() {
            if number > 0 {
                f.write_str(" ")?;
            }
            f.write_str(line)?;
        }
        Ok(())
    }
}

/// Result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;
