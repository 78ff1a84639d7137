//! Tabulation: a key's bytes look up random words, which exclusive or combines.

mod simd;

use std::fmt;

use weir_simd::Tier;

use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::family::{self, Family, MAX_ROWS, ShapeError};
use crate::seed::{Seed, SeedStream};
use crate::tables::{Tables, bytes, scale_all};

/// 3-universal functions by tabulation of bytes, for keys of up to ten words.
///
/// ```text
/// h      = T₀[byte 0] ^ T₁[byte 1] ^ … ^ T₍₄ₙ₋₁₎[byte 4n-1]     equation 3.9
/// bucket = ⌊h·w / 2³²⌋
/// ```
///
/// Bytes are those of the words, lowest first. The entries of all rows stand
/// side by side, so that one look-up serves one key in all rows: the right
/// choice where multiplications are expensive and a first-level cache holds the
/// tables (4 KiB per row and word).
///
/// **Property.** 3-universal, which includes 2-universal: of three different
/// keys one has somewhere a byte that neither of the others has there, and its
/// entry makes this key's value independent of theirs; the other two differ, and
/// the same holds of them (Carter and Wegman, JCSS 18, 1979). Values are uniform
/// over 2³², a bucket is within 2⁻³² of 1/w, and two keys meet with probability
/// at most (1/w)(1 + w²/2⁶⁶).
///
/// **Cost.** A key of one word under five rows takes 2.8 ns in lanes of AVX-512, 3.2 ns
/// in those of AVX2 and 28 ns by the scalar reference (Zen 4 at 3.7 GHz); one of four words 13 ns, as
/// its tables outgrow a first-level cache.
///
/// **Not 4-universal**: the keys ab, ad, cb, cd have values whose exclusive or
/// is always 0. [`crate::ThorupZhang8`] mends that.
///
/// ```
/// use weir_hash::{Family, Seed, Tabulation};
///
/// let family = Tabulation::draw(4, 1000, 1, Seed::random()?)?;
/// assert!(family.bucket(0, &[0xc000_0201]) < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Self, ShapeError> {
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

    fn buckets_in_lanes(
        &self,
        tier: Tier,
        keys: &KeyColumns,
        out: &mut Buckets,
        sink: &mut impl BucketSink,
    ) -> bool {
        simd::buckets_to(tier, self, keys, out, sink)
    }
}

impl fmt::Debug for Tabulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "Tabulation", f)
    }
}

#[cfg(test)]
mod tests;
