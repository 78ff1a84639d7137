//! Random words that characters of keys look up: what the families by tabulation are
//! made of.
//!
//! A key's value is the exclusive or of the entries of its characters, one in each
//! position. The entries of all rows stand side by side,
//!
//! ```text
//! entry 0            entry 1            …
//! row 0 row 1 … d-1  row 0 row 1 … d-1
//! ```
//!
//! so that a vector load looks a character up under eight rows at once: here lanes are
//! functions. Gathers, where lanes are keys, take a load for each of eight rows where
//! this takes one.

pub(crate) mod simd;

use std::sync::Arc;

use crate::family::MAX_ROWS;
use crate::seed::SeedStream;

/// Random words, those of all rows side by side; copies share them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Tables {
    pub rows: usize,
    /// Followed by zeros, so that a vector may be loaded from every place.
    words: Arc<[u32]>,
}

/// Rows that are looked up at once: words of a vector of 32 bytes.
const LANES: usize = 8;

impl Tables {
    /// The words are the top 32 bits of draws, entry by entry, row by row.
    pub fn draw(rows: usize, entries: usize, stream: &mut SeedStream) -> Tables {
        let words = (0..rows * entries).map(|_| stream.next_bits(32) as u32);
        Tables {
            rows,
            words: words.chain([0; LANES]).collect(),
        }
    }

    /// Adds an entry to the values of all rows, by exclusive or.
    #[inline]
    pub fn add(&self, entry: usize, values: &mut [u32; MAX_ROWS]) {
        for (value, word) in values.iter_mut().zip(self.entry(entry)) {
            *value ^= word;
        }
    }

    /// The words of an entry, one for each row.
    #[inline]
    pub fn entry(&self, entry: usize) -> &[u32] {
        &self.words[entry * self.rows..(entry + 1) * self.rows]
    }
}

/// The bytes of a key of `words` words, lowest first; words that it lacks are
/// zero.
pub(crate) fn bytes(key: &[u32], words: usize) -> impl Iterator<Item = usize> {
    let words = (0..words).map(|number| key.get(number).copied().unwrap_or(0));
    words.flat_map(u32::to_le_bytes).map(usize::from)
}

/// ⌊value·width / 2³²⌋ for the first `out.len()` rows.
pub(crate) fn scale_all(values: &[u32], width: u32, out: &mut [u32]) {
    for (bucket, value) in out.iter_mut().zip(values) {
        *bucket = ((u64::from(*value) * u64::from(width)) >> 32) as u32;
    }
}
