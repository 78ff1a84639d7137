//! The engine: a cascade of filters, each of which leaves little to the next.
//!
//! ```text
//!  haystack ─ filter ──────► buckets ─────────► patterns ────► hits
//!            every second   eight bytes around  all bytes
//!            place: a word  the place, eight
//!            and two bits   entries at once
//!            ≈ 1 in 50      ≈ 1 in 35            ≈ 1 in 60
//! ```
//!
//! * [`gram`] is what all of it hangs on: four bytes of a pattern, folded, and
//!   their neighbours. A pattern may be entered at any of its grams;
//! * [`plan`] enters it where traffic, as a [`profile`] knows it, looks least;
//!   [`marks`] tells what that sets in a filter;
//! * [`filter`] is read at every second place of a haystack; where patterns are
//!   few and registers wide, sets of byte [`classes`], which [`class_plan`]
//!   fills, stand for it;
//! * [`buckets`] hold the entries of patterns, [`units`] their bytes;
//!   [`candidates`] takes what passed through them, for the haystacks of a
//!   batch together;
//! * [`runs`] answers for patterns that are one byte repeated, of which
//!   a zero page would hold thousands.
//!
//! Patterns of two to four bytes have a filter of their own, of which a word is
//! read at every second place, too, for two places; of single bytes a set is kept that shrinks as they are seen.
//!
//! It is exact: what is reported is what occurs ([`Pattern::occurs_in`]).
//!
//! **Cost.** A place costs one read of the filter. One that passes costs a
//! comparison for every eight entries of its bucket, and each entry that is
//! like the text one comparison of a pattern. Whatever the haystack, a byte thus
//! costs at most one visit to the largest bucket ([`Explanation`] tells its
//! size; the plan keeps it small by giving patterns that share one gram
//! windows at others), and a pattern of c bytes c/64 comparisons at each of its
//! entries; what was reported for a haystack is not compared again. Counted in
//! work ([`ScanStatistics`]), a byte of the beginnings of all patterns in a
//! row costs less than eight usual ones, and one of the dearest beginning,
//! repeated, less than sixteen: of patterns that share more than a window with
//! so many others that no window of theirs is rare.
//!
//! The idea to filter all patterns by one hash kernel is that of chapter 5 of
//! the thesis, which [`Segmented`](super::Segmented) follows to the letter; that traffic
//! should choose the window is its "central-weighted" choice (section 5.3.1)
//! taken further.

mod buckets;
mod candidates;
mod class_plan;
mod classes;
mod explain;
mod filter;
mod gram;
mod marks;
mod plan;
mod profile;
mod report;
mod runs;
mod saved;
mod simd;
mod single;
mod table;
mod units;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_simd::Tier;

use crate::engine::MOST_PATTERNS;
use crate::{BuildError, Engine, Haystack, Hits, Match, Pattern};
use candidates::{Candidates, Stages};
use filter::{RUN_BYTES, SPAN_BYTES};
use gram::{FOLD, Grams};
use report::{Every, Occurrence, Once, Report};
use runs::{RunFollower, RunState, Runs};
use single::SingleBytes;
use table::{Table, Windows};
use units::{Records, SavedUnit, Unit};

pub use candidates::ScanStatistics;
pub use explain::{ExplainedTable, Explanation};
pub use profile::{Profile, ProfileError};
pub use saved::LoadError;

/// The engine. The module describes how it works.
pub struct Database {
    tier: Tier,
    /// No two engines of a process have the same.
    identity: u64,
    four: Option<Table>,
    two: Option<Table>,
    /// Patterns of one byte: a bit for every byte that is one, in upper and
    /// lower case where that does not matter.
    single: SingleBytes,
    runs: Runs,
    records: Records,
    units: Vec<SavedUnit>,
    longest_bytes: usize,
    explanation: Explanation,
}

