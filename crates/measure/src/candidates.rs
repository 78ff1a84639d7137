//! Candidates for the top list.

use hashbrown::HashTable;
use weir_packet::wire::FlowKey;

/// Candidate heavy hitters: the keys with the largest estimates so far, in bounded memory
/// of between `capacity` and twice as many entries.
///
/// A sketch estimates the sum of a key but does not store keys. So each update offers its
/// key with its new estimate, unless the key is known to be in the table. When the table
/// has grown to twice the capacity, the estimates of all its keys are refreshed, the smaller
/// half is removed, and the largest estimate removed becomes the *floor*: a key must rise
/// above it to return.
///
/// **Guarantee.** A key is removed or refused at an estimate that
/// is at least its sum f of that time, and any later update offers it again.
/// Where it is not in the table, `capacity` other keys had estimates of f or
/// more, so f ≤ L1/capacity + the sketch's error; or it was not offered because its
/// estimate was a quarter of that share at most ([`Candidates::floor`]). With several tables over parts
/// of a stream the same holds of their union, because a key above a share of the
/// whole is above that share of some part.
#[derive(Clone, Debug)]
pub struct Candidates {
    table: HashTable<Candidate>,
    capacity: usize,
    floor: u64,
    /// Fingerprints of candidates, each in the slot that its lowest bits select; the
    /// last one offered replaces others. 0 is an empty slot.
    known: Vec<u64>,
}

/// Keys below 1/4 of the guaranteed share are not inserted: most never become heavy.
const SMALL_SHARE: u64 = 4;

