//! Thorup and Zhang's tabulation: 4-universal by look-ups alone.

mod simd;

use std::fmt;

use weir_simd::Tier;

use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::family::{self, Family, FourUniversal, MAX_ROWS, ShapeError};
use crate::seed::{Seed, SeedStream};
use crate::tables::{Tables, bytes, scale_all};

/// 4-universal functions: Thorup and Zhang's tabulation with characters of 16 bits, for
/// keys of one word.
///
/// Beside the characters of a key, characters derived from them look up random
/// words, and exclusive or combines all of them (equation 3.10; Thorup and
/// Zhang, *Tabulation based 4-universal hashing with applications to second
/// moment estimation*, SODA 2004). Two forms:
///
/// * [`ThorupZhang16`]: two characters of 16 bits and their *integer sum*, of
///   17 bits: three look-ups in 262,143 entries, a mebibyte per row.
/// * [`ThorupZhang8`]: q characters of 8 bits, and q - 1 derived ones over the
///   prime 257, the products of the key with a matrix all of whose square minors
///   are non-zero: seven look-ups in 1,795 entries for a word, 7 KiB per row, and
///   keys of up to ten words.
///
/// **Property.** 4-universal: the values of four different keys are independent
/// and uniform over 2³²; a bucket ⌊h·w/2³²⌋ is within 2⁻³² of 1/w, and two keys
/// meet with probability at most (1/w)(1 + w²/2⁶⁶).
///
/// **Proof.** It is enough that among any two, three or four different keys one
/// has, in some position, a character that none of the others has there: its
/// entry makes the key's value independent of the others', and so on with the
/// rest. For two and three keys an input position does (see
/// [`crate::Tabulation`]). Let x₁ … x₄ have no such position among the inputs.
/// Then in each input position all four agree or they agree in pairs. Write A, B
/// and C for the positions paired 12|34, 13|24 and 14|23, and α, β, γ for the
/// differences there: x₂ = x₁ + β + γ, x₃ = x₁ + α + γ, x₄ = x₁ + α + β. The
/// three vectors have no zero on A, B and C, zeros elsewhere, and at least two of
/// the sets are not empty, or keys were equal. For a column g of the matrix the
/// derived characters are paired 12|34 only if (β+γ)g = 0 and (β-γ)g = 0, and
/// since 2 ≠ 0, only if βg = γg = 0; likewise for the other pairings. So a column
/// without a single character has at least two of αg, βg, γg zero. But α, of
/// a = |A| > 0 non-zero entries, is orthogonal to at most a - 1 columns, for
/// otherwise a square minor vanished; so are β and γ. With all three sets
/// non-empty that makes at most q - 3 zeros, with one empty at most
/// (q-1) + (q-2), and q - 1 columns would need 2(q-1). Some column has a single
/// character. For 16 bits q = 2, the column is (1, 1), and no modulus is needed.
///
/// **Cost.** A key of one word under five rows takes 4.5 ns in lanes of AVX-512 by bytes
/// and 5.5 ns by half-words while the tables of five mebibytes fit into a third-level
/// cache; 59 ns and more by the scalar reference (Zen 4 at 3.7 GHz). [`crate::Poly44`] takes 2.3 ns
/// there and leaves the caches to the counters.
///
/// **Not with exclusive or** in place of the sum: there 2 = 0, and the keys ab,
/// ad, cb, cd with a ^ c = b ^ d have derived characters in pairs, too.
///
/// ```
/// use weir_hash::{Family, Seed, ThorupZhang16};
///
/// let family = ThorupZhang16::draw(5, 1000, 1, Seed::random()?)?;
/// assert!(family.bucket(0, &[0xc000_0201]) < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ThorupZhang16 {
    width: u32,
    tables: Tables,
}

/// 4-universal functions: Thorup and Zhang's tabulation with characters of 8 bits, for keys
/// of up to ten words. Definition and proof are those of [`ThorupZhang16`].
///
/// ```
/// use weir_hash::{Family, Seed, ThorupZhang8};
///
/// let family = ThorupZhang8::draw(5, 1000, 4, Seed::random()?)?;
/// assert!(family.bucket(0, &[0x2001_0db8, 0, 0, 1]) < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ThorupZhang8 {
    width: u32,
    words: usize,
    tables: Tables,
    /// Row i: the factors of byte i in each derived character.
    matrix: Vec<Vec<u32>>,
    /// The same column by column, as kernels take it.
    pairs: Vec<FactorPairs>,
}

/// The factors of a word's bytes 0 and 2, then of 1 and 3, the lower one in the lower
/// half, for each word of the longest key.
type FactorPairs = [[u32; 2]; MAX_KEY_WORDS];

const PRIME: u32 = 257;

/// The most derived characters.
const MAX_DERIVED: usize = 4 * MAX_KEY_WORDS - 1;

impl Family for ThorupZhang16 {
    const CODE: u8 = 6;

