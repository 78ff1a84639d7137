//! Radix conversion: a string read as a number to some base, modulo a prime.
//!
//! ```text
//! Σ byteᵢ·baseⁱ mod prime
//! ```
//!
//! Section 3.4 of Y.-K. Lai's dissertation lists it as the second way to hash
//! strings, and its section 5.3.1 measures it beside others ("Conv."), much worse.
//! **It is no universal family**, whatever the prime:
//!
//! - a base below 256 lets digits carry: (x, y) and (x + base, y - 1) are the same
//!   number, before any prime is involved;
//! - a base that is a power of two, in a table whose size is one, too, keeps the
//!   first bytes and drops the rest where the prime does not come in between.
//!
//! It is here for comparison. With a base drawn at random below a large prime it
//! becomes [`crate::horner`], which is universal.
//!
//! ```
//! use weir_hash::radix::RadixConversion;
//!
//! // 97 + 98·10 + 99·100
//! assert_eq!(RadixConversion::new(10, 65_537).hash(b"abc"), 10_977);
//! ```

use crate::guarantee::{Guarantee, Guaranteed, Property};

/// A function of given base and prime. The caller guarantees that the modulus is prime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RadixConversion {
    base: u64,
    prime: u64,
}

impl RadixConversion {
    /// The function of `base` and `prime`, of which 0 is taken for 1.
    pub fn new(base: u64, prime: u64) -> RadixConversion {
        let prime = prime.max(1);
        RadixConversion { base, prime }
    }

    /// The number of a string, below the prime.
    pub fn hash(&self, string: &[u8]) -> u64 {
        let (base, prime) = (u128::from(self.base), u128::from(self.prime));
        let value = string
            .iter()
            .rev()
            .fold(0, |value, byte| (value * base + u128::from(*byte)) % prime);
        value as u64
    }
}

impl Guaranteed for RadixConversion {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            property: Property::Unproven,
            epsilon: 1.0,
            source: "two strings of the documentation collide under every prime",
            key_bytes: size_of::<u64>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIMES: [u64; 4] = [65_537, (1 << 31) - 1, (1 << 61) - 1, u64::MAX - 58];

    /// The definition, worked out: 97 + 98·10 + 99·100 = 10977.
    #[test]
    fn the_number_of_a_string() {
        assert_eq!(RadixConversion::new(10, 65_537).hash(b"abc"), 10_977);
        assert_eq!(RadixConversion::new(10, 1000).hash(b"abc"), 977);
    }

    /// Section 5.3.1: different strings become the same number, under any prime.
    /// A family with ε below 1 would do so for few primes only.
    #[test]
    fn digits_carry_into_each_other_whatever_the_prime() {
        for base in [2, 16, 31, 37, 64, 128, 200] {
            let (a, b) = ([1, 7, 3], [1 + base as u8, 6, 3]);
            for prime in PRIMES {
                let function = RadixConversion::new(base, prime);
                assert_eq!(function.hash(&a), function.hash(&b), "{base} {prime}");
            }
        }
    }

    /// The other half of section 5.3.1: words of text, hashed to 1024 counters
    /// with a base of 2⁸ and no prime in between, meet in the counters of their
    /// first two bytes, while a prime spreads them out.
    #[test]
    fn a_power_of_two_as_base_keeps_the_first_bytes_only() {
        let words: Vec<String> = (0..1000).map(|i| format!("/cgi-bin/{i}")).collect();
        let counters = |function: RadixConversion| {
            let mut seen = vec![false; 1024];
            for word in &words {
                seen[(function.hash(word.as_bytes()) % 1024) as usize] = true;
            }
            seen.iter().filter(|seen| **seen).count()
        };
        assert_eq!(counters(RadixConversion::new(256, 1 << 61)), 1);
        assert!(counters(RadixConversion::new(257, (1 << 61) - 1)) > 500);
    }
}
