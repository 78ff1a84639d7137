//! Cubic polynomials modulo p = 2⁴⁴ - 17: the 4-universal family of sketch rows.

mod simd;

use std::fmt;

use weir_simd::Tier;

use crate::across::Across;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::family::{self, Family, FourUniversal, ShapeError};
use crate::field::Prime44;
use crate::seed::{Seed, SeedStream};

/// 4-universal functions for keys of one word, almost 4-universal ones for keys of up to
/// ten.
///
/// A key of 32-bit words x₀ … x₍ₙ₋₁₎ becomes one number, the same for all rows,
/// and row by row a cubic polynomial of it chooses the bucket:
///
/// ```text
/// x      = (x₀ + a₁x₁ + … + aₙ₋₁xₙ₋₁) mod p
/// h      = (c₀ + c₁x + c₂x² + c₃x³) mod p
/// bucket = ⌊h·w / 2⁴⁴⌋
/// ```
///
/// all parameters uniform below p. p is the largest prime whose lanes stay
/// within the 52 bits of the processor's multiply-add, and x² and x³ are made
/// once per key.
///
/// **Property, keys of one word.** 4-universal: the values h of any four
/// different keys are independent and uniform over the p numbers, because
/// exactly one cubic goes through four points (Wegman and Carter, *New hash
/// functions and their use in authentication and set equality*, JCSS 22, 1981).
/// A bucket takes ⌊2⁴⁴/w⌋ or ⌈2⁴⁴/w⌉ of them, the last one 17 fewer, so its
/// probability is within 18/p of 1/w, a relative 18w/p < 3·10⁻⁶. The squares of
/// these deviations add up to less than (√w/2 + 17)²/p², so two keys meet with
/// probability at most (1/w)(1 + 10⁻¹⁴).
///
/// **Property, longer keys.** Almost 4-universal: two different keys get the
/// same x with probability at most 1/p, so any four stay different, and are then
/// as above, with probability at least 1 - 6/p > 1 - 4·10⁻¹³. Keys with the
/// same x meet in *all* rows; among ten million keys about three pairs do.
///
/// ```
/// use weir_hash::{Family, Poly44, Seed};
///
/// let family = Poly44::draw(5, 32768, 1, Seed::random()?)?;
/// assert!(family.bucket(0, &[0xc000_0201]) < 32768);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Poly44 {
    width: u32,
    words: usize,
    /// a₁, a₂, …
    multipliers: [u64; MAX_KEY_WORDS - 1],
    /// c₀ … c₃ of each row.
    rows: Vec<[u64; 4]>,
    across: Across<4>,
}

impl Family for Poly44 {
    const CODE: u8 = 2;

    /// The draws are, in order, nine multipliers, then c₀ to c₃ row by row,
    /// each the top 44 bits of a draw of [`SeedStream`], drawn again where they
    /// are not below p.
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Poly44, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let mut stream = SeedStream::new(seed);
        let mut draw = || Prime44::draw(&mut stream);
        let multipliers = std::array::from_fn(|_| draw());
        let rows = (0..rows).map(|_| std::array::from_fn(|_| draw())).collect();
        Ok(Poly44::of_rows(width, words, multipliers, rows))
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> u32 {
        self.width
    }

    fn words(&self) -> usize {
        self.words
    }

    #[inline]
    fn bucket(&self, row: usize, key: &[u32]) -> u32 {
        self.bucket_of_number(row, self.number(key))
    }

    fn buckets_of_key(&self, key: &[u32], out: &mut [u32]) {
        let x = self.number(key);
        for (row, bucket) in (0..self.rows.len()).zip(out) {
            *bucket = self.bucket_of_number(row, x);
        }
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

    fn buckets_across_in_lanes(&self, tier: Tier, key: &[u32], out: &mut [u32]) -> bool {
        simd::buckets_across(tier, self, key, out)
    }
}

impl FourUniversal for Poly44 {}

impl Poly44 {
    fn of_rows(
        width: u32,
        words: usize,
        multipliers: [u64; MAX_KEY_WORDS - 1],
        rows: Vec<[u64; 4]>,
    ) -> Poly44 {
        Poly44 {
            width,
            words,
            multipliers,
            across: Across::new(&rows, |row, number| row[number]),
            rows,
        }
    }

    #[inline]
    fn number(&self, key: &[u32]) -> u64 {
        Prime44::condense(&self.multipliers, &key[..self.words.min(key.len())])
    }

    #[inline]
    fn bucket_of_number(&self, row: usize, x: u64) -> u32 {
        Prime44::scale(Prime44::polynomial(&self.rows[row], x), self.width)
    }
}

impl fmt::Debug for Poly44 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "Poly44", f)
    }
}

#[cfg(test)]
mod tests;
