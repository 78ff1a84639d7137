//! The `pcre` option: flags, and the pattern for the translator.

use super::fault::{Fault, FaultKind, Unsupported};
use super::string::{Quoted, quoted_pattern};
use super::translate::{Dialect, translate};
use crate::buffer::Buffer;
use crate::payload::{Pattern, PatternError, PatternText};

/// What a `pcre` option requires.
pub(super) struct PcreOption {
    pub(super) negated: bool,
    /// The search starts where the last match ended (flag `R`).
    pub(super) relative: bool,
    pub(super) pattern: Pattern,
}

/// Compiles patterns; equal ones share their memory.
#[derive(Default)]
pub(crate) struct Patterns(hashbrown::HashMap<PatternText, Result<Pattern, FaultKind>>);

impl Patterns {
    /// Reads a `pcre` option. `base` is the value's place in the file.
    pub(super) fn read(&mut self, base: usize, value: &[u8]) -> Result<PcreOption, Fault> {
        let Quoted {
            negated,
            text,
            text_offset,
            after,
            after_offset,
        } = quoted_pattern(base, value)?;
        if !after.trim_ascii().is_empty() {
            return Err(Fault::syntax(
                base + after_offset,
                after,
                "nothing follows the string of a pcre",
            ));
        }
        let base = base + text_offset;
        let delimited = || {
            Fault::syntax(
                base,
                text,
                "a pattern stands between slashes, with flags behind them",
            )
        };
        let (delimiter, start) = match text {
            [b'/', ..] => (b'/', 1),
            [b'm', delimiter, ..] if !delimiter.is_ascii_alphanumeric() => (*delimiter, 2),
            _ => return Err(delimited()),
        };
        let end = memchr::memrchr(delimiter, text).unwrap_or(0);
        if end < start {
            return Err(delimited());
        }
        let (mut dialect, mut relative) = (Dialect::default(), false);
        for (at, flag) in text.iter().enumerate().skip(end + 1) {
            match flag {
                b'i' => dialect.case_insensitive = true,
                b's' => dialect.dot_matches_newline = true,
                b'm' => dialect.multi_line = true,
                b'x' => dialect.extended = true,
                b'A' => dialect.anchored = true,
                b'E' => dialect.dollar_end_only = true,
                b'G' => dialect.ungreedy = true,
                b'R' => relative = true,
                // The packet's own bytes, and no limit on the effort: both
                // hold here for every pattern.
                b'B' | b'O' => {}
                b' ' => {}
                // The buffer is looked up where the option is read.
                flag if Buffer::pattern_flag(*flag).is_some() => {}
                b'a'..=b'z' | b'A'..=b'Z' => {
                    let name = format!("flag {}", char::from(*flag));
                    let word = &text[at..=at];
                    return Err(Fault::unsupported(base + at, word, Unsupported::Pcre(name)));
                }
                _ => {
                    return Err(Fault::syntax(
                        base + at,
                        &text[at..=at],
                        "the flags of a pattern are letters",
                    ));
                }
            }
        }
        let pattern = &text[start..end];
        let fault = |kind| Fault::new(base + start, pattern, kind);
        let translated = translate(pattern, dialect).map_err(fault)?;
        let compiled = self
            .0
            .entry(translated)
            .or_insert_with_key(|text| Pattern::new(text).map_err(compile_fault))
            .clone();
        Ok(PcreOption {
            negated,
            relative,
            pattern: compiled.map_err(fault)?,
        })
    }
}

fn compile_fault(error: PatternError) -> FaultKind {
    match error {
        PatternError::TooLarge => {
            FaultKind::Unsupported(Unsupported::Pcre("too large when compiled".to_owned()))
        }
        PatternError::Syntax(message) => FaultKind::Pattern(message),
    }
}
