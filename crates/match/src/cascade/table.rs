//! A first stage and the buckets behind it, for patterns of one kind.

use weir_simd::Tier;

use super::buckets::Buckets;
use super::classes::Classes;
use super::filter::{Filter, Passed};
use super::gram::Grams;
use super::profile::{LOG2_TWO, Profile};
use super::units::Unit;
use super::{class_plan, plan};

/// Words of the filter of four-byte grams, as powers of two: more would leave
/// the second cache.
const LOG2_WORDS: std::ops::RangeInclusive<u32> = 13..=16;
const LOG2_HEADS: std::ops::RangeInclusive<u32> = 12..=16;
/// Buckets of two-byte grams, of which there are 2¹⁶ at most.
const LOG2_HEADS_OF_TWO: u32 = 14;

/// More patterns than these fill the sets of byte classes up.
const MOST_IN_SETS: usize = 600;
/// Share of places above which sets of byte classes are no help.
const MOST_THROUGH_SETS: f64 = 0.15;

/// The first stage.
#[derive(Clone, Debug)]
pub(super) enum Sieve {
    Filter(Filter),
    Classes(Classes),
}

impl Sieve {
    /// Adds the places of the span at `from`, an even number, to `passed`, and
    /// notes its runs.
    pub(super) fn look(
        &self,
        tier: Tier,
        text: &[u8],
        from: usize,
        carried: usize,
        passed: &mut Passed,
    ) {
        match self {
            Sieve::Filter(filter) => filter.look(tier, text, from, carried, passed),
            Sieve::Classes(classes) => classes.look(tier, text, from, passed),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Sieve::Filter(filter) => filter.words.len() * 4,
            Sieve::Classes(classes) => size_of_val(&classes.eights[..]),
        }
    }
}

/// A first stage and the buckets behind it.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) sieve: Sieve,
    pub(super) buckets: Buckets,
    /// Places per byte that would pass, by the profile.
    pub(super) expected_rate: f64,
}

impl Table {
    /// Few patterns of five bytes and more, found by sets of byte classes;
    /// `None` where a filter is faster.
    pub(super) fn of_few(units: &[&Unit], notes_runs: bool, profile: &Profile) -> Option<Table> {
        let eights = match units.len() {
            0..=64 => 1,
            65..=MOST_IN_SETS => 2,
            _ => return None,
        };
        let plan = class_plan::plan(units, eights, profile);
        let log2_heads = log2_of_twice(units.len()) + 2;
        let log2_heads = log2_heads.clamp(*LOG2_HEADS.start(), *LOG2_HEADS.end());
        (plan.expected_rate <= MOST_THROUGH_SETS).then(|| Table {
            sieve: Sieve::Classes(Classes {
                eights: plan.eights,
                notes_runs,
            }),
            buckets: Buckets::new(Grams::Four, log2_heads, plan.entries),
            expected_rate: plan.expected_rate,
        })
    }

    /// Any number of patterns of five bytes and more, found by a filter.
    pub(super) fn of_many(units: &[&Unit], profile: &Profile) -> Table {
        let log2 = log2_of_twice(units.len());
        let size = (
            log2.clamp(*LOG2_WORDS.start(), *LOG2_WORDS.end()),
            log2.clamp(*LOG2_HEADS.start(), *LOG2_HEADS.end()),
        );
        Table::by_filter(Grams::Four, units, size, profile)
    }

    /// Patterns of two to four bytes, found by a filter.
    pub(super) fn of_short(units: &[&Unit], profile: &Profile) -> Table {
        Table::by_filter(Grams::Two, units, (LOG2_TWO, LOG2_HEADS_OF_TWO), profile)
    }

    fn by_filter(
        grams: Grams,
        units: &[&Unit],
        (log2_words, log2_heads): (u32, u32),
        profile: &Profile,
    ) -> Table {
        let plan = plan::plan(grams, units, (log2_words, log2_heads), profile);
        Table {
            sieve: Sieve::Filter(Filter::new(grams, plan.words)),
            buckets: Buckets::new(grams, log2_heads, plan.entries),
            expected_rate: plan.expected_rate,
        }
    }

    /// Heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.sieve.memory_bytes() + self.buckets.memory_bytes()
    }
}

/// Twice a count, as a power of two that is no less.
fn log2_of_twice(count: usize) -> u32 {
    count.max(1).next_power_of_two().ilog2() + 1
}
