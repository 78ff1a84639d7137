//! Keys that wait to be hashed, those that come again soon added together.

use std::fmt;
use std::hint::select_unpredictable;

use weir_hash::SeedStream;

/// Keys that wait until they are looked at together.
pub(crate) const WAITING_MAX: usize = 256;

/// Memory of remembered keys: what a first-level cache holds.
const CACHE_BYTES: usize = 1 << 15;

/// Keys after which the share that came again is looked at, and those that go by
/// unlooked at where it was too small.
const TRIAL: usize = 1 << 13;
const REST: usize = 1 << 17;

/// One key in so many must come again: a look into the cache costs a fifth of
/// what hashing, adding and asking for a candidate do.
const WORTHWHILE: usize = 5;

/// What is to be added to a key of `N` words of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub(crate) struct Addition<const N: usize> {
    pub words: [u64; N],
    /// At most 2⁶³ - 1.
    pub value: u64,
    flags: u64,
}

impl<const N: usize> Addition<N> {
    /// Keys that are remembered, a power of two.
    const SLOTS: usize = CACHE_BYTES / size_of::<Addition<N>>().next_power_of_two();

    const NOTHING: Addition<N> = Addition {
        words: [0; N],
        value: 0,
        flags: 0,
    };
    /// Not an empty slot.
    const IS_SOMETHING: u64 = 1;
    const IS_NOTED: u64 = 2;

    /// A value of 2⁶³ or more counts as 2⁶³ - 1, which is all that a sketch holds.
    #[inline(always)]
    pub fn new(words: [u64; N], value: u64, is_noted: bool) -> Addition<N> {
        let noted = if is_noted { Self::IS_NOTED } else { 0 };
        Addition {
            words,
            value: value.min(i64::MAX as u64),
            flags: Self::IS_SOMETHING | noted,
        }
    }

    /// Whether the key is one of those that are noted.
    pub fn is_noted(&self) -> bool {
        self.flags & Self::IS_NOTED != 0
    }

    fn is_something(&self) -> bool {
        self.flags != 0
    }
}

/// Gathers additions, and remembers keys, each with what was added to it, until
/// another one needs its slot. Packets come in trains and few keys have most of
/// them, so that many additions end here and are never hashed.
///
/// What leaves adds up, key by key, to what came, after a [`Gather::drain`]. Which
/// keys meet in a slot depends on secret numbers. Where keys do not come again,
/// the cache rests.
pub(crate) struct Gather<const N: usize> {
    waiting: Box<[Addition<N>]>,
    count: usize,
    slots: Box<[Addition<N>]>,
    is_empty: bool,
    multipliers: [u64; N],
    is_resting: bool,
    /// Keys until the next look, and those that left since the last one.
    until_look: usize,
    left: usize,
}

impl<const N: usize> Gather<N> {
    pub fn new(seed: u64) -> Gather<N> {
        let mut stream = SeedStream::new(seed);
        Gather {
            waiting: vec![Addition::NOTHING; WAITING_MAX].into(),
            count: 0,
            slots: vec![Addition::NOTHING; Addition::<N>::SLOTS].into(),
            is_empty: true,
            multipliers: std::array::from_fn(|_| stream.next_u64() | 1),
            is_resting: false,
            until_look: TRIAL,
            left: 0,
        }
    }

    /// Takes an addition. True where no further one has room: then
    /// [`Gather::leaving`] is to be called.
    #[inline(always)]
    pub fn put(&mut self, addition: Addition<N>) -> bool {
        if let Some(place) = self.waiting.get_mut(self.count) {
            *place = addition;
            self.count += 1;
        }
        self.count >= WAITING_MAX
    }

    /// Makes room, and returns what is to be added now.
    pub fn leaving(&mut self) -> &[Addition<N>] {
        let count = std::mem::take(&mut self.count);
        self.until_look = self.until_look.saturating_sub(count);
        let leaving = if self.is_resting {
            count
        } else {
            self.combine(count)
        };
        self.left += leaving;
        if self.until_look == 0 {
            self.look();
        }
        &self.waiting[..leaving]
    }

    /// Returns a part of all that is here, at least one addition unless there is
    /// none. To be called until it returns none.
    pub fn drain(&mut self) -> &[Addition<N>] {
        let mut count = self.leaving().len();
        if count == 0 && !self.is_empty {
            let full = self.slots.iter_mut().filter(|slot| slot.is_something());
            for (place, slot) in self.waiting.iter_mut().zip(full) {
                *place = std::mem::replace(slot, Addition::NOTHING);
                count += 1;
            }
            self.is_empty = count == 0;
        }
        &self.waiting[..count]
    }

