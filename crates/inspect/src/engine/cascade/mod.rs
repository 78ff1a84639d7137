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
//! * [`filter`] is read at every second place of a payload;
//! * [`buckets`] hold the entries of contents, [`units`] their bytes;
//!   [`candidates`] takes what passed through them, for the payloads of a
//!   batch together;
//! * [`runs`] answers for contents that are one byte repeated, of which
//!   a zero page would hold thousands.
//!
//! Contents of two to four bytes have a filter of their own, which is read at
//! every place; of single bytes a set is kept that shrinks as they are seen.
//!
//! It is exact: what is reported is what occurs ([`Needle::occurs_in`]).
//!
//! **Cost.** A place costs one read of the filter. One that passes costs a
//! comparison for every eight entries of its bucket, and each entry that is
//! like the text one comparison of a content. Whatever the payload, a byte thus
//! costs at most one visit to the largest bucket ([`Explanation`] tells its
//! size; the plan keeps it small by giving contents that share one gram
//! windows at others), and a content of c bytes c/64 comparisons at each of its
//! entries; what was reported for a payload is not compared again.
//!
//! The idea to filter all contents by one hash kernel is that of chapter 5 of
//! the thesis, which [`Segmented`](super::Segmented) follows to the letter; that traffic
//! should choose the window is its "central-weighted" choice (section 5.3.1)
//! taken further.

mod buckets;
mod candidates;
mod explain;
mod filter;
mod gram;
mod plan;
mod profile;
mod runs;
mod simd;
mod units;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_simd::Tier;

use super::{ContentEngine, EngineError, Hits, Needle, Text};
use buckets::{Buckets, MAX_ENTRIES};
use candidates::{Candidates, Stages, Table};
use filter::{Filter, RUN_BYTES, SPAN_BYTES};
use gram::{FOLD, Grams};
use profile::LOG2_TWO;
use runs::{RunState, Runs};
use units::{Records, Unit};

pub use candidates::CascadeStatistics;
pub use explain::Explanation;
pub use profile::{Profile, ProfileError};

/// Words of the filter of four-byte grams, as powers of two: more would leave
/// the second cache.
const LOG2_WORDS: std::ops::RangeInclusive<u32> = 13..=16;
const LOG2_HEADS: std::ops::RangeInclusive<u32> = 12..=16;
/// Buckets of two-byte grams, of which there are 2¹⁶ at most.
const LOG2_HEADS_OF_TWO: u32 = 14;

/// The engine. The module tells how it works.
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

/// Contents of one byte.
#[derive(Clone, Debug, Default)]
struct SingleBytes {
    set: ByteSet,
    /// Their slots, for each byte.
    slots: Vec<Vec<u32>>,
}

/// A bit for each byte.
type ByteSet = [u64; 4];

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
    /// [`EngineError`]: a content of more than 65,535 bytes, or more than eight
    /// million contents.
    pub fn new(needles: &[Needle], profile: &Profile, tier: Tier) -> Result<Cascade, EngineError> {
        for (number, needle) in needles.iter().enumerate() {
            if needle.bytes().len() > usize::from(u16::MAX) {
                return Err(EngineError::ContentBytes {
                    number,
                    bytes: needle.bytes().len(),
                });
            }
        }
        if needles.len() > MAX_ENTRIES / 2 {
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
        let log2 = long.len().max(1).next_power_of_two().ilog2() + 1;
        let size_of_four = (
            log2.clamp(*LOG2_WORDS.start(), *LOG2_WORDS.end()),
            log2.clamp(*LOG2_HEADS.start(), *LOG2_HEADS.end()),
        );
        let mut explanation = Explanation::new(
            needles.len(),
            &units,
            single.slots.iter().map(Vec::len).sum(),
            pure.len(),
        );
        let mut table = |grams, units: &[&Unit], (log2_words, log2_heads), is_needed: bool| {
            is_needed.then(|| {
                let plan = plan::plan(grams, units, (log2_words, log2_heads), profile);
                let table = Table {
                    filter: Filter::new(grams, plan.words),
                    buckets: Buckets::new(grams, log2_heads, plan.entries),
                };
                explanation.add_table(units.len(), &table, plan.expected_rate);
                table
            })
        };
        // The filter of four-byte grams finds the runs, too.
        let four = table(
            Grams::Four,
            &long,
            size_of_four,
            !(long.is_empty() && pure.is_empty()),
        );
        let two = table(
            Grams::Two,
            &short,
            (LOG2_TWO, LOG2_HEADS_OF_TWO),
            !short.is_empty(),
        );
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
        self.single.search(self.tier, &bytes[carried..], |slot| {
            self.report_once(slot, index, epoch, stamps, hits);
        });
        if let Some(table) = &self.two {
            for from in (0..bytes.len()).step_by(SPAN_BYTES) {
                let candidates = &mut scratch.two;
                (table.filter).look(self.tier, bytes, from, carried, &mut candidates.passed);
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
            (table.filter).look(self.tier, bytes, from, carried, &mut candidates.passed);
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
        let tables = tables.map(|t| t.filter.words.len() * 4 + t.buckets.memory_bytes());
        tables.sum::<usize>() + self.records.memory_bytes()
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

impl SingleBytes {
    fn add(&mut self, unit: &Unit) {
        let byte = unit.needle.bytes()[0];
        self.slots.resize(256, Vec::new());
        self.insert(byte, unit.slot);
        if unit.needle.is_nocase() {
            self.insert(byte.to_ascii_uppercase(), unit.slot);
        }
    }

    fn insert(&mut self, byte: u8, slot: u32) {
        self.set[usize::from(byte / 64)] |= 1 << (byte % 64);
        self.slots[usize::from(byte)].push(slot);
    }

    /// Reports the slots of what occurs: some of them twice, once for each
    /// case.
    fn search(&self, tier: Tier, text: &[u8], mut report: impl FnMut(u32)) {
        let (mut set, mut at) = (self.set, 0);
        while set != [0; 4]
            && let Some(found) = find_in_set(tier, &text[at..], &set)
        {
            let byte = text[at + found];
            set[usize::from(byte / 64)] &= !(1 << (byte % 64));
            at += found + 1;
            self.slots[usize::from(byte)]
                .iter()
                .for_each(|slot| report(*slot));
        }
    }
}

/// Place of the first byte that is one of a set.
fn find_in_set(tier: Tier, text: &[u8], set: &ByteSet) -> Option<usize> {
    simd::find_in_set(tier, text, set).unwrap_or_else(|| {
        text.iter()
            .position(|byte| set[usize::from(byte / 64)] >> (byte % 64) & 1 != 0)
    })
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
mod tests;
