//! The keys of an interval, each with the buckets that it was counted in.

use hashbrown::HashTable;
use weir_packet::wire::FlowKey;

/// Every key that was noted, once, with its bucket in each row: they were worked
/// out for the update, and the query uses them again (section 6.6.1 of the
/// thesis). Holds up to `max_keys` keys and counts the notes of further ones.
#[derive(Clone, Debug)]
pub(crate) struct KeyLog {
    rows: usize,
    max_keys: usize,
    entries: HashTable<u32>,
    keys: Vec<(FlowKey, u64)>,
    /// `rows` for each key.
    buckets: Vec<u32>,
    missed: u64,
}

impl KeyLog {
    pub fn new(rows: usize, max_keys: usize) -> KeyLog {
        KeyLog {
            rows,
            max_keys,
            entries: HashTable::new(),
            keys: Vec::new(),
            buckets: Vec::new(),
            missed: 0,
        }
    }

    /// An empty log with the same limits.
    pub fn empty_like(&self) -> KeyLog {
        KeyLog::new(self.rows, self.max_keys)
    }

    /// Notes a key with its fingerprint, the same at each note, and its bucket
    /// in each row.
    #[inline]
    pub fn note(&mut self, key: FlowKey, fingerprint: u64, buckets: impl Iterator<Item = u32>) {
        if self.contains(&key, fingerprint) {
            return;
        }
        if self.keys.len() == self.max_keys {
            self.missed += 1;
            return;
        }
        // At most 2²⁴ keys are allowed.
        let number = self.keys.len() as u32;
        self.keys.push((key, fingerprint));
        self.buckets.extend(buckets.take(self.rows));
        let keys = &self.keys;
        self.entries
            .insert_unique(fingerprint, number, |number| keys[*number as usize].1);
    }

    /// Adds the keys of another part of the interval.
    pub fn merge(&mut self, other: &KeyLog) {
        for (key, fingerprint, buckets) in other.iter_with_fingerprints() {
            self.note(key, fingerprint, buckets.iter().copied());
        }
        self.missed += other.missed;
    }

    /// All keys with their buckets.
    pub fn iter(&self) -> impl Iterator<Item = (FlowKey, &[u32])> {
        let entries = self.iter_with_fingerprints();
        entries.map(|(key, _, buckets)| (key, buckets))
    }

    /// All keys with their fingerprints and buckets.
    pub fn iter_with_fingerprints(&self) -> impl Iterator<Item = (FlowKey, u64, &[u32])> {
        let entries = self.keys.iter().zip(self.all_buckets());
        entries.map(|((key, fingerprint), buckets)| (*key, *fingerprint, buckets))
    }

    /// Whether a key was noted and found a place.
    pub fn contains(&self, key: &FlowKey, fingerprint: u64) -> bool {
        let is_key = |number: &u32| self.keys[*number as usize].0 == *key;
        self.entries.find(fingerprint, is_key).is_some()
    }

    fn all_buckets(&self) -> impl Iterator<Item = &[u32]> {
        self.buckets.chunks_exact(self.rows)
    }

    /// Notes of keys that found no place.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.keys.clear();
        self.buckets.clear();
        self.missed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(source: u128) -> FlowKey {
        FlowKey {
            source,
            ip_version: 4,
            ..FlowKey::default()
        }
    }

    /// A poor fingerprint, so that keys meet in the table.
    fn note(log: &mut KeyLog, source: u128) {
        log.note(
            key(source),
            source as u64 % 3,
            [source as u32, 7].into_iter(),
        );
    }

    fn sources(log: &KeyLog) -> Vec<u128> {
        log.iter()
            .map(|(key, buckets)| {
                assert_eq!(buckets, [key.source as u32, 7]);
                key.source
            })
            .collect()
    }

    #[test]
    fn keys_are_noted_once_and_those_without_a_place_counted() {
        let mut log = KeyLog::new(2, 4);
        for source in [1, 2, 1, 3, 4, 2, 5, 5, 6] {
            note(&mut log, source);
        }
        assert_eq!(sources(&log), [1, 2, 3, 4]);
        assert_eq!(log.missed(), 3);
        log.clear();
        note(&mut log, 5);
        assert_eq!((sources(&log), log.missed()), (vec![5], 0));
    }

    #[test]
    fn parts_make_a_union() {
        let (mut one, mut two) = (KeyLog::new(2, 5), KeyLog::new(2, 5));
        for source in 0..4 {
            note(&mut one, source);
            note(&mut two, source + 2);
        }
        one.merge(&two);
        assert_eq!(sources(&one), [0, 1, 2, 3, 4]);
        assert_eq!(one.missed(), 1);
    }
}
