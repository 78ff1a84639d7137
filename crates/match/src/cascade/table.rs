//! A first stage and the buckets behind it, for patterns of one kind.

use weir_simd::Tier;

use super::buckets::Buckets;
use super::class_plan::Choice;
use super::classes::Classes;
use super::filter::{Filter, Passed};
use super::gram::{Grams, folded};
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

/// Where each unit of a table has its window: what a saved database keeps of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Windows {
    pub(super) places: Places,
    /// Places per byte that would pass the first stage, by the profile.
    pub(super) expected_rate: f64,
}

/// The windows of a first stage of either kind, in the order of the units.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Places {
    Filter(Vec<u16>),
    Classes(Vec<Choice>),
}

impl Windows {
    /// Few patterns of five bytes and more, found by sets of byte classes;
    /// `None` where a filter is faster.
    pub(super) fn of_few(units: &[&Unit], profile: &Profile) -> Option<Windows> {
        let plan = class_plan::plan(units, eights_of(units.len())?, profile);
        (plan.expected_rate <= MOST_THROUGH_SETS).then_some(Windows {
            places: Places::Classes(plan.choices),
            expected_rate: plan.expected_rate,
        })
    }

    /// Any number of patterns, found by a filter.
    pub(super) fn of_many(grams: Grams, units: &[&Unit], profile: &Profile) -> Windows {
        let plan = plan::plan(grams, units, filter_size(grams, units.len()), profile);
        Windows {
            places: Places::Filter(plan.places),
            expected_rate: plan.expected_rate,
        }
    }

    /// Whether the units may have these windows.
    pub(super) fn fit(&self, grams: Grams, units: &[&Unit]) -> bool {
        let folded = |unit: &&Unit| folded(unit.pattern.bytes());
        match &self.places {
            Places::Filter(places) => {
                let is_window = |(unit, place): (&&Unit, &u16)| {
                    plan::is_window(grams, &folded(unit), (*place).into())
                };
                places.len() == units.len() && units.iter().zip(places).all(is_window)
            }
            Places::Classes(choices) => {
                let sets = 8 * eights_of(units.len()).unwrap_or(0);
                let is_window = |(unit, choice): (&&Unit, &Choice)| {
                    usize::from(choice.set) < sets
                        && class_plan::is_window(&folded(unit), choice.place.into())
                };
                grams == Grams::Four
                    && choices.len() == units.len()
                    && sets > 0
                    && units.iter().zip(choices).all(is_window)
            }
        }
    }
}

/// Sets of byte classes, eight by eight, for a number of patterns; `None` where
/// these are too many.
fn eights_of(units: usize) -> Option<usize> {
    match units {
        0..=64 => Some(1),
        65..=MOST_IN_SETS => Some(2),
        _ => None,
    }
}

/// Words and heads of a filter for a number of patterns, as powers of two.
fn filter_size(grams: Grams, units: usize) -> (u32, u32) {
    let log2 = log2_of_twice(units);
    match grams {
        Grams::Four => (
            log2.clamp(*LOG2_WORDS.start(), *LOG2_WORDS.end()),
            log2.clamp(*LOG2_HEADS.start(), *LOG2_HEADS.end()),
        ),
        Grams::Two => (LOG2_TWO, LOG2_HEADS_OF_TWO),
    }
}

/// A first stage and the buckets behind it.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) sieve: Sieve,
    pub(super) buckets: Buckets,
    pub(super) windows: Windows,
}

impl Table {
    /// The table of units that have these windows, which must fit them.
    pub(super) fn new(grams: Grams, units: &[&Unit], windows: Windows, notes_runs: bool) -> Table {
        let (sieve, log2_heads, entries) = match &windows.places {
            Places::Filter(places) => {
                let (log2_words, log2_heads) = filter_size(grams, units.len());
                let (words, entries) = plan::enter(grams, units, places, log2_words);
                (
                    Sieve::Filter(Filter::new(grams, words)),
                    log2_heads,
                    entries,
                )
            }
            Places::Classes(choices) => {
                let eights = eights_of(units.len()).unwrap_or(1);
                let (eights, entries) = class_plan::enter(units, choices, eights);
                let log2_heads = log2_of_twice(units.len()) + 2;
                let classes = Classes { eights, notes_runs };
                let log2_heads = log2_heads.clamp(*LOG2_HEADS.start(), *LOG2_HEADS.end());
                (Sieve::Classes(classes), log2_heads, entries)
            }
        };
        Table {
            sieve,
            buckets: Buckets::new(grams, log2_heads, entries),
            windows,
        }
    }

    /// Heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        let windows = match &self.windows.places {
            Places::Filter(places) => size_of_val(&places[..]),
            Places::Classes(choices) => size_of_val(&choices[..]),
        };
        self.sieve.memory_bytes() + self.buckets.memory_bytes() + windows
    }
}

/// Twice a count, as a power of two that is no less.
fn log2_of_twice(count: usize) -> u32 {
    count.max(1).next_power_of_two().ilog2() + 1
}
