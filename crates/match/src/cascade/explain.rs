//! What the plan came to, for people.

use std::fmt;

use serde::Serialize;

use super::table::{Sieve, Table};
use super::units::Unit;

/// How an engine looks for its patterns, and what it expects that to cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// Patterns that were asked for.
    pub patterns: usize,
    /// Of these, different ones.
    pub distinct: usize,
    /// Distinct patterns of one byte: looked for by a set of bytes.
    pub single_bytes: usize,
    /// Distinct patterns of five bytes and more that are one byte repeated:
    /// answered from the lengths of runs.
    pub repeated_bytes: usize,
    /// Bytes of the shortest and of the longest pattern.
    pub pattern_bytes: [usize; 2],
    /// The filters: of patterns of two to four bytes, and of longer ones.
    pub tables: Vec<ExplainedTable>,
    /// Heap memory of everything.
    pub memory_bytes: usize,
}

/// A filter and its buckets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedTable {
    /// Bytes of a gram: patterns are found by four bytes, or by two.
    pub gram_bytes: usize,
    /// Distinct patterns.
    pub patterns: usize,
    /// Words of the filter, of 32 bits; 0 where sets of byte classes stand for
    /// it.
    pub words: usize,
    /// Sets of byte classes.
    pub sets: usize,
    /// Share of the filter's bits or of the sets' classes that are taken.
    pub filled: f64,
    /// Candidates per byte that the profile predicts; 0 for a profile of no
    /// traffic.
    pub expected_candidates_per_byte: f64,
    /// Buckets behind the filter.
    pub buckets: usize,
    /// Entries in the largest: the bound of what one place of a haystack can
    /// cost.
    pub largest_bucket: usize,
}

impl Explanation {
    pub(super) fn new(
        patterns: usize,
        units: &[Unit],
        single_bytes: usize,
        repeated_bytes: usize,
    ) -> Explanation {
        let bytes = || units.iter().map(|unit| unit.pattern.bytes().len());
        Explanation {
            patterns,
            distinct: units.len(),
            single_bytes,
            repeated_bytes,
            pattern_bytes: [bytes().min().unwrap_or(0), bytes().max().unwrap_or(0)],
            ..Explanation::default()
        }
    }

    pub(super) fn add_table(&mut self, patterns: usize, table: &Table) {
        let (words, sets, filled) = match &table.sieve {
            Sieve::Filter(filter) => (filter.words.len(), 0, filter.filled()),
            Sieve::Classes(classes) => (0, 8 * classes.eights.len(), classes.filled()),
        };
        self.tables.push(ExplainedTable {
            gram_bytes: table.buckets.grams.bytes(),
            patterns,
            words,
            sets,
            filled,
            expected_candidates_per_byte: table.windows.expected_rate,
            buckets: table.buckets.heads.len(),
            largest_bucket: table.buckets.largest(),
        });
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [shortest, longest] = self.pattern_bytes;
        writeln!(
            f,
            "{} patterns, {} of them distinct, of {shortest} to {longest} bytes, in {:.2} MB",
            self.patterns,
            self.distinct,
            self.memory_bytes as f64 / 1e6,
        )?;
        for table in &self.tables {
            let sieve = match (table.words, table.sets) {
                (0, sets) => format!("{sets} sets of byte classes"),
                (words, _) => format!("a filter of {words} words"),
            };
            writeln!(
                f,
                "{} found by grams of {} bytes: {sieve}, {:.1} % taken, \
                 {:.4} candidates per byte expected; {} buckets, {} entries in the largest",
                table.patterns,
                table.gram_bytes,
                100.0 * table.filled,
                table.expected_candidates_per_byte,
                table.buckets,
                table.largest_bucket,
            )?;
        }
        writeln!(f, "{} single bytes found by a set", self.single_bytes)?;
        write!(
            f,
            "{} patterns that are one byte repeated found by the lengths of runs",
            self.repeated_bytes
        )
    }
}