    /// Puts what waits into slots, and what was there in front of what waits.
    /// There is no branch that depends on a key: what was in a slot is always
    /// written out, and counts only if it had to leave.
    fn combine(&mut self, count: usize) -> usize {
        self.is_empty &= count == 0;
        let mut leaving = 0;
        for index in 0..count {
            let addition = self.waiting[index];
            let slot = self.slot(&addition.words);
            let old = self.slots[slot];
            let sum = old.value + addition.value;
            let words = old.words.iter().zip(&addition.words);
            let difference = words.fold(0, |difference, (a, b)| difference | (a ^ b));
            let is_same = (difference == 0) & (sum <= i64::MAX as u64);
            let mut new = addition;
            new.value = select_unpredictable(is_same, sum, addition.value);
            new.flags |= select_unpredictable(is_same, old.flags, 0);
            self.slots[slot] = new;
            // Not behind the one that was just read.
            self.waiting[leaving] = old;
            leaving += usize::from(!is_same & old.is_something());
        }
        leaving
    }

    #[inline]
    fn slot(&self, words: &[u64; N]) -> usize {
        let products = words.iter().zip(&self.multipliers);
        let sum = products.fold(0u64, |sum, (word, multiplier)| {
            sum.wrapping_add(word.wrapping_mul(*multiplier))
        });
        (sum >> (u64::BITS - Addition::<N>::SLOTS.ilog2())) as usize
    }

    #[cold]
    fn look(&mut self) {
        let is_worthwhile = (TRIAL - self.left.min(TRIAL)) * WORTHWHILE >= TRIAL;
        self.is_resting = !self.is_resting && !is_worthwhile;
        self.until_look = if self.is_resting { REST } else { TRIAL };
        self.left = 0;
    }
}

impl<const N: usize> fmt::Debug for Gather<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather")
            .field("is_resting", &self.is_resting)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Passes keys of one word with values through a cache, notes every seventh
    /// one, and checks that what left adds up; returns the cache and how many
    /// additions left it.
    fn pass(keys: impl Iterator<Item = (u64, u64)>) -> (Gather<2>, usize) {
        let mut gather = Gather::new(1);
        let (mut sums, mut count) = (HashMap::<u64, (i128, bool)>::new(), 0);
        let mut take = |leaving: &[Addition<2>], count: &mut usize| {
            *count += leaving.len();
            for addition in leaving {
                let sum = sums.entry(addition.words[0]).or_default();
                sum.0 += i128::from(addition.value);
                sum.1 |= addition.is_noted();
            }
        };
        let mut truth = HashMap::<u64, (i128, bool)>::new();
        for (key, value) in keys {
            let is_noted = key % 7 == 0;
            let sum = truth.entry(key).or_default();
            sum.0 += i128::from(value);
            sum.1 |= is_noted;
            if gather.put(Addition::new([key, key >> 8], value, is_noted)) {
                take(gather.leaving(), &mut count);
            }
        }
        let before = count;
        loop {
            let leaving = gather.drain();
            if leaving.is_empty() {
                break;
            }
            take(leaving, &mut count);
        }
        assert!(
            count - before <= WAITING_MAX + Addition::<2>::SLOTS,
            "{count}"
        );
        assert_eq!(sums, truth);
        assert!(gather.drain().is_empty());
        (gather, count)
    }

    fn random(count: usize, range: u64) -> impl Iterator<Item = (u64, u64)> {
        let mut stream = SeedStream::new(5);
        (0..count).map(move |number| (stream.next_u64() % range, 60 + number as u64 % 1441))
    }

    #[test]
    fn keys_that_come_again_leave_once() {
        let (gather, count) = pass(random(100_000, 300));
        assert!(!gather.is_resting);
        assert!(count < 10_000, "{count}");
    }

    #[test]
    fn cache_rests_where_keys_do_not_come_again_and_wakes() {
        let (gather, count) = pass(random(50_000, u64::MAX));
        assert!(gather.is_resting);
        assert_eq!(count, 50_000);
        let again = (0..REST + 2 * TRIAL).map(|number| (number as u64 % 3, 60));
        let (gather, _) = pass(random(TRIAL, u64::MAX).chain(again));
        assert!(!gather.is_resting);
    }

    /// Key 0 in an empty slot, values of nothing, and sums that a sketch does not
    /// hold in one addition.
    #[test]
    fn sums_at_the_limits_are_exact() {
        let most = i64::MAX as u64;
        let updates = [(0, 0), (0, 5), (3, most), (3, 1), (3, most), (9, 0), (3, 7)];
        pass(updates.into_iter());
        pass(std::iter::empty());
        assert_eq!(Addition::new([1], u64::MAX, false).value, most);
    }
}
