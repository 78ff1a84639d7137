//! A bounded table in which a flood of new keys evicts its own.

use std::hash::Hash;

use lru::LruCache;

/// A segmented least-recently-used table (Karedla, Love and Wherry, "Caching strategies to improve
/// disk system performance", 1994). Entries that were asked for again have a segment of their own,
/// which keys that come once do not reach. Hashes are seeded anew for every table.
#[derive(Debug)]
pub(crate) struct SegmentedLru<K: Hash + Eq, V> {
    once: LruCache<K, V>,
    again: LruCache<K, V>,
    capacity: usize,
}

impl<K: Hash + Eq, V> SegmentedLru<K, V> {
    /// A table of at most `capacity` entries, at least two. It grows as they come.
    pub(crate) fn new(capacity: usize) -> SegmentedLru<K, V> {
        SegmentedLru {
            once: LruCache::unbounded(),
            again: LruCache::unbounded(),
            capacity: capacity.max(2),
        }
    }

    /// The value of a key, new where the table does not have the key; and the value that went
    /// to make room.
    pub(crate) fn entry(&mut self, key: K, new: impl FnOnce() -> V) -> (&mut V, Option<V>) {
        if self.again.contains(&key) {
            return (self.again.get_or_insert_mut(key, new), None);
        }
        if let Some(value) = self.once.pop(&key) {
            return (self.promote(key, value), None);
        }
        let evicted = if self.is_full() { self.evict() } else { None };
        (self.once.get_or_insert_mut(key, new), evicted)
    }

    /// The value of a key that the table has.
    pub(crate) fn get(&mut self, key: K) -> Option<&mut V> {
        if self.again.contains(&key) {
            return self.again.get_mut(&key);
        }
        let value = self.once.pop(&key)?;
        Some(self.promote(key, value))
    }

    /// Takes a key out.
    pub(crate) fn remove(&mut self, key: &K) {
        if self.again.pop(key).is_none() {
            self.once.pop(key);
        }
    }

    /// Takes out the entry that goes first.
    pub(crate) fn evict(&mut self) -> Option<V> {
        let evicted = self.once.pop_lru().or_else(|| self.again.pop_lru());
        evicted.map(|(_, value)| value)
    }

    /// The entry that goes first.
    pub(crate) fn oldest(&self) -> Option<&V> {
        let oldest = self.once.peek_lru().or_else(|| self.again.peek_lru());
        oldest.map(|(_, value)| value)
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.once.contains(key) || self.again.contains(key)
    }

    /// Whether a new key evicts another one.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// Entries.
    pub(crate) fn len(&self) -> usize {
        self.once.len() + self.again.len()
    }

    /// Puts an entry among those that were asked for again: three quarters of the table at most. The
    /// one that was asked for the longest time ago goes back among the others.
    fn promote(&mut self, key: K, value: V) -> &mut V {
        if self.again.len() >= self.capacity - self.capacity.div_ceil(4)
            && let Some((key, value)) = self.again.pop_lru()
        {
            self.once.put(key, value);
        }
        self.again.get_or_insert_mut(key, || value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_come_once_evict_each_other() {
        let mut table = SegmentedLru::new(8);
        for key in 0..4 {
            table.entry(key, || key);
            assert!(table.get(key).is_some());
        }
        let evicted = (100..200).filter_map(|key| table.entry(key, || key).1);
        assert!(evicted.eq(100..196));
        assert_eq!(table.len(), 8);
        for key in 0..4 {
            assert_eq!(table.get(key), Some(&mut { key }));
        }
        assert_eq!(table.get(195), None);
        assert_eq!(table.get(199), Some(&mut 199));
    }

    #[test]
    fn keys_that_come_again_are_bounded_too() {
        for capacity in [0, 1, 2, 3, 8, 100] {
            let mut table = SegmentedLru::new(capacity);
            for key in 0..1000 {
                table.entry(key, || key);
                assert_eq!(table.entry(key, || 0), (&mut { key }, None));
                assert!(table.len() <= capacity.max(2));
            }
            // The latest of those that came again, and the latest of all.
            assert!(table.get(999).is_some() && table.get(998).is_some());
        }
    }

    #[test]
    fn what_is_removed_is_new_again() {
        let mut table = SegmentedLru::new(4);
        for rounds in 1..3 {
            for _ in 0..rounds {
                *table.entry(7, || 0).0 += 1;
            }
            table.remove(&7);
            assert_eq!(table.get(7), None);
            assert_eq!(table.len(), 0);
        }
    }
}
