//! The engine: a cascade of filters, each of which leaves little to the next.
//!
//! ```text
//!  payload ─ filter ──────► buckets ─────────► contents ────► hits
//!            every second   eight bytes around  all bytes
//!            place: a word  the place, eight
//!            and two bits   entries at once
//!            ≈ 1 in 50      ≈ 1 in 35            ≈ 1 in 60
//! ```
//!
//! * [`gram`] is what all of it hangs on: four bytes of a content, folded, and
//!   their neighbours. A content may be entered at any of its grams;
//! * [`plan`] enters it where traffic, as a [`profile`] knows it, looks least;
//!   [`marks`] tells what that sets in a filter;
//! * [`filter`] is read at every second place of a payload; where contents are
//!   few and registers wide, sets of byte [`classes`], which [`class_plan`]
//!   fills, stand for it;
//! * [`buckets`] hold the entries of contents, [`units`] their bytes;
//!   [`candidates`] takes what passed through them, for the payloads of a
//!   batch together;
//! * [`runs`] answers for contents that are one byte repeated, of which
//!   a zero page would hold thousands.
//!
//! Contents of two to four bytes have a filter of their own, of which a word is
//! read at every second place, too, for two places; of single bytes a set is kept that shrinks as they are seen.
//!
//! It is exact: what is reported is what occurs ([`Needle::occurs_in`]).
//!
//! **Cost.** A place costs one read of the filter. One that passes costs a
//! comparison for every eight entries of its bucket, and each entry that is
//! like the text one comparison of a content. Whatever the payload, a byte thus
//! costs at most one visit to the largest bucket ([`Explanation`] tells its
//! size; the plan keeps it small by giving contents that share one gram
//! windows at others), and a content of c bytes c/64 comparisons at each of its
//! entries; what was reported for a payload is not compared again. Counted in
//! work ([`CascadeStatistics`]), a byte of the beginnings of all contents in a
//! row costs less than eight usual ones, and one of the dearest beginning,
//! repeated, less than sixteen: of contents that share more than a window with
//! so many others that no window of theirs is rare.
//!
//! The idea to filter all contents by one hash kernel is that of chapter 5 of
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
mod runs;
mod simd;
mod single;
mod table;
mod units;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_simd::Tier;

use super::{ContentEngine, EngineError, Hits, Needle, Text};
use buckets::MAX_ENTRIES;
use candidates::{Candidates, Stages};
use filter::{RUN_BYTES, SPAN_BYTES};
use gram::FOLD;
use runs::{RunState, Runs};
use single::SingleBytes;
use table::Table;
use units::Records;

pub use candidates::CascadeStatistics;
pub use explain::Explanation;
pub use profile::{Profile, ProfileError};

/// The engine. The module describes how it works.
pub struct Cascade {
    tier: Tier,
    /// No two engines of a process have the same.
    identity: u64,
    four: Option<Table>,
    two: Option<Table>,
    /// Contents of one byte: a bit for every byte that is one, in upper and
    /// lower case where that does not matter.
    single: SingleBytes,
    runs: Runs,
    records: Records,
    longest_bytes: usize,
    explanation: Explanation,
}

/// Working memory of a shard.
#[derive(Default)]
pub(super) struct Scratch {
    engine: u64,
    four: Candidates,
    two: Candidates,
    runs: RunState,
    /// For each slot the epoch of the payload for which it was reported last.
    stamps: Vec<u32>,
    epoch: u32,
    statistics: CascadeStatistics,
}

impl Scratch {
    pub(super) fn statistics(&self) -> CascadeStatistics {
        self.statistics
    }
}

impl Cascade {
    /// Builds the engine from contents and a profile of the traffic they are
    /// looked for in. Contents are known by their place in the slice; empty
    /// ones occur nowhere.
    ///
    /// # Errors
    /// [`EngineError`]: a content of more than 65,535 bytes, or more than four
    /// million contents.
    pub fn new(needles: &[Needle], profile: &Profile, tier: Tier) -> Result<Cascade, EngineError> {
        Cascade::with_sets(needles, profile, tier, tier == Tier::Avx512)
    }

