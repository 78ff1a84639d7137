//! The second stage: entries of patterns by the hash of their window.
//!
//! ```text
//!  entry     place - 2 … place + 5 of the text        value, mask, meta: 8 bytes each
//!  bucket    entries of one hash, in groups of up to eight:
//!            value₀ … value₇ | mask₀ … mask₇ | meta₀ … meta₇
//! ```
//!
//! An entry survives where text & mask = value: eight of them in one vector
//! comparison. Masks leave out what lies outside of the pattern, and the case
//! of letters where it does not matter.

use super::gram::Grams;
use super::simd;
use super::units::Unit;

/// Entries of a full group.
pub(super) const GROUP: usize = 8;
/// Words of an entry.
pub(super) const ENTRY_WORDS: usize = 3;
/// In a head: the number of entries stands in [`Buckets::large`].
const LARGE: u32 = 0xff;
/// Most entries: a head has 24 bits for the first one's number.
const MAX_ENTRIES: usize = 1 << 24;
const _: () = assert!(4 * crate::engine::MOST_PATTERNS <= MAX_ENTRIES);

/// A pattern at one of its windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    hash: u32,
    value: u64,
    mask: u64,
    meta: Meta,
}

/// What an entry stands for, in 64 bits: slot of the record (30), whether case
/// does not matter, whether eight bytes are the whole pattern, place of the
/// window in the pattern (16), length of the pattern (16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta(pub(super) u64);

impl Meta {
    const NOCASE: u64 = 1 << 30;
    const WHOLE: u64 = 1 << 31;

    #[inline(always)]
    pub(super) fn slot(self) -> u32 {
        self.0 as u32 & 0x3fff_ffff
    }

    #[inline(always)]
    pub(super) fn is_nocase(self) -> bool {
        self.0 & Meta::NOCASE != 0
    }

    /// Nothing is left to be compared.
    #[inline(always)]
    pub(super) fn is_whole(self) -> bool {
        self.0 & Meta::WHOLE != 0
    }

    #[inline(always)]
    pub(super) fn place(self) -> usize {
        (self.0 >> 32) as u16 as usize
    }

    #[inline(always)]
    pub(super) fn bytes(self) -> usize {
        (self.0 >> 48) as usize
    }
}

impl Entry {
    /// The entry of a unit for its gram at `place`, which has this hash.
    pub(super) fn new(hash: u32, unit: &Unit, place: usize) -> Entry {
        let pattern = unit.pattern.bytes();
        let is_nocase = unit.pattern.is_nocase();
        let (mut value, mut mask) = ([0u8; 8], [0u8; 8]);
        for index in 0..8 {
            let Some(byte) = (place + index)
                .checked_sub(2)
                .and_then(|at| pattern.get(at))
            else {
                continue;
            };
            let folds = is_nocase && byte.is_ascii_lowercase();
            mask[index] = if folds { 0xdf } else { 0xff };
            value[index] = byte & mask[index];
        }
        let is_whole = place <= 2 && pattern.len() <= place + 6;
        let flag = |flag, is_set: bool| if is_set { flag } else { 0 };
        Entry {
            hash,
            value: u64::from_le_bytes(value),
            mask: u64::from_le_bytes(mask),
            meta: Meta(
                u64::from(unit.slot)
                    | flag(Meta::NOCASE, is_nocase)
                    | flag(Meta::WHOLE, is_whole)
                    | (place as u64) << 32
                    | (pattern.len() as u64) << 48,
            ),
        }
    }
}

/// Entries by the top bits of their hash.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    pub(super) grams: Grams,
    /// For each bucket the number of its first entry, and in the low eight bits
    /// how many there are.
    pub(super) heads: Vec<u32>,
    pub(super) shift: u32,
    /// The groups, and a group's length of zeros behind them.
    pub(super) words: Vec<u64>,
    /// Of buckets of more than 254 entries: first entry, and how many.
    large: Vec<(u32, u32)>,
    largest: usize,
}

impl Buckets {
    /// Sorts entries into 2^`log2_heads` buckets.
    pub(super) fn new(grams: Grams, log2_heads: u32, mut entries: Vec<Entry>) -> Buckets {
        let shift = 32 - log2_heads;
        entries.sort_by_key(|entry| entry.hash >> shift);
        let mut buckets = Buckets {
            grams,
            heads: vec![0; 1 << log2_heads],
            shift,
            words: Vec::with_capacity((entries.len() + GROUP) * ENTRY_WORDS),
            large: Vec::new(),
            largest: 0,
        };
        let mut first = 0u32;
        for bucket in entries.chunk_by(|one, other| one.hash >> shift == other.hash >> shift) {
            let count = bucket.len() as u32;
            if count >= LARGE {
                buckets.large.push((first, count));
            }
            buckets.heads[(bucket[0].hash >> shift) as usize] = first << 8 | count.min(LARGE);
            buckets.largest = buckets.largest.max(bucket.len());
            for group in bucket.chunks(GROUP) {
                buckets.words.extend(group.iter().map(|entry| entry.value));
                buckets.words.extend(group.iter().map(|entry| entry.mask));
                buckets.words.extend(group.iter().map(|entry| entry.meta.0));
            }
            first += count;
        }
        buckets.words.extend([0; GROUP * ENTRY_WORDS]);
        buckets
    }

    /// Entries in the largest bucket.
    pub(super) fn largest(&self) -> usize {
        self.largest
    }

    /// Heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.heads.len() * 4 + self.words.len() * 8
    }

    /// The head of the bucket of a gram's hash; 0 for an empty one.
    #[inline(always)]
    pub(super) fn find(&self, hash: u32) -> u32 {
        self.heads[(hash >> self.shift) as usize]
    }

    /// Prefetches the first entries of a head's bucket.
    #[inline(always)]
    pub(super) fn fetch(&self, head: u32) {
        let start = (head >> 8) as usize * ENTRY_WORDS;
        simd::prefetch(&self.words[start]);
        simd::prefetch(&self.words[start + GROUP]);
    }

    /// Where the words of a head's bucket begin, and how many entries it has.
    #[inline(always)]
    pub(super) fn bucket(&self, head: u32) -> (usize, usize) {
        let (first, mut count) = (head >> 8, head & LARGE);
        if count == LARGE {
            count = self.count_of_large(first);
        }
        (first as usize * ENTRY_WORDS, count as usize)
    }

    #[cold]
    fn count_of_large(&self, first: u32) -> u32 {
        let found = self.large.binary_search_by_key(&first, |large| large.0);
        found.map_or(0, |index| self.large[index].1)
    }
}
