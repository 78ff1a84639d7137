//! Keys that come again soon, added together before they are hashed.

use std::fmt;

use weir_hash::{KeyColumns, SeedStream};

use super::sums::NEAR_BYTES;
use crate::accuracy::Shape;
use crate::rest::Rest;

/// Slots; with 8 bytes each, half of a first-level cache.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 11;

/// Updates handed on at once: as many as a batch has packets, so that what a chunk
/// costs beside its keys is little.
const CHUNK: usize = 256;

/// A cache of recent keys of one word in front of sketches, which adds up what
/// comes for a key until another one needs its slot. Packets come in trains, and
/// few sources send most of them, so that many updates end here.
///
/// What is handed on adds up, key by key, to what was put in, after
/// [`RecentKeys::flush`]; until then part of it is here. Which keys meet in a
/// slot depends on a secret number, so that nobody can choose keys that do. On
/// streams whose keys do not come again the cache costs time: it measures its
/// hits, and rests where they are too few for the sketch behind it.
pub struct RecentKeys {
    multiplier: u32,
    /// Key above sum.
    slots: Box<[u64; SLOTS]>,
    /// What left its slot, and how much of it waits for a full chunk.
    left: Box<[u64; 2 * CHUNK]>,
    waiting: usize,
    columns: KeyColumns,
    values: [u32; CHUNK],
    rest: Rest,
}

impl RecentKeys {
    /// An empty cache in front of a sketch of this shape.
    ///
    /// Looking a key up costs about as much as two additions to counters in the
    /// second-level cache, or as one beyond it.
    pub fn new(shape: Shape, seed: u64) -> RecentKeys {
        let bytes = shape.rows * shape.width as usize * size_of::<u32>();
        let additions = if bytes <= NEAR_BYTES { 2.0 } else { 1.0 };
        RecentKeys {
            multiplier: SeedStream::new(seed).next_bits(32) as u32 | 1,
            slots: Box::new([0; SLOTS]),
            left: Box::new([0; 2 * CHUNK]),
            waiting: 0,
            columns: KeyColumns::new(1, CHUNK),
            values: [0; CHUNK],
            rest: Rest::new(additions / shape.rows as f64),
        }
    }

    /// Takes updates, `values[i]` for key `i` as far as both go, and hands
    /// others on to `sink`.
    pub fn add(&mut self, keys: &[u32], values: &[u32], mut sink: impl FnMut(&KeyColumns, &[u32])) {
        for (keys, values) in keys.chunks(CHUNK).zip(values.chunks(CHUNK)) {
            if self.rest.is_resting() {
                self.columns.assign(&[keys]);
                sink(&self.columns, values);
            } else {
                self.combine(keys, values);
                self.hand_on(&mut sink);
            }
            self.rest.note(keys.len(), 0);
            // What is in the slots stays there for a rest: to hand it on would cost more
            // than the trial did.
            self.rest.look();
        }
    }

    /// Hands on all that is here.
    pub fn flush(&mut self, mut sink: impl FnMut(&KeyColumns, &[u32])) {
        for slot in 0..SLOTS {
            let entry = std::mem::take(&mut self.slots[slot]);
            self.left[self.waiting] = entry;
            // Only a slot without a sum says nothing.
            self.waiting += usize::from(entry as u32 != 0);
            // Not noted: what is emptied out says nothing about hits.
            if self.waiting == CHUNK {
                self.hand_on_some(CHUNK, &mut sink);
            }
        }
        self.hand_on_some(self.waiting, &mut sink);
    }

    /// Puts up to a chunk of updates into slots. There is no branch that depends
    /// on a key: what was in the slot is always written out, and counts only if
    /// it had to leave.
    #[inline]
    fn combine(&mut self, keys: &[u32], values: &[u32]) {
        let mut waiting = self.waiting;
        for (key, value) in keys.iter().zip(values) {
            let slot = (key.wrapping_mul(self.multiplier) >> (32 - SLOT_BITS)) as usize;
            let old = self.slots[slot];
            let sum = old.wrapping_add(u64::from(*value));
            // A sum beyond 32 bits spills into the key, which is then another.
            let is_same = (sum >> 32) as u32 == *key && (old >> 32) as u32 == *key;
            self.left[waiting % (2 * CHUNK)] = old;
            waiting += usize::from(!is_same);
            let new = u64::from(*key) << 32 | u64::from(*value);
            self.slots[slot] = if is_same { sum } else { new };
        }
        self.waiting = waiting;
    }

