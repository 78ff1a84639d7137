//! Keys that wait to be hashed, those that come again soon added together.

use std::fmt;
use std::hint::select_unpredictable;

use weir_hash::SeedStream;

use crate::rest::Rest;

/// Keys that wait until they are hashed together.
const WAITING_MAX: usize = 256;

/// The most keys that come at once: those of a batch.
pub(crate) const PUT_MAX: usize = 256;

/// The most keys that leave at once.
pub(crate) const LEAVING_MAX: usize = WAITING_MAX + PUT_MAX;

/// Memory of remembered keys: what a first-level cache holds.
const CACHE_BYTES: usize = 1 << 15;

/// The share of keys that must come again: a look into the cache costs a fifth of
/// what hashing, adding and asking for a candidate do.
const WORTHWHILE: f64 = 0.2;

/// What is to be added to a key of `N` words of 64 bits, of which the last has 43:
///
/// ```text
/// last word   0 to 42  key
///             43       whether the key is noted
///             44 to 63 the value
/// ```
///
/// Where the value is 0 there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addition<const N: usize>([u64; N]);

/// Where the parts of the last word begin.
const NOTED_BIT: u32 = 43;
const VALUE_BIT: u32 = 44;

/// The largest value of an addition.
const VALUE_MAX: u64 = u64::MAX >> VALUE_BIT;

/// Whether a value has room in an addition, and is one.
#[inline(always)]
pub(crate) fn fits(value: u64) -> bool {
    value.wrapping_sub(1) < VALUE_MAX
}

/// A key, what is to be added to it, up to [`VALUE_MAX`], and whether it is noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update<const N: usize> {
    pub words: [u64; N],
    pub value: u64,
    pub is_noted: bool,
}

impl<const N: usize> Addition<N> {
    /// Keys that are remembered, a power of two.
    const SLOTS: usize = CACHE_BYTES / size_of::<Addition<N>>().next_power_of_two();

    const NOTHING: Addition<N> = Addition([0; N]);

    /// Of an update alone.
    #[inline(always)]
    fn new(update: &Update<N>) -> Addition<N> {
        let mut words = update.words;
        words[N - 1] |= update.value << VALUE_BIT | u64::from(update.is_noted) << NOTED_BIT;
        Addition(words)
    }

    /// The words of the key.
    #[inline(always)]
    pub fn words(&self) -> [u64; N] {
        let mut words = self.0;
        words[N - 1] &= (1 << NOTED_BIT) - 1;
        words
    }

    /// What is to be added to it.
    #[inline(always)]
    pub fn value(&self) -> u64 {
        self.0[N - 1] >> VALUE_BIT
    }

    /// Whether the key is one of those that are noted.
    pub fn is_noted(&self) -> bool {
        self.0[N - 1] >> NOTED_BIT & 1 != 0
    }

    /// With an update of the same key whose value has room here; otherwise the
    /// update alone, and false.
    #[inline(always)]
    fn with(&self, update: &Update<N>) -> (Addition<N>, bool) {
        let last = self.0[N - 1];
        let (sum, is_beyond) = last.overflowing_add(update.value << VALUE_BIT);
        let key_bits = u64::BITS - NOTED_BIT;
        let difference = (last ^ update.words[N - 1]) << key_bits;
        let difference = (0..N - 1).fold(difference, |difference, word| {
            difference | (self.0[word] ^ update.words[word])
        });
        let is_same = (difference == 0) & !is_beyond;
        let mut with = Addition::new(update);
        let sum = sum | u64::from(update.is_noted) << NOTED_BIT;
        with.0[N - 1] = select_unpredictable(is_same, sum, with.0[N - 1]);
        (with, is_same)
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
    waiting: Box<[Addition<N>; LEAVING_MAX]>,
    count: usize,
    slots: Box<[Addition<N>]>,
    is_empty: bool,
    multipliers: [u64; N],
    rest: Rest,
}

impl<const N: usize> Gather<N> {
    pub fn new(seed: u64) -> Gather<N> {
        let mut stream = SeedStream::new(seed);
        Gather {
            waiting: Box::new([Addition::NOTHING; LEAVING_MAX]),
            count: 0,
            slots: vec![Addition::NOTHING; Addition::<N>::SLOTS].into(),
            is_empty: true,
            multipliers: std::array::from_fn(|_| stream.next_u64() | 1),
            rest: Rest::new(WORTHWHILE),
        }
    }

    /// Takes at most [`PUT_MAX`] updates, those of value 0 for none. True where no further ones have room:
    /// then [`Gather::leaving`] is to be called.
    #[inline(always)]
    pub fn put_all(&mut self, updates: impl Iterator<Item = Update<N>>) -> bool {
        let before = self.count;
        let taken = if self.rest.is_resting() {
            self.append(updates)
        } else {
            self.combine(updates)
        };
        self.rest.note(taken, self.count - before);
        self.count >= WAITING_MAX
    }