    /// The engine that finds few contents by sets of byte classes, or all by a
    /// filter. Sets are slow where there is no look-up of 64 bytes.
    fn with_sets(
        needles: &[Needle],
        profile: &Profile,
        tier: Tier,
        has_sets: bool,
    ) -> Result<Cascade, EngineError> {
        for (number, needle) in needles.iter().enumerate() {
            if needle.bytes().len() > usize::from(u16::MAX) {
                return Err(EngineError::ContentBytes {
                    number,
                    bytes: needle.bytes().len(),
                });
            }
        }
        // A content has two entries, or one for each case of two letters.
        if needles.len() > MAX_ENTRIES / 4 {
            return Err(EngineError::Contents(needles.len()));
        }
        static ENGINES: AtomicU64 = AtomicU64::new(1);
        let (units, records) = units::units(needles);
        let mut single = SingleBytes::default();
        let (mut short, mut pure, mut long) = (Vec::new(), Vec::new(), Vec::new());
        for unit in &units {
            let content = unit.needle.bytes();
            let is_pure = content.iter().all(|byte| byte | FOLD == content[0] | FOLD);
            match content.len() {
                1 => single.add(unit),
                2..RUN_BYTES => short.push(unit),
                _ if is_pure => pure.push(unit),
                _ => long.push(unit),
            }
        }
        let mut explanation = Explanation::new(needles.len(), &units, single.count(), pure.len());
        // The first stage of longer contents finds the runs, too.
        let four = (!long.is_empty() || !pure.is_empty()).then(|| {
            let by_classes = has_sets
                .then(|| Table::of_few(&long, !pure.is_empty(), profile))
                .flatten();
            by_classes.unwrap_or_else(|| Table::of_many(&long, profile))
        });
        let two = (!short.is_empty()).then(|| Table::of_short(&short, profile));
        for (table, contents) in [(&four, long.len()), (&two, short.len())] {
            if let Some(table) = table {
                explanation.add_table(contents, table);
            }
        }
        let mut cascade = Cascade {
            tier,
            identity: ENGINES.fetch_add(1, Ordering::Relaxed),
            four,
            two,
            single,
            runs: Runs::new(pure.into_iter()),
            records,
            longest_bytes: needles.iter().map(|n| n.bytes().len()).max().unwrap_or(0),
            explanation,
        };
        cascade.explanation.memory_bytes = cascade.memory_bytes();
        Ok(cascade)
    }

    /// How contents are looked for, and what that is expected to cost.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// One payload through the first stage.
    fn look(&self, index: u32, texts: &[Text<'_>], scratch: &mut Scratch, hits: &mut Hits) {
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

    /// Reports a unit's contents for a payload, if they were not.
    fn report_once(
        &self,
        slot: u32,
        payload: u32,
        epoch: u32,
        stamps: &mut [u32],
        hits: &mut Hits,
    ) {
        let stamp = &mut stamps[slot as usize];
        if *stamp != epoch {
            *stamp = epoch;
            let report = |number| hits.push(payload, number);
            self.records.for_each_number(slot, report);
        }
    }

    /// The later stages over all that passed so far.
    fn settle(&self, texts: &[Text<'_>], scratch: &mut Scratch, hits: &mut Hits) {
        let Scratch {
            four,
            two,
            stamps,
            statistics,
            ..
        } = scratch;
        for (table, candidates) in [(&self.two, two), (&self.four, four)] {
            if let Some(table) = table {
                let stages = Stages {
                    tier: self.tier,
                    table,
                    records: &self.records,
                    texts,
                };
                candidates.settle(&stages, stamps, statistics, |payload, number| {
                    hits.push(payload, number);
                });
            }
        }
    }
}

impl ContentEngine for Cascade {
    fn name(&self) -> &str {
        "cascade"
    }

    fn scan(&self, texts: &[Text<'_>], hits: &mut Hits) {
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
        tables.map(Table::memory_bytes).sum::<usize>() + self.records.memory_bytes()
    }

    fn explain(&self) -> String {
        self.explanation.to_string()
    }

    fn longest_content_bytes(&self) -> usize {
        self.longest_bytes
    }
}

impl Scratch {
    /// Makes ready for a batch: a stamp for each slot, none of which is that of
    /// an epoch to come, whichever engine left it.
    fn prepare(&mut self, engine: &Cascade, texts: usize) {
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

impl fmt::Debug for Cascade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cascade")
            .field("tier", &self.tier)
            .field("explanation", &self.explanation)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod tests;
