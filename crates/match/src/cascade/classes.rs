//! The first stage for few patterns: sets of patterns by the classes of their
//! bytes, with no memory to be read.
//!
//! ```text
//!  window    place - 2 … place + 5 of the text, eight bytes
//!  class     the low six bits of a byte
//!  set       for each of the eight positions the classes that its patterns have
//!  passes    where a set has all eight classes
//! ```
//!
//! Patterns that are alike share a set ([`class_plan`](super::class_plan)). A
//! position of eight sets is one look-up of 64 bytes, which is one register of
//! AVX-512; so some hundred patterns cost a quarter of what reading a filter
//! costs, and every place can be looked at. With thousands of patterns sets
//! fill up.

use weir_simd::{Lanes, Tier};

use super::filter::Passed;
use super::gram::Grams;
use super::simd;

/// Bytes of the window: those that an entry of a bucket is compared with.
pub(super) const WINDOW_BYTES: usize = 8;
/// Bytes of the window before its gram.
pub(super) const BEFORE: usize = 2;
/// Classes of bytes.
pub(super) const CLASSES: usize = 64;

/// For each position of the window and each class, the sets that have it: a bit
/// for each of eight.
pub(super) type Set = [Lanes<u8, CLASSES>; WINDOW_BYTES];

/// Which class a byte is of.
#[inline(always)]
pub(super) const fn class_of(byte: u8) -> usize {
    byte as usize % CLASSES
}

/// The sets, eight by eight.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    pub(super) eights: Vec<Set>,
    /// Whether runs of one byte are asked for.
    pub(super) notes_runs: bool,
}

impl Classes {
    /// Adds the places of the span at `from` to `passed`, and notes its runs if
    /// they are asked for.
    pub(super) fn look(&self, tier: Tier, text: &[u8], from: usize, passed: &mut Passed) {
        passed.run_count = 0;
        if !simd::look_classes(tier, self, text, from, passed) {
            self.look_scalar(text, from, passed);
        }
    }

    /// The definition.
    pub(super) fn look_scalar(&self, text: &[u8], from: usize, passed: &mut Passed) {
        let passes = |place| self.passes(text, place) && !Grams::Four.is_inside_run(text, place, 0);
        passed.add_places(text, from, Grams::Four, 1, passes);
        if self.notes_runs {
            passed.note_runs(text, from);
        }
    }

    /// Share of the classes, at all positions of all sets, that some pattern has.
    pub(super) fn filled(&self) -> f64 {
        let positions = self.eights.iter().flatten();
        let taken = positions.clone().flat_map(|position| position.0);
        let taken: u64 = taken.map(|sets| u64::from(sets.count_ones())).sum();
        taken as f64 / (8 * CLASSES * positions.count()) as f64
    }

    /// Whether a set has the classes of all bytes around a place. Where the text
    /// has none, only patterns that have none there can occur: they are in all
    /// classes, so that any will do.
    fn passes(&self, text: &[u8], place: usize) -> bool {
        let class = |index: usize| {
            let at = (place + index).checked_sub(BEFORE);
            class_of(at.and_then(|at| text.get(at)).copied().unwrap_or_default())
        };
        self.eights.iter().any(|eight| {
            let sets = eight.iter().enumerate();
            let sets = sets.map(|(index, position)| position[class(index)]);
            sets.fold(u8::MAX, |all, sets| all & sets) != 0
        })
    }
}
