//! Regular expressions over payloads.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

/// Most memory that one compiled pattern may take.
const COMPILED_BYTES: usize = 512 << 10;
/// Most memory of the states that a pattern keeps while it searches, for each
/// thread.
const CACHE_BYTES: usize = 256 << 10;
/// Groups in groups in groups.
const MAX_NESTING: u32 = 64;

/// A pattern in the words of the `regex` crate, and how it is to be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PatternText {
    pub(crate) text: String,
    pub(crate) case_insensitive: bool,
    pub(crate) dot_matches_newline: bool,
    pub(crate) multi_line: bool,
    /// Quantifiers take as little as they can.
    pub(crate) ungreedy: bool,
    /// The end of the payload is also in front of a newline that ends it: the
    /// dollar sign of Perl.
    pub(crate) also_before_last_newline: bool,
}

/// Why a pattern does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatternError {
    /// It needs more than [`COMPILED_BYTES`].
    TooLarge,
    /// It is not a pattern.
    Syntax(String),
}

/// A compiled pattern. Searches take time linear in the payload.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    also_before_last_newline: bool,
    asks_for_end: bool,
    longest_bytes: Option<usize>,
}

impl Pattern {
    pub(crate) fn new(pattern: &PatternText) -> Result<Pattern, PatternError> {
        let regex = RegexBuilder::new(&pattern.text)
            .unicode(false)
            .case_insensitive(pattern.case_insensitive)
            .dot_matches_new_line(pattern.dot_matches_newline)
            .multi_line(pattern.multi_line)
            .swap_greed(pattern.ungreedy)
            .size_limit(COMPILED_BYTES)
            .dfa_size_limit(CACHE_BYTES)
            .nest_limit(MAX_NESTING)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
                error => {
                    // The last line says what is wrong, the others where.
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    PatternError::Syntax(last.trim_start_matches("error: ").to_owned())
                }
            })?;
        Ok(Pattern {
            regex,
            also_before_last_newline: pattern.also_before_last_newline,
            asks_for_end: pattern.text.contains('$') || pattern.text.contains("\\z"),
            longest_bytes: longest_bytes(pattern),
        })
    }

    /// Most bytes that a match has; `None` where there is no bound.
    pub(crate) fn longest_bytes(&self) -> Option<usize> {
        self.longest_bytes
    }

    /// Whether the pattern may ask where the text ends.
    pub(crate) fn may_ask_for_end(&self) -> bool {
        self.asks_for_end
    }

    /// The texts in which to search: all of it, and where that makes a
    /// difference, all but the newline at its end.
    fn readings<'t>(&self, text: &'t [u8]) -> impl Iterator<Item = &'t [u8]> + use<'t> {
        let shorter = match text {
            [before @ .., b'\n'] if self.also_before_last_newline => Some(before),
            _ => None,
        };
        std::iter::once(text).chain(shorter)
    }

    /// Whether there is a match that begins at `from` or later. What lies in
    /// front of `from` is looked at by `^` and `\b` alone.
    pub(crate) fn is_match(&self, text: &[u8], from: usize) -> bool {
        self.readings(text)
            .any(|text| from <= text.len() && self.regex.is_match_at(text, from))
    }

    /// The matches that begin at different places from `from` on, until `visit`
    /// returns `false`: each by where it was searched from, and where it ends.
    pub(crate) fn visit_ends(
        &self,
        text: &[u8],
        from: usize,
        mut visit: impl FnMut(Range<usize>) -> bool,
    ) {
        for text in self.readings(text) {
            let mut start = from;
            while start <= text.len() {
                let Some(found) = self.regex.find_at(text, start) else {
                    break;
                };
                if !visit(start..found.end()) {
                    return;
                }
                start = found.start() + 1;
            }
        }
    }
}

fn longest_bytes(pattern: &PatternText) -> Option<usize> {
    let parsed = ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .case_insensitive(pattern.case_insensitive)
        .dot_matches_new_line(pattern.dot_matches_newline)
        .multi_line(pattern.multi_line)
        .swap_greed(pattern.ungreedy)
        .nest_limit(MAX_NESTING)
        .build()
        .parse(&pattern.text);
    parsed.ok()?.properties().maximum_len()
}