    /// Entries are drawn in the order lower half-word, upper half-word, sum; row
    /// by row for each character.
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Self, ShapeError> {
        family::check(rows, width, words, 1)?;
        let mut stream = SeedStream::new(seed);
        Ok(ThorupZhang16 {
            width,
            tables: Tables::draw(rows, 2 * 0x1_0000 + 0x1_ffff, &mut stream),
        })
    }

    fn rows(&self) -> usize {
        self.tables.rows
    }

    fn width(&self) -> u32 {
        self.width
    }

    fn words(&self) -> usize {
        1
    }

    fn bucket(&self, row: usize, key: &[u32]) -> u32 {
        bucket_of_row(self, row, key)
    }

    fn buckets_of_key(&self, key: &[u32], out: &mut [u32]) {
        let key = key.first().copied().unwrap_or(0);
        let (low, high) = ((key & 0xffff) as usize, (key >> 16) as usize);
        let mut values = [0; MAX_ROWS];
        self.tables.add(low, &mut values);
        self.tables.add(0x1_0000 + high, &mut values);
        self.tables.add(0x2_0000 + low + high, &mut values);
        scale_all(&values[..self.tables.rows], self.width, out);
    }

    fn buckets_in_lanes(
        &self,
        tier: Tier,
        keys: &KeyColumns,
        out: &mut Buckets,
        sink: &mut impl BucketSink,
    ) -> bool {
        simd::half_words_to(tier, self, keys, out, sink)
    }
}

impl FourUniversal for ThorupZhang16 {}

impl Family for ThorupZhang8 {
    const CODE: u8 = 7;

    /// Entries are drawn position by position, the bytes' first, then the
    /// derived characters' with 257 entries each; row by row for each character.
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Self, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let characters = 4 * words;
        let derived = characters - 1;
        let entries = 256 * characters + PRIME as usize * derived;
        let matrix = cauchy(characters, derived);
        Ok(ThorupZhang8 {
            width,
            words,
            tables: Tables::draw(rows, entries, &mut SeedStream::new(seed)),
            pairs: (0..derived).map(|at| factor_pairs(&matrix, at)).collect(),
            matrix,
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
        bucket_of_row(self, row, key)
    }

    fn buckets_of_key(&self, key: &[u32], out: &mut [u32]) {
        let mut values = [0; MAX_ROWS];
        for (position, byte) in bytes(key, self.words).enumerate() {
            self.tables.add(256 * position + byte, &mut values);
        }
        let derived = derived_characters(&self.matrix, bytes(key, self.words));
        let first = 256 * self.matrix.len();
        for (position, character) in derived[..self.matrix.len() - 1].iter().enumerate() {
            let entry = first + PRIME as usize * position + *character as usize;
            self.tables.add(entry, &mut values);
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
        simd::bytes_to(tier, self, keys, out, sink)
    }
}

impl FourUniversal for ThorupZhang8 {}

/// The bucket under one row, computed with those of all rows: one look-up serves all.
fn bucket_of_row(family: &impl Family, row: usize, key: &[u32]) -> u32 {
    assert!(row < family.rows(), "row {row} of {}", family.rows());
    let mut buckets = [0; MAX_ROWS];
    family.buckets_of_key(key, &mut buckets);
    buckets[row]
}

/// The products of the characters with the columns of the matrix, modulo 257.
fn derived_characters(
    matrix: &[Vec<u32>],
    characters: impl Iterator<Item = usize>,
) -> [u32; MAX_DERIVED] {
    let mut sums = [0; MAX_DERIVED];
    for (character, factors) in characters.zip(matrix) {
        for (sum, factor) in sums.iter_mut().zip(factors) {
            *sum += character as u32 * factor;
        }
    }
    sums.map(|sum| sum % PRIME)
}

/// The Cauchy matrix 1/(i + 128 + j) modulo 257, i below `rows`, j below
/// `columns`. All its square minors are non-zero, because the i differ, the
/// -(128 + j) differ, and none of the sums is 0 modulo 257.
fn cauchy(rows: usize, columns: usize) -> Vec<Vec<u32>> {
    let inverse = |x: u32| (1..PRIME).find(|y| x * y % PRIME == 1).unwrap_or(0);
    let row = |i| (0..columns).map(move |j| inverse((i + 128 + j) as u32 % PRIME));
    (0..rows).map(|i| row(i).collect()).collect()
}

/// A column of the matrix.
fn factor_pairs(matrix: &[Vec<u32>], column: usize) -> FactorPairs {
    let mut all = [[0; 2]; MAX_KEY_WORDS];
    for (pairs, rows) in all.iter_mut().zip(matrix.chunks_exact(4)) {
        let pair = |low: usize| rows[low][column] | rows[low + 2][column] << 16;
        *pairs = [pair(0), pair(1)];
    }
    all
}

impl fmt::Debug for ThorupZhang16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "ThorupZhang16", f)
    }
}

impl fmt::Debug for ThorupZhang8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "ThorupZhang8", f)
    }
}

#[cfg(test)]
mod tests;
