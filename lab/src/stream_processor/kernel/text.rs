//! Kernels as text.
//!
//! ```
//! let text = "
//! kernel sum
//! input numbers 2
//! output sums 1
//!
//! loop over numbers {
//!     first, second = read numbers
//!     write sums (first + second)
//! }
//! ";
//! let kernel = weir_lab::stream_processor::kernel::text::parse(text)?;
//! assert_eq!(kernel.counts().of("add"), 1);
//! # Ok::<(), weir_lab::stream_processor::kernel::text::TextError>(())
//! ```
//!
//! `lab/docs/kernels.md` has the syntax. A name stands for a list of words, most
//! often of one; an assignment in a loop to a name from outside carries its words
//! from iteration to iteration.

use super::{BuildError, Kernel, Place};

mod lexer;
mod lower;
mod operations;
mod syntax;

/// How the names of files with kernels end.
pub const ENDING: &str = ".kernel";

/// The longest text, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// A text that is no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct TextError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong there.
    pub message: String,
}

/// A place in a text, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    line: u32,
    column: u32,
}

impl At {
    fn wrong(self, message: impl Into<String>) -> TextError {
        TextError {
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }

    fn place(self) -> Place {
        Place::Text {
            line: self.line,
            column: self.column,
        }
    }
}

/// The kernel that a text describes.
///
/// # Errors
/// The first thing that is wrong, with line and column.
pub fn parse(text: &str) -> Result<Kernel, TextError> {
    let start = At { line: 1, column: 1 };
    if text.len() > MOST_BYTES {
        return Err(start.wrong(format!("a kernel has at most {MOST_BYTES} bytes")));
    }
    let syntax = syntax::parse(lexer::tokens(text)?)?;
    lower::lower(&syntax)
}

impl From<BuildError> for TextError {
    fn from(error: BuildError) -> TextError {
        let message = error.cause.to_string();
        match error.place {
            Place::Text { line, column } => At { line, column }.wrong(message),
            // An operation that no part of the text stands for.
            Place::Code { .. } => At { line: 1, column: 1 }.wrong(message),
        }
    }
}

#[cfg(test)]
mod tests;
