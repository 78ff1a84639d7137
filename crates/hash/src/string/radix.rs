//! Polynomials of a string read as a number: radix conversion modulo a Mersenne
//! prime (section 5.2.2 of the thesis), then H1 or a polynomial of higher degree.

use weir_simd::Tier;

use super::{StringFamily, simd};
use crate::field::Mersenne31;
use crate::seed::{Seed, SeedStream};

/// The string's bytes, plus one, are the digits of a number x to a random base,
/// modulo p = 2³¹ - 1; the hash is
///
/// ```text
///  c₀ + c₁·x + … + c_d·x^d  mod p
/// ```
///
/// with all coefficients uniform below p and the degree d as the type says.
///
/// **Property.** Two strings of m bytes have equal x with probability at most
/// m/p, as their difference is a polynomial in the base; the hashes of d + 1
/// different numbers are independent and uniform. (The thesis uses 512 as the
/// base, for which there is no such bound: 512 is a power of two, as p nearly
/// is, and many strings are one number.)
///
/// **Which degree.** `Radix<1>` is the thesis's H1. It is 2-universal, which
/// makes the *expected* number of collisions right and says nothing of how far
/// one function strays from it; and it strays. Keys that are numbered differ by
/// sums of few differences, an affine function keeps such sums, so their hashes
/// lie on a lattice: for most multipliers spread more evenly than random ones, for
/// some in heaps. A Bloom filter of 2,000 such keys has false positives of the
/// expected rate on average over multipliers, and a deviation of eight
/// times the formula's. With four independent hashes the number of pairs that
/// meet has the variance that it has under random functions, too: `Radix<3>` is
/// the one to use, for two multiplications more per hash and none per byte.
#[derive(Clone, Debug)]
pub struct Radix<const DEGREE: usize> {
    functions: Vec<Function<DEGREE>>,
}

#[derive(Clone, Copy, Debug)]
struct Function<const DEGREE: usize> {
    base: u32,
    /// c₀.
    constant: u32,
    /// c₁ … c_d.
    coefficients: [u32; DEGREE],
}

/// a·x + b mod 2³¹ - 1, for numbers below it: as [`Mersenne31::multiply_add`], in 32-bit
/// arithmetic that compilers vectorise.
#[inline(always)]
fn multiply_add(a: u32, x: u32, b: u32) -> u32 {
    let sum = u64::from(a) * u64::from(x) + u64::from(b);
    // At most 2p, and where it is less than p the difference wraps to something larger.
    let folded = (sum as u32 & Mersenne31::P as u32) + (sum >> 31) as u32;
    folded.min(folded.wrapping_sub(Mersenne31::P as u32))
}

/// One step.
#[inline(always)]
fn step(base: u32, state: u32, byte: u8) -> u32 {
    multiply_add(state, base, u32::from(byte) + 1)
}

impl<const DEGREE: usize> Function<DEGREE> {
    #[inline(always)]
    fn hash(&self, x: u32) -> u32 {
        let highest_first = self.coefficients.iter().rev();
        let sum = highest_first.fold(0, |sum, coefficient| multiply_add(sum, x, *coefficient));
        // 31 bits at the top of 32.
        multiply_add(sum, x, self.constant) << 1
    }
}

impl<const DEGREE: usize> StringFamily for Radix<DEGREE> {
    const NAME: &'static str = match DEGREE {
        1 => "H1 by radix",
        2 => "quadratic by radix",
        3 => "cubic by radix",
        _ => "polynomial by radix",
    };

    fn draw(functions: usize, _: usize, seed: Seed) -> Radix<DEGREE> {
        let mut stream = SeedStream::new(seed);
        let mut draw = || Mersenne31::draw(&mut stream) as u32;
        Radix {
            functions: (0..functions)
                .map(|_| Function {
                    base: draw(),
                    constant: draw(),
                    coefficients: std::array::from_fn(|_| draw()),
                })
                .collect(),
        }
    }

    fn functions(&self) -> usize {
        self.functions.len()
    }

    #[inline]
    fn start(&self, _: usize) -> u32 {
        0
    }

    #[inline]
    fn append(&self, function: usize, state: u32, _: usize, byte: u8) -> u32 {
        step(self.functions[function].base, state, byte)
    }

    #[inline]
    fn finish(&self, function: usize, state: u32) -> u32 {
        self.functions[function].hash(state)
    }

    fn append_to_each(
        &self,
        tier: Tier,
        function: usize,
        states: &mut [u32],
        _: usize,
        bytes: &[u8],
    ) {
        let base = self.functions[function].base;
        simd::in_lanes(tier, (states, bytes), |(states, bytes)| {
            for (state, byte) in states.iter_mut().zip(bytes) {
                *state = step(base, *state, *byte);
            }
        });
    }

    fn finish_each(&self, tier: Tier, function: usize, states: &[u32], hashes: &mut [u32]) {
        let function = &self.functions[function];
        simd::in_lanes(tier, (states, hashes), |(states, hashes)| {
            for (hash, state) in hashes.iter_mut().zip(states) {
                *hash = function.hash(*state);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: base 10 makes 2·10 + 3 = 23 of bytes 1 and 2, and
    /// 5 + 4·23 + 3·529 = 1684; the base p - 1, which is -1, makes 1.
    #[test]
    fn hashes_of_known_parameters() {
        let function = |base| Function {
            base,
            constant: 5,
            coefficients: [4, 3],
        };
        let minus_one = Mersenne31::P as u32 - 1;
        let family = Radix {
            functions: vec![function(10), function(minus_one)],
        };
        assert_eq!(family.hash(0, &[1, 2]), 2 * 1684);
        assert_eq!(family.hash(1, &[1, 2]), 2 * (5 + 4 + 3));
    }

    #[test]
    fn words_agree_with_the_field() {
        let most = Mersenne31::P as u32 - 1;
        for a in [0, 1, 2, 1 << 30, most - 1, most] {
            for x in [0, 1, 77, 1 << 16, most - 1, most] {
                for b in [0, 1, 256, most] {
                    let expected = Mersenne31::multiply_add(a.into(), x.into(), b.into());
                    assert_eq!(u64::from(multiply_add(a, x, b)), expected, "{a}·{x} + {b}");
                }
            }
        }
    }
}
