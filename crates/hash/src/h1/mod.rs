//! Carter and Wegman's H1: linear functions modulo a Mersenne prime.

mod simd;

use std::fmt;

use weir_simd::Tier;

use crate::across::Across;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::family::{self, Family, ShapeError};
use crate::field::{Mersenne31, Mersenne61};
use crate::seed::{Seed, SeedStream};

/// 2-universal functions: H1 over p = 2³¹ - 1 on half-words, lower half first.
///
/// A key is a string of digits x₀ … x₍ₙ₋₁₎ that are below the prime: half-words
/// of 16 bits for p = 2³¹ - 1, which needs no multiplication wider than the
/// 32-bit processors of its day had, or words of 32 bits for p = 2⁶¹ - 1.
///
/// ```text
/// h      = (a₀x₀ + … + aₙ₋₁xₙ₋₁ + b) mod p      equation 3.3, digit by digit
/// bucket = ⌊h·w / 2^bits⌋
/// ```
///
/// aᵢ and b are uniform below p. (The paper leaves a = 0 out, which makes two
/// keys meet a little less often than 1/w but their values dependent.) Digits
/// are added modulo p rather than combined by exclusive or, so that w need not
/// be a power of two and one reduction serves all digits.
///
/// **Property.** 2-universal: of two different keys some digit differs, and its
/// aᵢ makes the difference of the two values uniform, b the first value; the
/// values are independent and uniform over the p numbers (Carter and Wegman,
/// *Universal classes of hash functions*, JCSS 18, 1979). A bucket takes ⌊2ᵇ/w⌋
/// or ⌈2ᵇ/w⌉ of them, the last one fewer by one; their deviations from p/w
/// have squares that add up to at most (√w/2 + 1)² ≤ 9w/4, so
///
/// Pr\[same bucket\] ≤ (1/w)(1 + 9w²/4p²): within 3·10⁻⁶ of 1/w for p = 2³¹ - 1.
///
/// **Cost.** A key of one word under five rows takes 1.1 ns in lanes of AVX-512 as
/// half-words and 2.1 ns as a word, 2.5 and 3.5 ns in those of AVX2, 25 and 27 ns by the
/// scalar reference; one key alone, in lanes that are functions, 8.5 ns (Zen 4 at 3.7 GHz; the bench
/// `families` prints this for every family).
///
/// A truncated key is another key: dropping words or digits to fit a smaller
/// prime voids the guarantee.
///
/// ```
/// use weir_hash::{Family, H1HalfWords, Seed};
///
/// let family = H1HalfWords::draw(4, 1000, 2, Seed::random()?)?;
/// assert!(family.bucket(0, &[0xc000_0201, 443]) < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct H1HalfWords {
    width: u32,
    words: usize,
    rows: Vec<Row<{ 2 * MAX_KEY_WORDS }>>,
    /// Addend, then multipliers.
    across: Across<{ 1 + 2 * MAX_KEY_WORDS }>,
}

/// 2-universal functions: H1 over p = 2⁶¹ - 1 on words. Definition and proof are those of
/// [`H1HalfWords`].
///
/// ```
/// use weir_hash::{Family, H1Words, Seed};
///
/// let family = H1Words::draw(4, 1000, 2, Seed::random()?)?;
/// assert!(family.bucket(0, &[0xc000_0201, 443]) < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct H1Words {
    width: u32,
    words: usize,
    rows: Vec<Row<MAX_KEY_WORDS>>,
    /// Addend, then multipliers.
    across: Across<{ 1 + MAX_KEY_WORDS }>,
}

#[derive(Clone, PartialEq, Eq)]
struct Row<const DIGITS: usize> {
    multipliers: [u64; DIGITS],
    addend: u64,
}

impl<const DIGITS: usize> Row<DIGITS> {
    fn draw_all(count: usize, mut draw: impl FnMut() -> u64) -> Vec<Row<DIGITS>> {
        let mut row = || Row {
            multipliers: std::array::from_fn(|_| draw()),
            addend: draw(),
        };
        (0..count).map(|_| row()).collect()
    }

    /// The addend, then the multipliers.
    fn parameter(&self, number: usize) -> u64 {
        match number {
            0 => self.addend,
            _ => self.multipliers[number - 1],
        }
    }
}

impl Family for H1HalfWords {
    const CODE: u8 = 3;

    /// The draws are, row by row, twenty multipliers and an addend.
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Self, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let mut stream = SeedStream::new(seed);
        let rows = Row::draw_all(rows, || Mersenne31::draw(&mut stream));
        Ok(H1HalfWords::of_rows(width, words, rows))
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
        let row = &self.rows[row];
        let (pairs, _) = row.multipliers.as_chunks::<2>();
        // Twenty products below 2⁴⁷ and an addend.
        let sum = pairs[..self.words]
            .iter()
            .zip(key)
            .fold(row.addend, |sum, ([low, high], x)| {
                sum + low * u64::from(x & 0xffff) + high * u64::from(x >> 16)
            });
        Mersenne31::scale(Mersenne31::reduce(sum.into()), self.width)
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

    fn buckets_across_in_lanes(&self, tier: Tier, key: &[u32], out: &mut [u32]) -> bool {
        simd::half_words_across(tier, self, key, out)
    }
}

impl H1HalfWords {
    fn of_rows(width: u32, words: usize, rows: Vec<Row<{ 2 * MAX_KEY_WORDS }>>) -> H1HalfWords {
        H1HalfWords {
            width,
            words,
            across: Across::new(&rows, Row::parameter),
            rows,
        }
    }
}

impl Family for H1Words {
    const CODE: u8 = 4;

    /// The draws are, row by row, ten multipliers and an addend.
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Self, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let mut stream = SeedStream::new(seed);
        let rows = Row::draw_all(rows, || Mersenne61::draw(&mut stream));
        Ok(H1Words::of_rows(width, words, rows))
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
        let row = &self.rows[row];
        // Ten products below 2⁹³ and an addend.
        let sum = row.multipliers[..self.words]
            .iter()
            .zip(key)
            .fold(u128::from(row.addend), |sum, (a, x)| {
                sum + u128::from(*a) * u128::from(*x)
            });
        Mersenne61::scale(Mersenne61::reduce(sum), self.width)
    }

    fn buckets_in_lanes(
        &self,
        tier: Tier,
        keys: &KeyColumns,
        out: &mut Buckets,
        sink: &mut impl BucketSink,
    ) -> bool {
        simd::words_to(tier, self, keys, out, sink)
    }

    fn buckets_across_in_lanes(&self, tier: Tier, key: &[u32], out: &mut [u32]) -> bool {
        simd::words_across(tier, self, key, out)
    }
}

impl H1Words {
    fn of_rows(width: u32, words: usize, rows: Vec<Row<MAX_KEY_WORDS>>) -> H1Words {
        H1Words {
            width,
            words,
            across: Across::new(&rows, Row::parameter),
            rows,
        }
    }
}

impl fmt::Debug for H1HalfWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "H1HalfWords", f)
    }
}

impl fmt::Debug for H1Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        family::describe(self, "H1Words", f)
    }
}

#[cfg(test)]
mod tests;
