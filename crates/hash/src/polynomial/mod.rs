//! Polynomials modulo the Mersenne prime p = 2⁶¹ - 1: k-universal for any k.

mod simd;

use std::fmt;

use weir_simd::Tier;

use crate::across::Across;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::family::{self, Family, FourUniversal, ShapeError};
use crate::field::Mersenne61;
use crate::seed::{Seed, SeedStream};

/// `K`-universal functions for keys of one word, almost `K`-universal ones for keys of up
/// to ten.
///
/// ```text
/// x      = (x₀ + a₁x₁ + … + aₙ₋₁xₙ₋₁) mod p     32-bit words
/// h      = (c₀ + c₁x + … + cₖ₋₁xᵏ⁻¹) mod p       equation 3.4
/// bucket = ⌊h·w / 2⁶¹⌋
/// ```
///
/// all parameters uniform below p, c included where it is zero: the family is
/// then exactly k-universal over p, which leaving zeros out would spoil.
///
/// **Property, keys of one word.** k-universal: exactly one polynomial of degree
/// below k goes through k points, so the values h of k different keys are
/// independent and uniform over the p numbers (Wegman and Carter, JCSS 22, 1981).
/// A bucket takes ⌊2⁶¹/w⌋ or ⌈2⁶¹/w⌉ of them, the last one fewer by one:
/// its probability is within 2/p of 1/w.
///
/// **Property, longer keys.** Almost k-universal: any k different keys have
/// different x, and are then as above, with probability at least
/// 1 - k(k-1)/2p; x is the same for all rows.
///
/// **Cost.** A key of one word under five cubics takes 5.8 ns in lanes of AVX-512, one of
/// four words 10 ns, and 53 and 92 ns by the scalar reference (Zen 4 at 3.7 GHz).
///
/// Where the processor has multiply-add lanes, [`crate::Poly44`] does the same
/// for k = 4 in a fraction of the time; this one is for other k and for more
/// exact buckets.
///
/// ```
/// use weir_hash::{Family, Polynomial, Seed};
///
/// let family = Polynomial::<3>::draw(4, 1000, 1, Seed::random()?)?;
/// assert!(family.bucket(0, &[0xc000_0201]) < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Polynomial<const K: usize> {
    width: u32,
    words: usize,
    /// a₁, a₂, …
    multipliers: [u64; MAX_KEY_WORDS - 1],
    /// c₀ … cₖ₋₁ of each row.
    rows: Vec<[u64; K]>,
    across: Across<K>,
}

impl<const K: usize> Family for Polynomial<K> {
    /// 16 + `K`, for `K` up to 16.
    const CODE: u8 = {
        assert!(K >= 2 && K <= 16, "universal for 2 to 16 keys");
        16 + K as u8
    };

    /// The draws are, in order, nine multipliers, then c₀ to cₖ₋₁ row by row,
    /// each the top 61 bits of a draw of [`SeedStream`], drawn again where they
    /// are not below p.
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Self, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let mut stream = SeedStream::new(seed);
        let mut draw = || Mersenne61::draw(&mut stream);
        let multipliers = std::array::from_fn(|_| draw());
        let rows = (0..rows).map(|_| std::array::from_fn(|_| draw())).collect();
        Ok(Polynomial::of_rows(width, words, multipliers, rows))
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

impl FourUniversal for Polynomial<4> {}

impl<const K: usize> Polynomial<K> {
    fn of_rows(
        width: u32,
        words: usize,
        multipliers: [u64; MAX_KEY_WORDS - 1],
        rows: Vec<[u64; K]>,
    ) -> Polynomial<K> {
        Polynomial {
            width,
            words,
            multipliers,
            across: Across::new(&rows, |row, number| row[number]),
            rows,
        }
    }

    fn number(&self, key: &[u32]) -> u64 {
        Mersenne61::condense(&self.multipliers, &key[..self.words.min(key.len())])
    }

    fn bucket_of_number(&self, row: usize, x: u64) -> u32 {
        let h = Mersenne61::polynomial(&self.rows[row], x);
        Mersenne61::scale(h, self.width)
    }
}

impl<const K: usize> fmt::Debug for Polynomial<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "Polynomial", f)
    }
}

#[cfg(test)]
mod tests;
