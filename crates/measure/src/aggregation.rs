//! A cache of recent keys in front of sketches.

use std::fmt;
use std::hint::select_unpredictable;

use weir_hash::{Seed, SeedStream};

use crate::bypass::AdaptiveBypass;

/// Evicted keys that are buffered until they are hashed as a batch.
const BUFFERED_MAX: usize = 256;

/// The most updates of one call: those of a batch.
pub(crate) const PUT_MAX: usize = 256;

/// The most additions that are handed over at once.
pub(crate) const EVICTED_MAX: usize = BUFFERED_MAX + PUT_MAX;

/// Memory of the slots: the size of a first-level data cache.
const CACHE_BYTES: usize = 1 << 15;

/// The least hit rate: a look-up costs a fifth of hashing a key, adding its value and
/// looking for it among the candidates.
const LEAST_HIT_RATE: f64 = 0.2;

/// A value to add to a key of `N` words of 64 bits, of which the last has 43:
///
/// ```text
/// last word   0 to 42  key
///             43       whether the key is noted
///             44 to 63 the value
/// ```
///
/// A value of 0 marks an empty slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addition<const N: usize>([u64; N]);

/// Offsets in the last word.
const NOTED_BIT: u32 = 43;
const VALUE_BIT: u32 = 44;

/// The largest value of an addition.
const VALUE_MAX: u64 = u64::MAX >> VALUE_BIT;

/// Whether an addition can hold a value: 1 to [`VALUE_MAX`].
#[inline(always)]
pub(crate) fn fits(value: u64) -> bool {
    value.wrapping_sub(1) < VALUE_MAX
}

/// A key, the value to add to it, up to [`VALUE_MAX`], and whether it is noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update<const N: usize> {
    pub words: [u64; N],
    pub value: u64,
    pub is_noted: bool,
}

impl<const N: usize> Addition<N> {
    /// Number of slots, a power of two.
    const SLOTS: usize = CACHE_BYTES / size_of::<Addition<N>>().next_power_of_two();

    const NOTHING: Addition<N> = Addition([0; N]);

    /// The addition of one update.
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

    /// The value to add.
    #[inline(always)]
    pub fn value(&self) -> u64 {
        self.0[N - 1] >> VALUE_BIT
    }

    /// Whether the key is one of those that are noted.
    pub fn is_noted(&self) -> bool {
        self.0[N - 1] >> NOTED_BIT & 1 != 0
    }

    /// The sum with `update` and true, where it has the same key and the sum fits;
    /// otherwise the update alone, and false.
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

/// A direct-mapped cache that sums the values of recent keys until another key needs the
/// slot. Packets come in trains and few keys have most of them, so that most updates end
/// here and are never hashed. Evicted sums are buffered and handed over in batches.
///
/// After [`AggregationCache::drain`], all that was handed over adds up, key by key, to all
/// that was put in. Which keys share a slot depends on secret numbers. Where keys rarely
/// recur, the cache is bypassed ([`AdaptiveBypass`]).
pub(crate) struct AggregationCache<const N: usize> {
    buffer: Box<[Addition<N>; EVICTED_MAX]>,
    count: usize,
    slots: Box<[Addition<N>]>,
    is_empty: bool,
    multipliers: [u64; N],
    bypass: AdaptiveBypass,
}

impl<const N: usize> AggregationCache<N> {
    /// An empty cache whose slots are chosen by secret numbers drawn from `seed`.
    pub fn new(seed: Seed) -> AggregationCache<N> {
        let mut stream = SeedStream::new(seed);
        AggregationCache {
            buffer: Box::new([Addition::NOTHING; EVICTED_MAX]),
            count: 0,
            slots: vec![Addition::NOTHING; Addition::<N>::SLOTS].into(),
            is_empty: true,
            multipliers: std::array::from_fn(|_| stream.next_u64() | 1),
            bypass: AdaptiveBypass::new(LEAST_HIT_RATE),
        }
    }

    /// Takes at most [`PUT_MAX`] updates; those of value 0 are ignored. When it returns
    /// true the buffer is full: call [`AggregationCache::take_evicted`] before the next update.
    #[inline(always)]
    pub fn put_all(&mut self, updates: impl Iterator<Item = Update<N>>) -> bool {
        let before = self.count;
        let taken = if self.bypass.is_active() {
            self.append(updates)
        } else {
            self.combine(updates)
        };
        self.bypass.note(taken, self.count - before);
        self.count >= BUFFERED_MAX
    }

    /// Empties the buffer and returns the additions that were in it.
    pub fn take_evicted(&mut self) -> &[Addition<N>] {
        // The slots keep their sums until they are drained.
        self.bypass.look();
        &self.buffer[..std::mem::take(&mut self.count)]
    }

    /// Returns some of the additions that are left, none only where none is left. Call it
    /// until it returns none.
    pub fn drain(&mut self) -> &[Addition<N>] {
        let mut count = self.take_evicted().len();
        if count == 0 && !self.is_empty {
            let full = self.slots.iter_mut().filter(|slot| slot.value() != 0);
            for (place, slot) in self.buffer.iter_mut().zip(full) {
                *place = std::mem::replace(slot, Addition::NOTHING);
                count += 1;
            }
            self.is_empty = count == 0;
        }
        &self.buffer[..count]
    }

