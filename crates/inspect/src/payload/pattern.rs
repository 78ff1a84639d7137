//! Regular expressions over payloads.

use std::ops::Range;

use super::backtrack::{self, GaveUp, Program, ProgramError};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind, Look};

/// Most memory that one compiled pattern may take.
const COMPILED_BYTES: usize = 512 << 10;
/// Most memory of the states that a pattern keeps while it searches, for each
/// thread.
const CACHE_BYTES: usize = 256 << 10;
/// Groups in groups in groups.
const MAX_NESTING: u32 = 64;
/// A pattern in the words of `regex`, and how it is to be read.
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
    /// It needs a search that backtracks.
    pub(crate) backtracks: bool,
}

impl PatternText {
    /// Its structure, if it is one for `regex`.
    pub(crate) fn parse(&self) -> Option<Hir> {
        let mut parser = ParserBuilder::new();
        parser
            .unicode(false)
            .utf8(false)
            .case_insensitive(self.case_insensitive)
            .dot_matches_new_line(self.dot_matches_newline)
            .multi_line(self.multi_line)
            .swap_greed(self.ungreedy)
            .nest_limit(MAX_NESTING);
        parser.build().parse(&self.text).ok()
    }
}

/// Why a pattern does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatternError {
    /// It needs more than [`COMPILED_BYTES`].
    TooLarge,
    /// It is not a pattern.
    Syntax(String),
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    search: Search,
    also_before_last_newline: bool,
    asks_for_end: bool,
    longest_bytes: Option<usize>,
}

#[derive(Clone, Debug)]
enum Search {
    /// In time linear in the payload.
    Linear(Regex),
    /// With a limit of steps.
    Backtracking(Box<Program>),
}

impl Search {
    fn linear(pattern: &PatternText) -> Result<Search, PatternError> {
        let regex = RegexBuilder::new(&pattern.text)
            .unicode(false)
            .case_insensitive(pattern.case_insensitive)
            .dot_matches_new_line(pattern.dot_matches_newline)
            .multi_line(pattern.multi_line)
            .swap_greed(pattern.ungreedy)
            .size_limit(COMPILED_BYTES)
            .dfa_size_limit(CACHE_BYTES)
            .nest_limit(MAX_NESTING)
            .build();
        regex.map(Search::Linear).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
            error => syntax(&error),
        })
    }

    fn backtracking(pattern: &PatternText) -> Result<Search, PatternError> {
        let program = backtrack::parse(
            &pattern.text,
            pattern.case_insensitive,
            pattern.dot_matches_newline,
        );
        match program {
            Ok(program) => Ok(Search::Backtracking(Box::new(program))),
            Err(ProgramError::TooLarge) => Err(PatternError::TooLarge),
            Err(ProgramError::Syntax(message)) => Err(PatternError::Syntax(message.to_owned())),
        }
    }

    fn is_match_at(&self, text: &[u8], from: usize, steps: &mut usize) -> Result<bool, GaveUp> {
        match self {
            Search::Linear(regex) => {
                *steps += text.len() - from;
                Ok(regex.is_match_at(text, from))
            }
            Search::Backtracking(_) => Ok(self.find_at(text, from, steps)?.is_some()),
        }
    }

    fn find_at(
        &self,
        text: &[u8],
        from: usize,
        steps: &mut usize,
    ) -> Result<Option<Range<usize>>, GaveUp> {
        match self {
            Search::Linear(regex) => {
                let found = regex.find_at(text, from).map(|found| found.range());
                let end = found.as_ref().map_or(text.len(), |found| found.end);
                *steps += end - from;
                Ok(found)
            }
            Search::Backtracking(program) => program.find_at(text, from, steps),
        }
    }
}

/// The last line of an error says what is wrong, the others where.
fn syntax(error: &regex::Error) -> PatternError {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    PatternError::Syntax(last.trim_start_matches("error: ").to_owned())
}

impl Pattern {
    pub(crate) fn new(pattern: &PatternText) -> Result<Pattern, PatternError> {
        if pattern.backtracks {
            return Ok(Pattern {
                search: Search::backtracking(pattern)?,
                also_before_last_newline: pattern.also_before_last_newline,
                asks_for_end: true,
                longest_bytes: None,
            });
        }
        let structure = pattern.parse();
        Ok(Pattern {
            search: Search::linear(pattern)?,
            also_before_last_newline: pattern.also_before_last_newline,
            asks_for_end: structure.as_ref().is_none_or(asks_for_end),
            longest_bytes: structure.and_then(|hir| hir.properties().maximum_len()),
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
    /// front of `from` is looked at by `^`, `\b` and look-behind alone. Adds to
    /// `steps` what the search took, a byte of the text being one.
    ///
    /// # Errors
    /// [`GaveUp`].
    pub(crate) fn is_match(
        &self,
        text: &[u8],
        from: usize,
        steps: &mut usize,
    ) -> Result<bool, GaveUp> {
        for text in self.readings(text) {
            if from <= text.len() && self.search.is_match_at(text, from, steps)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The ends of the matches that begin at different places from `from` on,
    /// until `visit` returns `false`; that gets the steps so far as well.
    ///
    /// # Errors
    /// [`GaveUp`]: there may be more.
    pub(crate) fn visit_ends(
        &self,
        text: &[u8],
        from: usize,
        steps: &mut usize,
        mut visit: impl FnMut(usize, &mut usize) -> bool,
    ) -> Result<(), GaveUp> {
        for text in self.readings(text) {
            let mut start = from;
            while start <= text.len() {
                let Some(found) = self.search.find_at(text, start, steps)? else {
                    break;
                };
                if !visit(found.end, steps) {
                    return Ok(());
                }
                start = found.start + 1;
            }
        }
        Ok(())
    }
}

/// Whether more bytes at the end of a text could undo a match.
fn asks_for_end(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Look(look) => !matches!(look, Look::Start | Look::StartLF),
        HirKind::Concat(items) | HirKind::Alternation(items) => items.iter().any(asks_for_end),
        HirKind::Repetition(repetition) => asks_for_end(&repetition.sub),
        HirKind::Capture(capture) => asks_for_end(&capture.sub),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => false,
    }
}
