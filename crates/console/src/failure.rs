//! Failures of a command and their exit statuses.

use std::fmt;
use std::io;
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
    /// A wrong command line, or a file that it names.
    pub fn usage(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Usage(error.into())
    }

    /// Work that failed while it was under way.
    pub fn running(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Running(error.into())
    }

    /// Whether all that happened is that the reader of an output went away.
    pub fn is_reader_gone(&self) -> bool {
        let (Failure::Usage(error) | Failure::Running(error)) = self;
        let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
        causes.any(|cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// 2 for usage, 1 for running.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Running(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    /// One line, with the causes that it does not name already.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(error) | Failure::Running(error)) = self;
        let mut line = String::new();
        for cause in error.chain() {
            let text = cause.to_string();
            if !line.contains(&text) {
                if !line.is_empty() {
                    line.push_str(": ");
                }
                line.push_str(&text);
            }
        }
        let words: Vec<&str> = line.lines().map(str::trim).collect();
        f.write_str(&words.join(" "))
    }
}

/// Result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;