    /// Hands a chunk on where there is one.
    #[inline]
    fn hand_on(&mut self, sink: &mut impl FnMut(&KeyColumns, &[u32])) {
        if self.waiting >= CHUNK {
            self.rest.note(0, CHUNK);
            self.hand_on_some(CHUNK, sink);
        }
    }

    fn hand_on_some(&mut self, count: usize, sink: &mut impl FnMut(&KeyColumns, &[u32])) {
        let mut keys = [0; CHUNK];
        for ((key, value), entry) in keys
            .iter_mut()
            .zip(&mut self.values)
            .zip(&self.left[..count])
        {
            *key = (entry >> 32) as u32;
            *value = *entry as u32;
        }
        self.columns.assign(&[&keys[..count]]);
        sink(&self.columns, &self.values[..count]);
        self.left.copy_within(count..2 * CHUNK, 0);
        self.waiting -= count;
    }
}

impl fmt::Debug for RecentKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentKeys")
            .field("rest", &self.rest)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const SHAPE: Shape = Shape {
        rows: 4,
        width: 27_183,
    };

    /// Sums of what was put in and of what came out, which must be the same,
    /// and the number of updates that came out.
    fn pass(keys: &[u32], values: &[u32]) -> (RecentKeys, usize) {
        let mut recent = RecentKeys::new(SHAPE, 1);
        let mut sums: HashMap<u32, u64> = HashMap::new();
        let mut count = 0;
        let mut sink = |columns: &KeyColumns, values: &[u32]| {
            assert_eq!(columns.len(), values.len());
            count += values.len();
            for (key, value) in columns.column(0).iter().zip(values) {
                *sums.entry(*key).or_default() += u64::from(*value);
            }
        };
        for (keys, values) in keys.chunks(1000).zip(values.chunks(1000)) {
            recent.add(keys, values, &mut sink);
        }
        recent.flush(&mut sink);
        recent.flush(&mut sink);
        for (key, value) in keys.iter().zip(values) {
            *sums.entry(*key).or_default() -= u64::from(*value);
        }
        assert!(sums.values().all(|sum| *sum == 0));
        (recent, count)
    }

    fn keys(count: usize, mut key: impl FnMut(u64) -> u32) -> Vec<u32> {
        let mut stream = SeedStream::new(5);
        (0..count).map(|_| key(stream.next_u64())).collect()
    }

    #[test]
    fn keys_that_come_again_are_added_together() {
        let keys = keys(100_000, |random| (random % 300) as u32);
        let (recent, count) = pass(&keys, &vec![7; keys.len()]);
        assert!(!recent.rest.is_resting());
        assert!(count < 30_000, "{count} updates left");
    }

    #[test]
    fn cache_rests_where_keys_do_not_come_again() {
        let keys = keys(100_000, |random| random as u32);
        let (recent, count) = pass(&keys, &vec![7; keys.len()]);
        assert!(recent.rest.is_resting());
        // Empty slots were handed on once, as sums of nothing.
        assert!(
            (keys.len()..=keys.len() + SLOTS).contains(&count),
            "{count}"
        );
    }

    /// Ends of intervals empty the cache, and are no reason to rest.
    #[test]
    fn what_is_flushed_is_no_miss() {
        let mut recent = RecentKeys::new(SHAPE, 1);
        let keys: Vec<u32> = (0..1500).cycle().take(5000).collect();
        for _ in 0..10 {
            recent.add(&keys, &vec![1; keys.len()], |_, _| ());
            recent.flush(|_, _| ());
            assert!(!recent.rest.is_resting());
        }
    }

    /// A change of the traffic is noticed after the rest.
    #[test]
    fn cache_works_again_when_the_traffic_changes() {
        let mut all = keys(10_000, |random| random as u32);
        all.resize(200_000, 9);
        let (recent, _) = pass(&all, &vec![1; all.len()]);
        assert!(!recent.rest.is_resting());
    }

    /// Key 0 in an empty slot, values of nothing, sums beyond 32 bits, the
    /// largest key's among them.
    #[test]
    fn sums_at_the_limits_are_exact() {
        let keys = [0, 0, u32::MAX, u32::MAX, u32::MAX, 7, 8, 7, u32::MAX - 1];
        let values = [5, 0, u32::MAX, u32::MAX, 1, u32::MAX, 0, u32::MAX, 3];
        pass(&keys, &values);
        pass(&[], &[]);
        pass(&keys, &values[..3].repeat(3));
    }
}
