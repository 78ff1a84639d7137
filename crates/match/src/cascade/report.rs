//! What becomes of an occurrence: noted once per haystack, or each with its
//! offsets.

use super::units::Records;
use crate::Match;

/// A unit that occurs in a haystack of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occurrence {
    pub(super) slot: u32,
    pub(super) haystack: u32,
    /// The haystack's number among all.
    pub(super) epoch: u32,
    /// Offsets in the haystack.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Takes occurrences.
pub(super) trait Report {
    /// Whether a unit matters that may occur in the haystack of this number.
    fn wants(&self, slot: u32, epoch: u32) -> bool;

    /// Takes an occurrence that is wanted.
    fn add(&mut self, found: Occurrence);
}

/// Each pattern once per haystack.
pub(super) struct Once<'a, F> {
    pub(super) records: &'a Records,
    /// For each slot the epoch of the haystack for which it was reported last.
    pub(super) stamps: &'a mut [u32],
    pub(super) push: F,
}

impl<F: FnMut(u32, u32)> Report for Once<'_, F> {
    #[inline(always)]
    fn wants(&self, slot: u32, epoch: u32) -> bool {
        self.stamps[slot as usize] != epoch
    }

    #[inline(always)]
    fn add(&mut self, found: Occurrence) {
        self.stamps[found.slot as usize] = found.epoch;
        self.records
            .for_each_number(found.slot, |number| (self.push)(found.haystack, number));
    }
}

/// Every match, with the index of its haystack.
pub(super) struct Every<'a> {
    pub(super) records: &'a Records,
    pub(super) matches: &'a mut Vec<(u32, Match)>,
}

impl Report for Every<'_> {
    #[inline(always)]
    fn wants(&self, _slot: u32, _epoch: u32) -> bool {
        true
    }

    #[inline(always)]
    fn add(&mut self, found: Occurrence) {
        let Occurrence { start, end, .. } = found;
        self.records.for_each_number(found.slot, |pattern| {
            let found_match = Match {
                pattern: pattern as usize,
                start,
                end,
            };
            self.matches.push((found.haystack, found_match));
        });
    }
}
