//! What engines have in common.

use crate::{Haystack, Hits};

/// More than these are no pattern set: engines number them in fewer bits.
pub(crate) const MOST_PATTERNS: usize = 1 << 22;

/// Why an engine cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A pattern is longer than any packet.
    #[error("pattern {number} has {bytes} bytes: use at most 65535")]
    PatternBytes {
        /// Its place in the list.
        number: usize,
        /// Its length.
        bytes: usize,
    },
    /// More patterns than an engine can number.
    #[error("{0} patterns: use at most 4194304")]
    Patterns(usize),
    /// The automaton cannot be built.
    #[error("the patterns do not fit one automaton: {0}")]
    Automaton(#[from] aho_corasick::BuildError),
}

/// An engine, built once from the patterns of a rule set and then shared by
/// all shards.
pub trait Engine: Send + Sync {
    /// Name for reports.
    fn name(&self) -> &str;

    /// Leaves in `hits` every pattern that occurs in a haystack and ends behind
    /// its carried bytes, in place of what a batch before left there. Haystacks
    /// are known by their place in the batch.
    ///
    /// # Panics
    /// A haystack of 4 GB or more.
    fn scan(&self, haystacks: &[Haystack<'_>], hits: &mut Hits);

    /// Bytes of the longest pattern.
    fn longest_pattern_bytes(&self) -> usize;

    /// Heap memory of the tables, in bytes.
    fn memory_bytes(&self) -> usize;

    /// How it looks for its patterns, for people.
    fn explain(&self) -> String;
}
