//! Carter and Wegman's H1: linear functions modulo a Mersenne prime.
//!
//! A key is a string of digits x₀ … x₍ₙ₋₁₎ that are below the prime: half-words
//! of 16 bits for p = 2³¹ - 1, which needs no multiplication wider than the
//! 32-bit processors of its day had, or words of 32 bits for p = 2⁶¹ - 1.
//!
//! ```text
//! h      = (a₀x₀ + … + aₙ₋₁xₙ₋₁ + b) mod p      equation 3.3, digit by digit
//! bucket = ⌊h·w / 2^bits⌋
//! ```
//!
//! aᵢ and b are uniform below p. (The paper leaves a = 0 out, which makes two
//! keys meet a little less often than 1/w but their values dependent.) Digits
//! are added modulo p rather than combined by exclusive or, so that w need not
//! be a power of two and one reduction serves all digits.
//!
//! **Property.** 2-universal: of two different keys some digit differs, and its
//! aᵢ makes the difference of the two values uniform, b the first value; the
//! values are independent and uniform over the p numbers (Carter and Wegman,
//! *Universal classes of hash functions*, JCSS 18, 1979). A bucket takes ⌊2ᵇ/w⌋
//! or ⌈2ᵇ/w⌉ of them, the last one fewer by one; their deviations from p/w
//! have squares that add up to at most (√w/2 + 1)² ≤ 9w/4, so
//!
//! Pr\[same bucket\] ≤ (1/w)(1 + 9w²/4p²): within 3·10⁻⁶ of 1/w for p = 2³¹ - 1.
//!
//! A truncated key is another key: dropping words or digits to fit a smaller
//! prime voids the guarantee.

use std::fmt;

use crate::columns::MAX_KEY_WORDS;
use crate::family::{self, Family, ShapeError};
use crate::field::{Mersenne31, Mersenne61};
use crate::seed::SeedStream;

/// H1 over p = 2³¹ - 1 on half-words, lower half first. 2-universal; the module
/// says why.
#[derive(Clone, PartialEq, Eq)]
pub struct H1HalfWords {
    width: u32,
    words: usize,
    rows: Vec<Row<{ 2 * MAX_KEY_WORDS }>>,
}

/// H1 over p = 2⁶¹ - 1 on words. 2-universal; the module says why.
#[derive(Clone, PartialEq, Eq)]
pub struct H1Words {
    width: u32,
    words: usize,
    rows: Vec<Row<MAX_KEY_WORDS>>,
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
}

impl Family for H1HalfWords {
    const CODE: u8 = 3;

    /// The draws are, row by row, twenty multipliers and an addend.
    fn draw(rows: usize, width: u32, words: usize, seed: u64) -> Result<Self, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let mut stream = SeedStream::new(seed);
        let rows = Row::draw_all(rows, || Mersenne31::draw(&mut stream));
        Ok(H1HalfWords { width, words, rows })
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
}

impl Family for H1Words {
    const CODE: u8 = 4;

    /// The draws are, row by row, ten multipliers and an addend.
    fn draw(rows: usize, width: u32, words: usize, seed: u64) -> Result<Self, ShapeError> {
        family::check(rows, width, words, MAX_KEY_WORDS)?;
        let mut stream = SeedStream::new(seed);
        let rows = Row::draw_all(rows, || Mersenne61::draw(&mut stream));
        Ok(H1Words { width, words, rows })
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
mod tests {
    use super::*;
    use crate::field::PseudoMersenne;

    /// By hand: the key 0x0003_0002, 5 under a = (7, 11, 13), b = 1 is
    /// 14 + 33 + 65 + 1 = 113 as half-words.
    #[test]
    fn half_words_of_known_parameters() {
        let mut multipliers = [0; 20];
        multipliers[..3].copy_from_slice(&[7, 11, 13]);
        let row = |addend| Row {
            multipliers,
            addend,
        };
        let family = H1HalfWords {
            width: 1 << 20,
            words: 2,
            rows: vec![row(1), row(1 << 30), row(Mersenne31::P - 113)],
        };
        let mut buckets = [0; 3];
        family.buckets_of_key(&[0x0003_0002, 5, 77], &mut buckets);
        assert_eq!(buckets, [0, 1 << 19, (1 << 20) - 1]);
        assert_eq!(family.bucket(2, &[0x0003_0002, 5 + 1]), 0, "wraps to 12");
    }

    /// By hand: (2, 5) under a = (7, 11) is 69.
    #[test]
    fn words_of_known_parameters() {
        let mut multipliers = [0; 10];
        multipliers[..2].copy_from_slice(&[7, 11]);
        let row = |addend| Row {
            multipliers,
            addend,
        };
        let family = H1Words {
            width: 1 << 20,
            words: 2,
            rows: vec![
                row(1),
                row(1 << 60),
                row(Mersenne61::P - 70),
                row(Mersenne61::P - 69),
            ],
        };
        let mut buckets = [0; 4];
        family.buckets_of_key(&[2, 5], &mut buckets);
        assert_eq!(buckets, [0, 1 << 19, (1 << 20) - 1, 0]);
    }

    /// All linear functions modulo 61 on two digits, all widths: two keys meet
    /// no more often than the bound says; values are independent.
    #[test]
    fn collision_bound_by_enumeration() {
        type Field = PseudoMersenne<6, 3>;
        let p = Field::P;
        for width in 1..=8u32 {
            for (x, y) in [([0, 0], [0, 1]), ([5, 7], [6, 7]), ([60, 1], [1, 60])] {
                let mut meet = 0u64;
                for a in 0..p * p {
                    let value = |b: u64, key: [u64; 2]| {
                        let sum = (a / p) * key[0] + (a % p) * key[1] + b;
                        Field::scale(Field::reduce(sum.into()), width)
                    };
                    meet += (0..p).filter(|b| value(*b, x) == value(*b, y)).count() as u64;
                }
                // Three values are missing from the last bucket here.
                let w = f64::from(width);
                let squares = (w.sqrt() / 2.0 + 3.0).powi(2);
                let all = (p * p * p) as f64;
                let bound = all / w * (1.0 + w * squares / (p * p) as f64);
                assert!(meet as f64 <= bound, "w {width}: {meet} > {bound}");
            }
        }
    }
}
