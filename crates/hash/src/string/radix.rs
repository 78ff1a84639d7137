//! H1 of a string read as a number: radix conversion modulo a Mersenne prime
//! (section 5.2.2 of the thesis).

use super::StringFamily;
use crate::seed::SeedStream;

/// 2³¹ - 1.
const PRIME: u64 = (1 << 31) - 1;

/// The string's bytes, plus one, are the digits of a number x to a random base,
/// modulo 2³¹ - 1; the hash is (a·x + b) mod 2³¹ - 1, with a and b random.
///
/// Strings of m bytes have equal x with probability at most m/(2³¹ - 1), as
/// their difference is a polynomial in the base; different x have equal hashes
/// with probability 0 if a ≠ 0. The thesis uses 512 as the base, for which
/// there is no such bound: 512 is a power of two, as the modulus nearly is, and
/// many strings are one number.
#[derive(Clone, Debug)]
pub struct Radix {
    functions: Vec<Function>,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    base: u64,
    multiplier: u64,
    addend: u64,
}

/// x mod 2³¹ - 1, for x below 2⁶².
#[inline(always)]
fn reduce(x: u64) -> u64 {
    let folded = (x & PRIME) + (x >> 31);
    if folded >= PRIME {
        folded - PRIME
    } else {
        folded
    }
}

impl StringFamily for Radix {
    const NAME: &'static str = "H1 by radix";

    fn draw(functions: usize, _: usize, seed: u64) -> Radix {
        let mut stream = SeedStream::new(seed);
        // 1 to p - 1, each as likely as the others to within 2⁻³³.
        let mut draw = || 1 + stream.next_u64() % (PRIME - 1);
        Radix {
            functions: (0..functions)
                .map(|_| Function {
                    base: draw(),
                    multiplier: draw(),
                    addend: draw(),
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
        let base = self.functions[function].base;
        reduce(u64::from(state) * base + u64::from(byte) + 1) as u32
    }

    #[inline]
    fn finish(&self, function: usize, state: u32) -> u32 {
        let Function {
            multiplier, addend, ..
        } = self.functions[function];
        let hash = reduce(u64::from(state) * multiplier + addend);
        // 31 bits at the top of 32.
        (hash << 1) as u32
    }
}