/// The most slots of [`Candidates::known`]: 32 KB of fingerprints.
const KNOWN_MAX: usize = 1 << 12;

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
        let capacity = capacity.max(1);
        let known = capacity.saturating_mul(4).min(KNOWN_MAX);
        Candidates {
            table: HashTable::new(),
            capacity,
            floor: 0,
            known: vec![0; known.next_power_of_two()],
        }
    }

    /// The estimate that a key must exceed to be worth an offer, where all values
    /// have come to `total` so far.
    pub fn floor(&self, total: u64) -> u64 {
        let share = total / (SMALL_SHARE * self.capacity as u64);
        self.floor.max(share)
    }

    /// Lists in `places` (replaced) where in a batch the keys stand that are to
    /// be offered. The others are in the table: they have the fingerprint of a
    /// candidate that was offered, which no two keys share in practice.
    pub fn list_unknown(&self, fingerprints: &[u64], places: &mut Vec<usize>) {
        places.clear();
        places.resize(fingerprints.len(), 0);
        let mut unknown = 0;
        // Without a branch that a random key would mislead.
        for (place, fingerprint) in fingerprints.iter().enumerate() {
            let is_known = self.known[self.known_at(*fingerprint)] == *fingerprint;
            places[unknown] = place;
            unknown += usize::from(!is_known | (*fingerprint == 0));
        }
        places.truncate(unknown);
    }

    /// Offers a key with its fingerprint, the same at each offer, and its
    /// present estimate. `present` estimates any key: candidates are offered
    /// seldom, and refreshed when some are to be removed.
    #[inline]
    pub fn offer(
        &mut self,
        key: FlowKey,
        fingerprint: u64,
        estimate: u64,
        present: impl Fn(&FlowKey) -> u64,
    ) {
        if estimate <= self.floor {
            return;
        }
        let candidate = Candidate {
            fingerprint,
            key,
            estimate,
        };
        self.put(candidate);
        self.know(fingerprint);
        if self.table.len() >= 2 * self.capacity {
            self.prune(present);
        }
    }

    /// Adds the candidates of another part of the stream, all of them. Their
    /// estimates are of that part only: refresh them from a merged sketch.
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
        self.known.fill(0);
    }

    fn known_at(&self, fingerprint: u64) -> usize {
        fingerprint as usize & (self.known.len() - 1)
    }

    fn know(&mut self, fingerprint: u64) {
        let place = self.known_at(fingerprint);
        self.known[place] = fingerprint;
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
    fn prune(&mut self, present: impl Fn(&FlowKey) -> u64) {
        let mut all: Vec<Candidate> = self.table.drain().collect();
        for candidate in &mut all {
            candidate.estimate = present(&candidate.key);
        }
        // Largest estimates first; equal ones by key, so that the outcome does
        // not depend on the table's order.
        all.select_nth_unstable_by(self.capacity, |a, b| {
            b.estimate.cmp(&a.estimate).then(a.key.cmp(&b.key))
        });
        self.floor = all[self.capacity].estimate;
        self.known.fill(0);
        for candidate in &all[..self.capacity] {
            self.put(*candidate);
            self.know(candidate.fingerprint);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use weir_hash::{Seed, SeedStream};

    use super::*;

    fn key(source: u128) -> FlowKey {
        FlowKey {
            source,
            ip_version: 4,
            ..FlowKey::default()
        }
    }

    /// A poor fingerprint, so that keys meet in the table.
    fn fingerprint(source: u128) -> u64 {
        source as u64 % 3
    }

    /// Offers a key whose estimate is what `sums` says.
    fn offer(candidates: &mut Candidates, sums: &HashMap<u128, u64>, source: u128) {
        let present = |key: &FlowKey| sums[&key.source];
        let estimate = sums[&source];
        candidates.offer(key(source), fingerprint(source), estimate, present);
    }

    /// Offers a key whose estimate has become `estimate`.
    fn rise(
        candidates: &mut Candidates,
        sums: &mut HashMap<u128, u64>,
        source: u128,
        estimate: u64,
    ) {
        sums.insert(source, estimate);
        offer(candidates, sums, source);
    }

    fn sorted(candidates: &Candidates) -> Vec<u128> {
        let mut keys: Vec<_> = candidates.keys().map(|k| k.source).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn large_keys_stay_however_many_small_ones_pass() {
        let mut candidates = Candidates::new(4);
        let mut sums = HashMap::new();
        for large in 0..4 {
            rise(&mut candidates, &mut sums, large, 1000 + large as u64);
        }
        for small in 100..10_000 {
            rise(&mut candidates, &mut sums, small, small as u64 % 900);
            assert!(candidates.keys().count() < 8);
        }
        let keys = sorted(&candidates);
        assert_eq!(keys[..4], [0, 1, 2, 3]);
    }

    #[test]
    fn key_that_rises_above_the_floor_comes_back() {
        let mut candidates = Candidates::new(1);
        let mut sums = HashMap::new();
        rise(&mut candidates, &mut sums, 1, 5);
        rise(&mut candidates, &mut sums, 2, 9);
        assert_eq!(sorted(&candidates), [2]);
        rise(&mut candidates, &mut sums, 1, 5);
        assert_eq!(sorted(&candidates), [2], "at the floor");
        rise(&mut candidates, &mut sums, 1, 10);
        assert_eq!(sorted(&candidates), [1], "above it");
    }

    #[test]
    fn equal_estimates_are_kept_by_key() {
        let mut candidates = Candidates::new(3);
        let mut sums = HashMap::new();
        for source in [9, 4, 7, 1, 8, 2] {
            rise(&mut candidates, &mut sums, source, 5);
        }
        assert_eq!(sorted(&candidates), [1, 2, 4]);
        candidates.clear();
        rise(&mut candidates, &mut sums, 9, 1);
        assert_eq!(sorted(&candidates), [9]);
    }

    #[test]
    fn union_keeps_all() {
        let (mut one, mut two) = (Candidates::new(2), Candidates::new(2));
        let mut sums = HashMap::new();
        for source in 0..3 {
            rise(&mut one, &mut sums, source, 1);
            rise(&mut two, &mut sums, source + 2, 1);
        }
        one.merge(&two);
        assert_eq!(sorted(&one), [0, 1, 2, 3, 4]);
    }

    /// A candidate whose sum grew without offers is judged by its present sum.
    #[test]
    fn key_that_grew_unoffered_is_not_forgotten() {
        let mut candidates = Candidates::new(1);
        let mut sums = HashMap::from([(1, 1), (2, 5)]);
        offer(&mut candidates, &sums, 1);
        sums.insert(1, 9);
        offer(&mut candidates, &sums, 2);
        assert_eq!(sorted(&candidates), [1]);
        assert_eq!(candidates.floor(0), 5);
        assert_eq!(candidates.floor(23), 5);
        assert_eq!(candidates.floor(24), 6, "a quarter of the share");
    }

    #[test]
    fn only_candidates_are_known() {
        let mut candidates = Candidates::new(1);
        let mut places = vec![7];
        // 0 marks an empty place, and is never known.
        candidates.list_unknown(&[0, 1, 2, 1], &mut places);
        assert_eq!(places, [0, 1, 2, 3]);
        candidates.offer(key(0), 0, 1, |_| 1);
        candidates.list_unknown(&[0, 1], &mut places);
        assert_eq!(places, [0, 1]);
        candidates.clear();
        candidates.offer(key(1), 1, 1, |_| 1);
        candidates.list_unknown(&[0, 1, 2, 1], &mut places);
        assert_eq!(places, [0, 2]);
        // The first is forgotten for the second.
        candidates.offer(key(2), 2, 3, |key| key.source as u64);
        candidates.list_unknown(&[1, 2], &mut places);
        assert_eq!(places, [0]);
        candidates.clear();
        candidates.list_unknown(&[1, 2], &mut places);
        assert_eq!(places, [0, 1]);
    }

    /// With exact sums, offered only where they are unknown: a key that is not a
    /// candidate has a sum of at most L1/capacity.
    #[test]
    fn key_above_the_share_is_a_candidate_without_being_offered_each_time() {
        const CAPACITY: u64 = 16;
        let mut stream = SeedStream::new(Seed::from_u64(1));
        let mut candidates = Candidates::new(CAPACITY as usize);
        let mut sums: HashMap<u128, u64> = HashMap::new();
        let (mut places, mut offers) = (Vec::new(), 0);
        for update in 1..20_000u64 {
            // Skewed: uniform up to a number that is uniform up to another, and so on.
            let mut draw = |limit: u64| stream.next_u64() % (limit + 1);
            let source = (0..4).fold(400, |limit, _| draw(limit)) as u128;
            *sums.entry(source).or_default() += 1;
            // Spread over more places than there are, no two keys alike.
            let fingerprint = (source as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            candidates.list_unknown(&[fingerprint], &mut places);
            if !places.is_empty() {
                offers += 1;
                let present = |key: &FlowKey| sums[&key.source];
                candidates.offer(key(source), fingerprint, sums[&source], present);
            }
            if update % 100 == 0 {
                let kept = sorted(&candidates);
                for (source, sum) in &sums {
                    assert!(*sum <= update / CAPACITY || kept.contains(source));
                }
            }
        }
        assert!(offers < 10_000, "{offers} of 20,000");
    }
}
