//! Candidates for the top list.

use hashbrown::HashTable;
use weir_packet::wire::FlowKey;

/// The keys with the largest estimates so far, in bounded memory: between
/// `capacity` and twice as many.
///
/// A sketch answers what a key's sum is, not which keys it has seen; so each
/// update offers its key with the estimate it has just got. When the table has
/// grown to twice the capacity, the smaller half is forgotten and the largest
/// estimate forgotten becomes the *floor*: a key must rise above it to come
/// back.
///
/// **What is never missed.** A key's last offer is at least its sum f. Where it
/// is not in the table, `capacity` other keys had estimates of f or more, so
/// f ≤ L1/capacity + the sketch's error. With several tables over parts of a
/// stream the same holds of their union, because a key above a share of the
/// whole is above that share of some part.
#[derive(Clone, Debug)]
pub struct Candidates {
    table: HashTable<Candidate>,
    capacity: usize,
    floor: u64,
}

/// A key, the fingerprint that finds it, its estimate when it was last offered.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    fingerprint: u64,
    key: FlowKey,
    estimate: u64,
}

impl Candidates {
    /// No candidates; `capacity` is taken as at least 1.
    pub fn new(capacity: usize) -> Candidates {
        Candidates {
            table: HashTable::new(),
            capacity: capacity.max(1),
            floor: 0,
        }
    }

    /// The estimate that a key must exceed to be taken.
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Offers a key with its fingerprint, the same at each offer, and its
    /// present estimate.
    #[inline]
    pub fn offer(&mut self, key: FlowKey, fingerprint: u64, estimate: u64) {
        if estimate <= self.floor {
            return;
        }
        self.put(Candidate {
            fingerprint,
            key,
            estimate,
        });
        if self.table.len() >= 2 * self.capacity {
            self.prune();
        }
    }

    /// Adds the candidates of another part of the stream, all of them. Their
    /// estimates are of that part only: ask a merged sketch for new ones.
    pub fn merge(&mut self, other: &Candidates) {
        for candidate in &other.table {
            self.put(*candidate);
        }
    }

    /// The candidate keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &FlowKey> {
        self.table.iter().map(|candidate| &candidate.key)
    }

    /// The candidate keys with their fingerprints, in no order.
    pub fn keys_and_fingerprints(&self) -> impl Iterator<Item = (FlowKey, u64)> {
        let candidates = self.table.iter();
        candidates.map(|candidate| (candidate.key, candidate.fingerprint))
    }

    /// Whether a key is a candidate.
    pub fn contains(&self, key: &FlowKey, fingerprint: u64) -> bool {
        let is_key = |known: &Candidate| known.key == *key;
        self.table.find(fingerprint, is_key).is_some()
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.table.clear();
        self.floor = 0;
    }

    #[inline]
    fn put(&mut self, candidate: Candidate) {
        self.table
            .entry(
                candidate.fingerprint,
                |known| known.key == candidate.key,
                |known| known.fingerprint,
            )
            .insert(candidate);
    }

    #[cold]
    fn prune(&mut self) {
        let mut all: Vec<Candidate> = self.table.drain().collect();
        // Largest estimates first; equal ones by key, so that the outcome does
        // not depend on the table's order.
        all.select_nth_unstable_by(self.capacity, |a, b| {
            b.estimate.cmp(&a.estimate).then(a.key.cmp(&b.key))
        });
        self.floor = all[self.capacity].estimate;
        for candidate in &all[..self.capacity] {
            self.put(*candidate);
        }
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

    fn offer(candidates: &mut Candidates, source: u128, estimate: u64) {
        // A poor fingerprint, so that keys meet in the table.
        candidates.offer(key(source), source as u64 % 3, estimate);
    }

    fn sorted(candidates: &Candidates) -> Vec<u128> {
        let mut keys: Vec<_> = candidates.keys().map(|k| k.source).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn large_keys_stay_however_many_small_ones_pass() {
        let mut candidates = Candidates::new(4);
        for large in 0..4 {
            offer(&mut candidates, large, 1000 + large as u64);
        }
        for small in 100..10_000 {
            offer(&mut candidates, small, small as u64 % 900);
            assert!(candidates.keys().count() < 8);
        }
        let keys = sorted(&candidates);
        assert_eq!(keys[..4], [0, 1, 2, 3]);
    }

    #[test]
    fn key_that_rises_above_the_floor_comes_back() {
        let mut candidates = Candidates::new(1);
        offer(&mut candidates, 1, 5);
        offer(&mut candidates, 2, 9);
        assert_eq!(sorted(&candidates), [2]);
        offer(&mut candidates, 1, 5);
        assert_eq!(sorted(&candidates), [2], "at the floor");
        offer(&mut candidates, 1, 10);
        assert_eq!(sorted(&candidates), [1], "above it");
    }

    #[test]
    fn equal_estimates_are_kept_by_key() {
        let mut candidates = Candidates::new(3);
        for source in [9, 4, 7, 1, 8, 2] {
            offer(&mut candidates, source, 5);
        }
        assert_eq!(sorted(&candidates), [1, 2, 4]);
        candidates.clear();
        offer(&mut candidates, 9, 1);
        assert_eq!(sorted(&candidates), [9]);
    }

    #[test]
    fn union_keeps_all() {
        let (mut one, mut two) = (Candidates::new(2), Candidates::new(2));
        for source in 0..3 {
            offer(&mut one, source, 1);
            offer(&mut two, source + 2, 1);
        }
        one.merge(&two);
        assert_eq!(sorted(&one), [0, 1, 2, 3, 4]);
    }
}
