//! Why a gateway cannot be built, or ends before its time.

use std::error::Error as StdError;
use std::{fmt, result};

/// Result of what this crate does.
pub type Result<T = (), E = Error> = result::Result<T, E>;

/// What lies behind an error.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// Who is to blame, and what for.
#[derive(Debug)]
pub enum Error {
    /// The configuration, or a file that it names, is wrong. Nothing was started.
    Configuration(Cause),
    /// The work failed while it was under way.
    Running(Cause),
}

impl Error {
    /// A wrong configuration.
    pub fn configuration(cause: impl Into<Cause>) -> Error {
        Error::Configuration(cause.into())
    }

    /// Work that failed.
    pub fn running(cause: impl Into<Cause>) -> Error {
        Error::Running(cause.into())
    }

    /// The same cause, of something that happened while packets ran.
    #[must_use]
    pub fn while_running(self) -> Error {
        match self {
            Error::Configuration(cause) | Error::Running(cause) => Error::Running(cause),
        }
    }

    /// The same cause, of something that a configuration names.
    #[must_use]
    pub fn by_configuration(self) -> Error {
        match self {
            Error::Configuration(cause) | Error::Running(cause) => Error::Configuration(cause),
        }
    }

    fn cause(&self) -> &(dyn StdError + Send + Sync + 'static) {
        let (Error::Configuration(cause) | Error::Running(cause)) = self;
        cause.as_ref()
    }
}

impl fmt::Display for Error {
    /// One line, with the causes that it does not name already.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        let mut next: Option<&dyn StdError> = Some(self.cause());
        while let Some(cause) = next {
            let text = cause.to_string();
            if !line.contains(&text) {
                if !line.is_empty() {
                    line.push_str(": ");
                }
                line.push_str(&text);
            }
            next = cause.source();
        }
        let words: Vec<&str> = line.lines().map(str::trim).collect();
        f.write_str(&words.join(" "))
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.cause())
    }
}