/// Whether sets of byte classes are faster than a filter. With AVX2 they run at two thirds of its rate; the
/// processors of NEON differ in what a look-up of 64 bytes takes.
fn has_fast_sets(tier: Tier) -> bool {
    tier == Tier::Avx512
}

/// Working memory of a shard.
#[derive(Default)]
pub(crate) struct Scratch {
    engine: u64,
    four: Candidates,
    two: Candidates,
    runs: RunState,
    /// For each slot the epoch of the haystack for which it was reported last.
    stamps: Vec<u32>,
    epoch: u32,
    statistics: ScanStatistics,
}

impl Scratch {
    pub(super) fn statistics(&self) -> ScanStatistics {
        self.statistics
    }
}

impl Database {
    /// Builds a database for common traffic ([`Profile::typical`]) and the best
    /// tier of this processor. Patterns are known by their place in the slice;
    /// empty ones occur nowhere.
    ///
    /// # Errors
    /// [`BuildError`]: a pattern of more than 65,535 bytes, or more than 4,194,304
    /// patterns.
    pub fn new(patterns: &[Pattern]) -> Result<Database, BuildError> {
        Database::with_profile(patterns, Profile::typical(), weir_simd::tier())
    }

    /// The same for other traffic, or for another tier.
    ///
    /// # Errors
    /// As [`Database::new`].
    pub fn with_profile(
        patterns: &[Pattern],
        profile: &Profile,
        tier: Tier,
    ) -> Result<Database, BuildError> {
        Database::with_sets(patterns, profile, tier, has_fast_sets(tier))
    }

    /// The engine that finds few patterns by sets of byte classes, or all by a
    /// filter.
    pub(crate) fn with_sets(
        patterns: &[Pattern],
        profile: &Profile,
        tier: Tier,
        has_sets: bool,
    ) -> Result<Database, BuildError> {
        Database::build(patterns, tier, |long, has_runs, short| {
            let by_classes = || Windows::of_few(long, profile);
            let four = (!long.is_empty() || has_runs).then(|| {
                let by_classes = has_sets.then(by_classes).flatten();
                by_classes.unwrap_or_else(|| Windows::of_many(Grams::Four, long, profile))
            });
            let two = (!short.is_empty()).then(|| Windows::of_many(Grams::Two, short, profile));
            Ok([four, two])
        })
    }

    /// Builds the database with the windows that `choose` gives for the longer
    /// patterns, whether there are some that are one byte repeated, and the
    /// short patterns: those that there are must have some that fit.
    fn build<E: From<BuildError>>(
        patterns: &[Pattern],
        tier: Tier,
        choose: impl FnOnce(&[&Unit], bool, &[&Unit]) -> Result<[Option<Windows>; 2], E>,
    ) -> Result<Database, E> {
        for (number, pattern) in patterns.iter().enumerate() {
            if pattern.bytes().len() > usize::from(u16::MAX) {
                let bytes = pattern.bytes().len();
                return Err(BuildError::PatternBytes { number, bytes }.into());
            }
        }
        // A pattern has two entries, or one for each case of two letters.
        if patterns.len() > MOST_PATTERNS {
            return Err(BuildError::Patterns(patterns.len()).into());
        }
        static ENGINES: AtomicU64 = AtomicU64::new(1);
        let (units, records) = units::units(patterns);
        let mut single = SingleBytes::default();
        let (mut short, mut pure, mut long) = (Vec::new(), Vec::new(), Vec::new());
        for unit in &units {
            let pattern = unit.pattern.bytes();
            let is_pure = pattern.iter().all(|byte| byte | FOLD == pattern[0] | FOLD);
            match pattern.len() {
                1 => single.add(unit),
                2..RUN_BYTES => short.push(unit),
                _ if is_pure => pure.push(unit),
                _ => long.push(unit),
            }
        }
        let mut explanation = Explanation::new(patterns.len(), &units, single.count(), pure.len());
        // The first stage of longer patterns finds the runs, too.
        let [four, two] = choose(&long, !pure.is_empty(), &short)?;
        let four = four.map(|it| Table::new(Grams::Four, &long, it, !pure.is_empty()));
        let two = two.map(|it| Table::new(Grams::Two, &short, it, false));
        for (table, patterns) in [(&four, long.len()), (&two, short.len())] {
            if let Some(table) = table {
                explanation.add_table(patterns, table);
            }
        }
        let mut database = Database {
            tier,
            identity: ENGINES.fetch_add(1, Ordering::Relaxed),
            four,
            two,
            single,
            runs: Runs::new(pure.into_iter()),
            records,
            units: units.iter().map(SavedUnit::new).collect(),
            longest_bytes: patterns.iter().map(|n| n.bytes().len()).max().unwrap_or(0),
            explanation,
        };
        database.explanation.memory_bytes = database.memory_bytes();
        Ok(database)
    }

