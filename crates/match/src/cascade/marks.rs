//! What a pattern sets in a filter, and where its entries are, when it has its
//! window at one of its places.

use super::gram::{Grams, bit_before, bit_behind};

/// Bits that any byte before a gram chooses, and any behind it.
const ALL_BEFORE: u32 = 0xffff;
const ALL_BEHIND: u32 = 0xffff << 16;

/// Bits of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Of the gram that chooses the word.
    pub(super) hash: u32,
    pub(super) bits: u32,
    /// Where in the pattern the gram of an entry begins, if this is one.
    pub(super) entry: Option<usize>,
}

/// A pattern, for filters of either kind.
pub(super) struct Marked<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) folded: &'a [u8],
    pub(super) is_nocase: bool,
}

impl Marked<'_> {
    /// Calls `mark` with everything that the window at `place` sets.
    pub(super) fn for_each(&self, grams: Grams, place: usize, mark: impl FnMut(Mark)) {
        match grams {
            Grams::Four => self.mark_four(place, mark),
            Grams::Two => self.mark_two(place, mark),
        }
    }

    /// Two neighbouring grams, one of which lies at an even place, with the bits
    /// of both neighbours: all where the pattern does not tell which they are.
    fn mark_four(&self, place: usize, mut mark: impl FnMut(Mark)) {
        for place in place..place + Grams::Four.step() {
            let before = place.checked_sub(1).map(|before| self.folded[before]);
            let behind = self.folded.get(place + Grams::Four.bytes());
            let bits = before.map_or(ALL_BEFORE, bit_before)
                | behind.map_or(ALL_BEHIND, |byte| bit_behind(*byte));
            mark(Mark {
                hash: Grams::Four.hash(&self.folded[place..]),
                bits,
                entry: Some(place),
            });
        }
    }

    /// The gram at `place` with the byte behind it, and the one at the next place
    /// with the byte before it: the first is read where the window lies at an odd
    /// place, the other where it lies at an even one. Of a pattern that ends with
    /// its first gram the second byte of the other may be any.
    fn mark_two(&self, place: usize, mut mark: impl FnMut(Mark)) {
        let (first, third) = (self.bytes[place], self.bytes.get(place + 2));
        for second in self.cases(self.bytes[place + 1]) {
            for first in self.cases(first) {
                mark(Mark {
                    hash: Grams::Two.hash(&[first, second]),
                    bits: third.map_or(ALL_BEHIND, |byte| bit_behind(*byte)),
                    entry: Some(place),
                });
            }
            let mut mark_next = |third| {
                mark(Mark {
                    hash: Grams::Two.hash(&[second, third]),
                    // The same in either case.
                    bits: bit_before(first),
                    entry: None,
                });
            };
            match third {
                Some(third) => self.cases(*third).for_each(&mut mark_next),
                None => (0..=u8::MAX).for_each(&mut mark_next),
            }
        }
    }

    /// What a text may have where the pattern has a byte.
    fn cases(&self, byte: u8) -> impl Iterator<Item = u8> + use<> {
        let other = byte.to_ascii_uppercase();
        let other = (self.is_nocase && other != byte).then_some(other);
        std::iter::once(byte).chain(other)
    }
}