    /// Appends updates to the buffer; returns their number.
    #[inline(always)]
    fn append(&mut self, updates: impl Iterator<Item = Update<N>>) -> usize {
        let mut taken = 0;
        for update in updates {
            self.buffer[self.count] = Addition::new(&update);
            self.count += usize::from(update.value != 0);
            taken += usize::from(update.value != 0);
        }
        taken
    }

    /// Puts updates into slots and appends what they evict to the buffer; returns the
    /// number of updates. No branch depends on a key: the previous content of a slot is
    /// always written to the buffer, and counted only where it was evicted.
    #[inline(always)]
    fn combine(&mut self, updates: impl Iterator<Item = Update<N>>) -> usize {
        let (mut taken, mut count) = (0, self.count);
        let multipliers = self.multipliers;
        let slots = &mut self.slots[..Addition::<N>::SLOTS];
        let buffer = &mut self.buffer[..];
        for update in updates {
            let slot = &mut slots[slot(&update.words, &multipliers)];
            let old = *slot;
            let (new, is_same) = old.with(&update);
            *slot = new;
            buffer[count] = old;
            count += usize::from(!is_same & (old.value() != 0));
            taken += usize::from(update.value != 0);
        }
        self.is_empty &= taken == 0;
        self.count = count;
        taken
    }
}

/// The slot of a key.
#[inline(always)]
fn slot<const N: usize>(words: &[u64; N], multipliers: &[u64; N]) -> usize {
    let products = words.iter().zip(multipliers);
    let sum = products.fold(0u64, |sum, (word, multiplier)| {
        sum.wrapping_add(word.wrapping_mul(*multiplier))
    });
    (sum >> (u64::BITS - Addition::<N>::SLOTS.ilog2())) as usize
}

impl<const N: usize> fmt::Debug for AggregationCache<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AggregationCache")
            .field("bypass", &self.bypass)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::iter;

    use super::*;

    /// Passes keys of one word with values through a cache, notes every seventh
    /// one, and checks that the sums are right; returns the cache and the number of
    /// additions that it handed over.
    fn pass(keys: impl Iterator<Item = (u64, u64)>) -> (AggregationCache<2>, usize) {
        let mut cache = AggregationCache::new(Seed::from_u64(1));
        let (mut sums, mut count) = (HashMap::<u64, (i128, bool)>::new(), 0);
        let mut take = |evicted: &[Addition<2>], count: &mut usize| {
            *count += evicted.len();
            for addition in evicted {
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
            if cache.put_all(iter::once(Update {
                words: [key, key >> 21],
                value,
                is_noted,
            })) {
                take(cache.take_evicted(), &mut count);
            }
        }
        let before = count;
        loop {
            let evicted = cache.drain();
            if evicted.is_empty() {
                break;
            }
            take(evicted, &mut count);
        }
        assert!(
            count - before <= BUFFERED_MAX + Addition::<2>::SLOTS,
            "{count}"
        );
        assert_eq!(sums, truth);
        assert!(cache.drain().is_empty());
        (cache, count)
    }

    fn random(count: usize, range: u64) -> impl Iterator<Item = (u64, u64)> {
        let mut stream = SeedStream::new(Seed::from_u64(5));
        (0..count).map(move |number| (stream.next_u64() % range, 60 + number as u64 % 1441))
    }

    #[test]
    fn recurring_keys_are_summed() {
        let (cache, count) = pass(random(100_000, 300));
        assert!(!cache.bypass.is_active());
        assert!(count < 10_000, "{count}");
    }

    #[test]
    fn cache_is_bypassed_where_keys_do_not_recur_and_tried_again() {
        let (cache, count) = pass(random(50_000, u64::MAX));
        assert!(cache.bypass.is_active());
        assert_eq!(count, 50_000);
        let again = (0..200_000).map(|number| (number % 3, 60));
        let (cache, _) = pass(random(10_000, u64::MAX).chain(again));
        assert!(!cache.bypass.is_active());
    }

    /// Key 0 in an empty slot, and sums that an addition cannot hold.
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

    /// Updates of value 0 change nothing, bypassed or not.
    #[test]
    fn updates_of_zero_are_ignored() {
        let (bypassed, _) = pass(random(50_000, u64::MAX));
        assert!(bypassed.bypass.is_active());
        let update = |key, value| Update {
            words: [key, 0],
            value,
            is_noted: false,
        };
        for mut cache in [AggregationCache::new(Seed::from_u64(1)), bypassed] {
            let updates = [update(0, 0), update(7, 3), update(0, 0), update(7, 0)];
            assert!(!cache.put_all(updates.into_iter()));
            let mut values = Vec::new();
            loop {
                let evicted = cache.drain();
                if evicted.is_empty() {
                    break;
                }
                values.extend(evicted.iter().map(|one| (one.words(), one.value())));
            }
            assert_eq!(values, [([7, 0], 3)]);
        }
    }
}
