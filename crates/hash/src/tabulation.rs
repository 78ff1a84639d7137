//! Tabulation: a key's bytes look up random words, which exclusive or combines.
//!
//! ```text
//! h      = T₀[byte 0] ^ T₁[byte 1] ^ … ^ T₍₄ₙ₋₁₎[byte 4n-1]     equation 3.9
//! bucket = ⌊h·w / 2³²⌋
//! ```
//!
//! Bytes are those of the words, lowest first. The entries of all rows stand
//! side by side, so that one look-up serves one key in all rows: the right
//! choice where multiplications are dear and a first-level cache holds the
//! tables (4 KiB per row and word).
//!
//! **Property.** 3-universal, which includes 2-universal: of three different
//! keys one has somewhere a byte that neither of the others has there, and its
//! entry makes this key's value independent of theirs; the other two differ, and
//! the same holds of them (Carter and Wegman, JCSS 18, 1979). Values are uniform
//! over 2³², a bucket is within 2⁻³² of 1/w, and two keys meet with probability
//! at most (1/w)(1 + w²/2⁶⁶).
//!
//! **Not 4-universal**: the keys ab, ad, cb, cd have values whose exclusive or
//! is always 0. [`crate::ThorupZhang8`] mends that.

use std::fmt;
use std::sync::Arc;

use crate::columns::MAX_KEY_WORDS;
use crate::family::{self, Family, MAX_ROWS, ShapeError};
use crate::seed::SeedStream;

/// Tabulation by bytes. 3-universal; the module says why.
#[derive(Clone, PartialEq, Eq)]
pub struct Tabulation {
    width: u32,
    words: usize,
    tables: Tables,
}

impl Family for Tabulation {
    const CODE: u8 = 5;

    /// The entries are drawn byte position by byte position, byte by byte, row
    /// by row, each the top 32 bits of a draw of [`SeedStream`].
    fn draw(rows: usize, width: u32, words: usize, seed: u64) -> Result<Self, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let mut stream = SeedStream::new(seed);
        Ok(Tabulation {
            width,
            words,
            tables: Tables::draw(rows, 4 * words * 256, &mut stream),
        })
    }

    fn rows(&self) -> usize {
        self.tables.rows
    }

    fn width(&self) -> u32 {
        self.width
    }

    fn words(&self) -> usize {
        self.words
    }

    fn bucket(&self, row: usize, key: &[u32]) -> u32 {
        assert!(row < self.tables.rows, "row {row}");
        let mut buckets = [0; MAX_ROWS];
        self.buckets_of_key(key, &mut buckets);
        buckets[row]
    }

    fn buckets_of_key(&self, key: &[u32], out: &mut [u32]) {
        let mut values = [0; MAX_ROWS];
        for (position, byte) in bytes(key, self.words).enumerate() {
            self.tables.add(256 * position + byte, &mut values);
        }
        scale_all(&values[..self.tables.rows], self.width, out);
    }
}

impl fmt::Debug for Tabulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "Tabulation", f)
    }
}

/// Random words, those of all rows side by side; copies share them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Tables {
    pub rows: usize,
    words: Arc<[u32]>,
}

impl Tables {
    pub fn draw(rows: usize, entries: usize, stream: &mut SeedStream) -> Tables {
        let words = (0..rows * entries).map(|_| stream.next_bits(32) as u32);
        Tables {
            rows,
            words: words.collect(),
        }
    }

    /// Adds an entry to the values of all rows, by exclusive or.
    #[inline]
    pub fn add(&self, entry: usize, values: &mut [u32; MAX_ROWS]) {
        let words = &self.words[entry * self.rows..(entry + 1) * self.rows];
        for (value, word) in values.iter_mut().zip(words) {
            *value ^= word;
        }
    }
}

/// The bytes of a key of `words` words, lowest first; words that it lacks are
/// zero.
pub(crate) fn bytes(key: &[u32], words: usize) -> impl Iterator<Item = usize> {
    let words = (0..words).map(|number| key.get(number).copied().unwrap_or(0));
    words.flat_map(u32::to_le_bytes).map(usize::from)
}

/// ⌊value·width / 2³²⌋ for each row that `out` has room for.
pub(crate) fn scale_all(values: &[u32], width: u32, out: &mut [u32]) {
    for (bucket, value) in out.iter_mut().zip(values) {
        *bucket = ((u64::from(*value) * u64::from(width)) >> 32) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_the_sum_of_the_entries() {
        let family = Tabulation::draw(3, 1 << 16, 2, 9).unwrap();
        let key = [0x0403_0201, 0xff00_0080];
        let entries = [
            1,
            256 + 2,
            512 + 3,
            768 + 4,
            1024 + 0x80,
            1280,
            1536,
            1792 + 0xff,
        ];
        for row in 0..3 {
            let value = entries
                .iter()
                .fold(0, |sum, entry| sum ^ family.tables.words[3 * entry + row]);
            assert_eq!(family.bucket(row, &key), value >> 16);
        }
        let longer = [key[0], key[1], 77];
        assert_eq!(family.bucket(1, &longer), family.bucket(1, &key));
    }
}
