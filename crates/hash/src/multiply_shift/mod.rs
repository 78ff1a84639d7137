//! Multiply-shift over 52 bits: the 2-universal family of sketch rows.

mod simd;

use std::fmt;

use weir_simd::Tier;

use crate::across::Across;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::family::{self, Family, ShapeError};
use crate::seed::{Seed, SeedStream};

const BITS: u32 = 52;

/// `rows` independent 2-universal functions from keys of up to `words` 32-bit words to
/// `width` buckets.
///
/// A row has 52-bit parameters a₀ … a₍ₙ₋₁₎, b, drawn uniformly, and maps a key
/// of 32-bit words x₀ … x₍ₙ₋₁₎ to the bucket
///
/// ```text
/// h      = (a₀x₀ + … + aₙ₋₁xₙ₋₁ + b) mod 2⁵²
/// bucket = ⌊h·w / 2⁵²⌋
/// ```
///
/// For one word this is the multiply-shift scheme of Dietzfelbinger (*Universal
/// hashing and k-wise independent random variables via integer arithmetic
/// without primes*, STACS 1996, with the vector form of section 3.5 of Thorup,
/// *High speed hashing for integers and strings*, arXiv:1504.06804), with the
/// range taken by multiplication instead of a shift, so that w need not be a
/// power of two. 52 bits, because that is the width of the processor's
/// multiply-add lanes (IFMA), where the modulus costs nothing.
///
/// **Property.** For two different keys, Pr[same bucket] ≤ (1/w)(1 + w²/2⁴⁴),
/// and exactly 1/w when w is a power of two up to 2²¹.
///
/// **Proof.** Let 2ˢ be the largest power of two that divides every difference
/// xᵢ - yᵢ; s ≤ 31, as the keys differ and words have 32 bits. Some difference
/// is an odd multiple of 2ˢ, so D = h(x) - h(y) mod 2⁵² is uniform over the
/// 2⁵²⁻ˢ multiples of 2ˢ, and b makes h(x) uniform and independent of D. So
/// (h(x), h(y)) is uniform over the 2¹⁰⁴⁻ˢ pairs that agree modulo 2ˢ. Let c
/// count the values of one bucket in one residue class modulo 2ˢ; the keys meet
/// with probability Σc² / 2¹⁰⁴⁻ˢ over the w·2ˢ combinations. A bucket is an
/// interval of ⌊2⁵²/w⌋ or ⌈2⁵²/w⌉ values, so all c are one of two neighbouring
/// integers; their mean is μ = 2⁵²⁻ˢ/w and their variance at most 1/4. Hence
/// Σc² ≤ w2ˢ(μ² + 1/4) and Pr ≤ (1/w)(1 + w²·2²ˢ⁻¹⁰⁶) ≤ (1/w)(1 + w²/2⁴⁴). When
/// w is a power of two up to 2²¹, all c are equal and the 1/4 vanishes.
///
/// **Not to be used** where more than pairs matter: nothing is claimed of
/// three keys, so the variance of a second-moment (F₂) estimate is not bounded.
///
/// ```
/// use weir_hash::{Family, Ms52, Seed};
///
/// let family = Ms52::draw(4, 1000, 4, Seed::random()?)?;
/// assert!(family.bucket(0, &[0x2001_0db8, 0, 0, 1]) < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Ms52 {
    width: u32,
    words: usize,
    rows: Vec<Row>,
    /// Addend, then multipliers.
    across: Across<{ 1 + MAX_KEY_WORDS }>,
}

/// The parameters of one row, each below 2⁵².
#[derive(Clone, PartialEq, Eq)]
#[repr(C, align(64))]
struct Row {
    multipliers: [u64; MAX_KEY_WORDS],
    addend: u64,
}

impl Family for Ms52 {
    const CODE: u8 = 1;

    /// The draws are, row by row, [`MAX_KEY_WORDS`] multipliers and an addend,
    /// each the top 52 bits of a draw of [`SeedStream`].
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Ms52, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let mut stream = SeedStream::new(seed);
        let mut draw = || stream.next_bits(BITS);
        let rows = (0..rows).map(|_| Row {
            multipliers: std::array::from_fn(|_| draw()),
            addend: draw(),
        });
        Ok(Ms52::of_rows(width, words, rows.collect()))
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
        let row = &self.rows[row];
        let sum = row.multipliers[..self.words]
            .iter()
            .zip(key)
            .fold(row.addend, |sum, (a, x)| {
                sum.wrapping_add(a.wrapping_mul(u64::from(*x)))
            });
        scale::<BITS>(sum, self.width)
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

impl Ms52 {
    fn of_rows(width: u32, words: usize, rows: Vec<Row>) -> Ms52 {
        let across = Across::new(&rows, |row, number| match number {
            0 => row.addend,
            _ => row.multipliers[number - 1],
        });
        Ms52 {
            width,
            words,
            rows,
            across,
        }
    }
}

impl fmt::Debug for Ms52 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "Ms52", f)
    }
}

/// ⌊(sum mod 2^BITS)·width / 2^BITS⌋.
#[inline]
fn scale<const BITS: u32>(sum: u64, width: u32) -> u32 {
    let residue = sum & ((1 << BITS) - 1);
    ((u128::from(residue) * u128::from(width)) >> BITS) as u32
}

#[cfg(test)]
mod tests;
