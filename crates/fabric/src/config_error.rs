//! What is wrong with a configuration file, and where.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// A configuration file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The key at fault, what is wrong and what to do.
    pub message: String,
}

/// Makes errors that point into one text.
#[derive(Clone, Copy)]
pub(crate) struct Blame<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Blame<'_> {
    /// An error at a place.
    pub(crate) fn at(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ConfigError {
            path: self.path.into(),
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }

    /// What the TOML reader says, without the line of the file that it would print, in which a
    /// secret may stand.
    pub(crate) fn toml(&self, error: &toml::de::Error) -> ConfigError {
        let message = error.message().trim().replace(['\n', '\r'], " ");
        self.at(error.span().unwrap_or(0..0), message.replace('`', "\""))
    }
}
