//! What engines have in common.

use crate::{Haystack, Hits};

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

    /// Reports every pattern that occurs in a haystack and ends behind its
    /// carried bytes. Called once per batch; haystacks are known by their place
    /// in it.
    ///
    /// # Panics
    /// A haystack of 4 GB or more.
    fn scan(&self, texts: &[Haystack<'_>], hits: &mut Hits);

    /// Bytes of the longest pattern.
    fn longest_pattern_bytes(&self) -> usize;

    /// Heap memory of the tables, in bytes.
    fn memory_bytes(&self) -> usize;

    /// How it looks for its patterns, for people.
    fn explain(&self) -> String;
}
