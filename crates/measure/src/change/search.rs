//! Querying keys for changes.

use weir_hash::{Buckets, Family, KeyColumns};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_simd::Tier;

use super::detector::Detector;
use super::difference::KeyChange;
use crate::key::KeyWords;

/// Keys hashed at once.
const CHUNK_KEYS: usize = 256;

/// A key that was found changed.
pub(super) struct Found {
    pub key: FlowKey,
    pub change: KeyChange,
    pub score: f64,
}

/// The queries of one interval and their results.
pub(super) struct KeySearch<'a> {
    detector: &'a Detector,
    found: Vec<Found>,
    queried: u64,
}

impl KeySearch<'_> {
    pub fn new(detector: &Detector) -> KeySearch<'_> {
        KeySearch {
            detector,
            found: Vec::new(),
            queried: 0,
        }
    }

    /// Queries a key by its bucket in each row.
    pub fn query(&mut self, key: FlowKey, buckets: &[u32]) {
        self.queried += 1;
        if let Some((change, score)) = self.detector.change_in(buckets) {
            self.found.push(Found { key, change, score });
        }
    }

    /// The changes found, and the number of keys queried.
    pub fn finish(self) -> (Vec<Found>, u64) {
        (self.found, self.queried)
    }
}

/// A search for keys whose buckets are not known: they are hashed in lanes, IPv4
/// and IPv6 keys apart, for the former have fewer words.
pub(super) struct HashedSearch<'a> {
    search: KeySearch<'a>,
    kind: KeyKind,
    tier: Tier,
    short: KeyChunk,
    long: KeyChunk,
    buckets: Buckets,
    of_key: Vec<u32>,
}

/// Keys that wait to be hashed.
struct KeyChunk {
    columns: KeyColumns,
    keys: Vec<FlowKey>,
}

impl KeyChunk {
    fn new(words: usize) -> KeyChunk {
        KeyChunk {
            columns: KeyColumns::new(words, CHUNK_KEYS),
            keys: Vec::with_capacity(CHUNK_KEYS),
        }
    }
}

impl HashedSearch<'_> {
    pub fn new(detector: &Detector, kind: KeyKind, tier: Tier) -> HashedSearch<'_> {
        HashedSearch {
            of_key: vec![0; detector.layout().family().rows()],
            search: KeySearch::new(detector),
            kind,
            tier,
            short: KeyChunk::new(KeyWords::of_ipv4(kind)),
            long: KeyChunk::new(KeyWords::longest(kind)),
            buckets: Buckets::new(),
        }
    }

    /// Queries a key, at the latest when the search ends.
    pub fn push(&mut self, key: FlowKey) {
        let words = KeyWords::new(&key, self.kind);
        let is_short = words.as_slice().len() <= self.short.columns.words();
        let chunk = if is_short {
            &mut self.short
        } else {
            &mut self.long
        };
        chunk.columns.push(words.as_slice());
        chunk.keys.push(key);
        if chunk.columns.is_full() {
            self.query(is_short);
        }
    }

    /// Queries the buffered keys.
    fn query(&mut self, is_short: bool) {
        let KeyChunk { columns, keys } = if is_short {
            &mut self.short
        } else {
            &mut self.long
        };
        let family = self.search.detector.layout().family();
        family.buckets(self.tier, columns, &mut self.buckets);
        for (index, key) in keys.iter().enumerate() {
            for (row, bucket) in self.of_key.iter_mut().enumerate() {
                *bucket = self.buckets.row(row)[index];
            }
            self.search.query(*key, &self.of_key);
        }
        columns.clear();
        keys.clear();
    }

    /// The changes found, and the number of keys queried.
    pub fn finish(mut self) -> (Vec<Found>, u64) {
        self.query(true);
        self.query(false);
        self.search.finish()
    }
}