    /// How patterns are looked for, and what that is expected to cost.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Bytes of the longest pattern.
    pub(crate) fn longest_bytes(&self) -> usize {
        self.longest_bytes
    }

    /// One haystack through the first stage.
    fn look(&self, index: u32, texts: &[Haystack<'_>], scratch: &mut Scratch, hits: &mut Hits) {
        let text = texts[index as usize];
        let (bytes, carried) = (text.bytes(), text.carried());
        scratch.epoch += 1;
        let epoch = scratch.epoch;
        let stamps = &mut scratch.stamps;
        if !self.single.is_empty() {
            self.single.search(self.tier, &bytes[carried..], |slot| {
                self.report_once(slot, index, epoch, stamps, hits);
            });
        }
        if let Some(table) = &self.two {
            for from in (0..bytes.len()).step_by(SPAN_BYTES) {
                let candidates = &mut scratch.two;
                (table.sieve).look(self.tier, bytes, from, carried, &mut candidates.passed);
                candidates.end_span(index, from, epoch);
                if candidates.are_enough() {
                    self.settle(texts, scratch, hits);
                }
            }
        }
        let Some(table) = &self.four else { return };
        self.runs.start(&mut scratch.runs);
        for from in (0..bytes.len()).step_by(SPAN_BYTES) {
            let Scratch {
                four: candidates,
                runs,
                stamps,
                ..
            } = scratch;
            (table.sieve).look(self.tier, bytes, from, carried, &mut candidates.passed);
            candidates.end_span(index, from, epoch);
            let blocks = candidates.passed.runs();
            if !blocks.is_empty() {
                self.runs.search(&self.records, text, blocks, runs, |slot| {
                    self.report_once(slot, index, epoch, stamps, hits);
                });
            }
            if candidates.are_enough() {
                self.settle(texts, scratch, hits);
            }
        }
    }

    /// Reports a unit's patterns for a haystack, if they were not.
    fn report_once(
        &self,
        slot: u32,
        haystack: u32,
        epoch: u32,
        stamps: &mut [u32],
        hits: &mut Hits,
    ) {
        let stamp = &mut stamps[slot as usize];
        if *stamp != epoch {
            *stamp = epoch;
            let report = |number| hits.push(haystack, number);
            self.records.for_each_number(slot, report);
        }
    }

    /// The later stages over all that passed so far, each pattern once per haystack.
    #[inline]
    fn settle(&self, texts: &[Haystack<'_>], scratch: &mut Scratch, hits: &mut Hits) {
        let mut once = Once {
            records: &self.records,
            stamps: &mut scratch.stamps,
            push: |haystack, number| hits.push(haystack, number),
        };
        let candidates = [&mut scratch.two, &mut scratch.four];
        self.settle_to(texts, candidates, &mut scratch.statistics, &mut once);
    }

    #[inline(always)]
    fn settle_to(
        &self,
        texts: &[Haystack<'_>],
        [two, four]: [&mut Candidates; 2],
        statistics: &mut ScanStatistics,
        report: &mut impl Report,
    ) {
        for (table, candidates) in [(&self.two, two), (&self.four, four)] {
            if let Some(table) = table {
                let stages = Stages {
                    tier: self.tier,
                    table,
                    records: &self.records,
                    texts,
                };
                candidates.settle(&stages, statistics, report);
            }
        }
    }

    /// Adds every match in the haystacks of a batch that ends behind the carried
    /// bytes, in no particular order and some of them twice.
    pub(crate) fn find_all(
        &self,
        texts: &[Haystack<'_>],
        scratch: &mut Scratch,
        matches: &mut Vec<(u32, Match)>,
    ) {
        let Scratch {
            four,
            two,
            statistics,
            ..
        } = scratch;
        let mut every = Every {
            records: &self.records,
            matches,
        };
        for (index, text) in (0u32..).zip(texts) {
            let (bytes, carried) = (text.bytes(), text.carried());
            let occurrence = |slot, start, end| Occurrence {
                slot,
                haystack: index,
                epoch: 0,
                start,
                end,
            };
            if !self.single.is_empty() {
                let new = &bytes[carried..];
                self.single.search_all(self.tier, new, |slot, place| {
                    every.add(occurrence(slot, carried + place, carried + place + 1));
                });
            }
            let mut follower = RunFollower::default();
            for from in (0..bytes.len()).step_by(SPAN_BYTES) {
                if let Some(table) = &self.two {
                    // Inside of runs, too: as if all of the text were carried.
                    let passed = &mut two.passed;
                    (table.sieve).look(self.tier, bytes, from, bytes.len(), passed);
                    two.end_span(index, from, 0);
                }
                if let Some(table) = &self.four {
                    (table.sieve).look(self.tier, bytes, from, carried, &mut four.passed);
                    four.end_span(index, from, 0);
                    let (blocks, records) = (four.passed.runs(), &self.records);
                    self.runs.search_all(
                        records,
                        *text,
                        blocks,
                        &mut follower,
                        |slot, start, end| {
                            every.add(occurrence(slot, start, end));
                        },
                    );
                }
                if two.are_enough() || four.are_enough() {
                    self.settle_to(texts, [&mut *two, &mut *four], statistics, &mut every);
                }
            }
        }
        self.settle_to(texts, [two, four], statistics, &mut every);
    }
}

impl Engine for Database {
    fn name(&self) -> &str {
        "cascade"
    }

    fn scan(&self, texts: &[Haystack<'_>], hits: &mut Hits) {
        hits.start(texts.len());
        let mut scratch = hits.take_scratch();
        scratch.prepare(self, texts.len());
        for index in 0..texts.len() as u32 {
            self.look(index, texts, &mut scratch, hits);
        }
        self.settle(texts, &mut scratch, hits);
        hits.keep_scratch(scratch);
    }

    fn memory_bytes(&self) -> usize {
        let tables = [&self.four, &self.two].into_iter().flatten();
        let units = size_of_val(&self.units[..]);
        tables.map(Table::memory_bytes).sum::<usize>() + self.records.memory_bytes() + units
    }

    fn explain(&self) -> String {
        self.explanation.to_string()
    }

    fn longest_pattern_bytes(&self) -> usize {
        self.longest_bytes
    }
}

impl Scratch {
    /// Makes ready for a batch: a stamp for each slot, none of which is that of
    /// an epoch to come, whichever engine left it.
    fn prepare(&mut self, engine: &Database, texts: usize) {
        if self.epoch as usize + texts >= u32::MAX as usize {
            self.stamps.fill(0);
            self.epoch = 0;
        }
        if self.stamps.len() < engine.records.slots() {
            self.stamps.resize(engine.records.slots(), 0);
        }
        if self.engine != engine.identity {
            engine.runs.take_over(&mut self.runs);
            self.engine = engine.identity;
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("tier", &self.tier)
            .field("explanation", &self.explanation)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod tests;