    /// Makes room, and returns what is to be added now.
    pub fn leaving(&mut self) -> &[Addition<N>] {
        // What is in slots stays there, and is drained at the end.
        self.rest.look();
        &self.waiting[..std::mem::take(&mut self.count)]
    }

    /// Returns a part of all that is here, at least one addition unless there is
    /// none. To be called until it returns none.
    pub fn drain(&mut self) -> &[Addition<N>] {
        let mut count = self.leaving().len();
        if count == 0 && !self.is_empty {
            let full = self.slots.iter_mut().filter(|slot| slot.value() != 0);
            for (place, slot) in self.waiting.iter_mut().zip(full) {
                *place = std::mem::replace(slot, Addition::NOTHING);
                count += 1;
            }
            self.is_empty = count == 0;
        }
        &self.waiting[..count]
    }

    /// Puts updates behind what waits; how many came.
    #[inline(always)]
    fn append(&mut self, updates: impl Iterator<Item = Update<N>>) -> usize {
        let mut taken = 0;
        for update in updates {
            self.waiting[self.count] = Addition::new(&update);
            self.count += usize::from(update.value != 0);
            taken += usize::from(update.value != 0);
        }
        taken
    }

    /// Puts updates into slots, and what was there behind what waits; how many
    /// came. There is no branch that depends on a key: what was in a slot is
    /// always written out, and counts only if it had to leave.
    #[inline(always)]
    fn combine(&mut self, updates: impl Iterator<Item = Update<N>>) -> usize {
        let (mut taken, mut count) = (0, self.count);
        let multipliers = self.multipliers;
        let slots = &mut self.slots[..Addition::<N>::SLOTS];
        let waiting = &mut self.waiting[..];
        for update in updates {
            let slot = &mut slots[slot(&update.words, &multipliers)];
            let old = *slot;
            let (new, is_same) = old.with(&update);
            *slot = new;
            waiting[count] = old;
            count += usize::from(!is_same & (old.value() != 0));
            taken += usize::from(update.value != 0);
        }
        self.is_empty &= taken == 0;
        self.count = count;
        taken
    }
}

/// Where a key of these words belongs.
#[inline(always)]
fn slot<const N: usize>(words: &[u64; N], multipliers: &[u64; N]) -> usize {
    let products = words.iter().zip(multipliers);
    let sum = products.fold(0u64, |sum, (word, multiplier)| {
        sum.wrapping_add(word.wrapping_mul(*multiplier))
    });
    (sum >> (u64::BITS - Addition::<N>::SLOTS.ilog2())) as usize
}

impl<const N: usize> fmt::Debug for Gather<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather")
            .field("rest", &self.rest)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::iter;

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
                let sum = sums.entry(addition.words()[0]).or_default();
                sum.0 += i128::from(addition.value());
                sum.1 |= addition.is_noted();
            }
        };
        let mut truth = HashMap::<u64, (i128, bool)>::new();
        for (key, value) in keys {
            let is_noted = key % 7 == 0;
            let sum = truth.entry(key).or_default();
            sum.0 += i128::from(value);
            sum.1 |= is_noted;
            if gather.put_all(iter::once(Update {
                words: [key, key >> 21],
                value,
                is_noted,
            })) {
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
        assert!(!gather.rest.is_resting());
        assert!(count < 10_000, "{count}");
    }

    #[test]
    fn cache_rests_where_keys_do_not_come_again_and_wakes() {
        let (gather, count) = pass(random(50_000, u64::MAX));
        assert!(gather.rest.is_resting());
        assert_eq!(count, 50_000);
        let again = (0..200_000).map(|number| (number % 3, 60));
        let (gather, _) = pass(random(10_000, u64::MAX).chain(again));
        assert!(!gather.rest.is_resting());
    }

    /// Key 0 in an empty slot, and sums that have no room in an addition.
    #[test]
    fn sums_at_the_limits_are_exact() {
        let most = VALUE_MAX;
        let updates = [
            (0, 5),
            (3, most),
            (3, 1),
            (3, most),
            (9, 1),
            (3, 7),
            (9, most),
        ];
        pass(updates.into_iter());
        pass(std::iter::empty());
        assert!(fits(1) && fits(most));
        assert!(!fits(0) && !fits(most + 1) && !fits(u64::MAX));
    }

    /// Updates of nothing change nothing, in a cache that works and in one that rests.
    #[test]
    fn updates_of_nothing_leave_no_trace() {
        let (resting, _) = pass(random(50_000, u64::MAX));
        assert!(resting.rest.is_resting());
        let update = |key, value| Update {
            words: [key, 0],
            value,
            is_noted: false,
        };
        for mut gather in [Gather::new(1), resting] {
            let updates = [update(0, 0), update(7, 3), update(0, 0), update(7, 0)];
            assert!(!gather.put_all(updates.into_iter()));
            let mut values = Vec::new();
            loop {
                let leaving = gather.drain();
                if leaving.is_empty() {
                    break;
                }
                values.extend(leaving.iter().map(|one| (one.words(), one.value())));
            }
            assert_eq!(values, [([7, 0], 3)]);
        }
    }
}
