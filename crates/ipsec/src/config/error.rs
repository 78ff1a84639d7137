//! What is wrong with a file in TOML, and where.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::Utf8Error;

use super::message::explain;

/// An SA file, or another file in TOML, that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A place in the file is wrong.
    #[error("{}:{line}:{column}: {message}", path.display())]
    At {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1, in characters.
        column: usize,
        /// The key at fault, what is wrong and what to do.
        message: String,
    },
    /// The file as a whole cannot be used.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        message: String,
    },
}

impl ConfigError {
    /// What the TOML reader says of the text of a file: with line, column, the key at fault
    /// and, where a name is misspelt, the nearest valid one. It repeats no line of the file.
    pub fn of_toml(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
        Blame { path, text }.toml(error)
    }

    /// A file that holds no text.
    pub fn not_text(path: &Path, error: &Utf8Error) -> ConfigError {
        ConfigError::File {
            path: path.into(),
            message: format!(
                "not a text file (byte {} is no UTF-8): give a file in TOML",
                error.valid_up_to()
            ),
        }
    }
}

/// Line and column of a byte offset, both from 1; columns in characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text
        .get(..offset)
        .unwrap_or_else(|| text.trim_end_matches('\n'));
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[line_start..].chars().count() + 1;
    (line, column)
}

/// Makes errors that point into one text.
#[derive(Clone, Copy)]
pub(super) struct Blame<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Blame<'_> {
    /// An error at a place.
    pub fn at(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        let (line, column) = position(self.text, span.start);
        ConfigError::At {
            path: self.path.into(),
            line,
            column,
            message: message.into(),
        }
    }

    /// What the TOML reader says. Its message is taken without the line of
    /// source that it would print, in which a key may stand.
    pub fn toml(&self, error: &toml::de::Error) -> ConfigError {
        let message = explain(error.message());
        let Some(span) = error.span() else {
            return ConfigError::File {
                path: self.path.into(),
                message,
            };
        };
        match self.name_at(span.start) {
            Some(name) => self.at(span, format!("{name}: {message}")),
            None => self.at(span, message),
        }
    }

    /// The name that stands in front of `=` on the line, before the offset.
    fn name_at(&self, offset: usize) -> Option<&str> {
        let before = self.text.get(..offset)?;
        let line = before.rsplit('\n').next()?;
        let name = line.split_once('=')?.0.trim();
        let is_bare = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        (!name.is_empty() && is_bare).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one_and_in_characters() {
        let text = "ab\nö = 1\n";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, 2), (1, 3));
        assert_eq!(position(text, 3), (2, 1));
        assert_eq!(position(text, 5), (2, 2));
        assert_eq!(position(text, 1000), (2, 6));
        assert_eq!(position("", 0), (1, 1));
    }
}
