//! Byte strings of any length as keys of two words.

use std::fmt;

use crate::field::Mersenne61;
use crate::seed::{Seed, SeedStream};

/// Bytes that are one coefficient: as many as stay below 2⁶¹ - 1.
const COEFFICIENT_BYTES: usize = 7;

/// A hash function from byte strings of any length to keys of two 32-bit words, the low
/// one first, for the families whose keys are short.
///
/// ```text
/// h(m) = ((len·k + m₁)·k + … + mₙ)·k   mod 2⁶¹ - 1
/// ```
///
/// mᵢ are the string's bytes, seven at a time, least significant first; len is their
/// number and k is random.
///
/// **Property.** Two different strings of at most L bytes have equal keys with probability
/// at most (⌈L/7⌉ + 1)/(2⁶¹ - 1): the difference of their values is a polynomial in k of
/// degree ⌈L/7⌉ + 1 at most, which is not zero, as either the length or a coefficient
/// differs (den Boer 1993; the family is [`crate::horner`]'s with longer words). It is
/// almost Δ-universal, so the low words alone are equal with probability at most
/// (⌈L/7⌉ + 1)·2⁻³¹.
///
/// **Cost.** One multiplication per seven bytes and one more, each waiting for the one
/// before.
///
/// `Debug` does not show k: with it, a sender can choose strings that collide.
///
/// ```
/// use weir_hash::{ByteHash, Family, Ms52, Seed};
///
/// let seed = Seed::random()?;
/// let names = ByteHash::new(seed.derive(1));
/// let rows = Ms52::draw(4, 1000, ByteHash::KEY_WORDS, seed)?;
/// let key = names.key(b"www.example.org");
/// assert!(rows.bucket(0, &key) < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ByteHash {
    point: u64,
}

impl ByteHash {
    /// Words of a key.
    pub const KEY_WORDS: usize = 2;

    /// The function that `seed` draws.
    pub fn new(seed: Seed) -> ByteHash {
        ByteHash {
            point: Mersenne61::draw(&mut SeedStream::new(seed)),
        }
    }

    /// The key of `bytes`.
    #[inline]
    pub fn key(&self, bytes: &[u8]) -> [u32; ByteHash::KEY_WORDS] {
        let value = self.value(bytes);
        [value as u32, (value >> 32) as u32]
    }

    /// The value of `bytes`, below 2⁶¹ - 1.
    #[inline]
    fn value(&self, bytes: &[u8]) -> u64 {
        let length = Mersenne61::reduce(bytes.len() as u128);
        let coefficients = bytes.chunks(COEFFICIENT_BYTES).map(|chunk| {
            let mut coefficient = [0; size_of::<u64>()];
            coefficient[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(coefficient)
        });
        let sum = coefficients.fold(length, |sum, coefficient| {
            Mersenne61::multiply_add(sum, self.point, coefficient)
        });
        Mersenne61::multiply_add(sum, self.point, 0)
    }
}

impl fmt::Debug for ByteHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteHash").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The definition, by powers and in whole numbers.
        #[test]
        fn values_are_the_polynomial(
            point in 0..Mersenne61::P,
            bytes in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let prime = u128::from(Mersenne61::P);
            let coefficient = |chunk: &[u8]| {
                let bytes = chunk.iter().rev();
                bytes.fold(0u128, |sum, byte| 256 * sum + u128::from(*byte))
            };
            let coefficients = std::iter::once(bytes.len() as u128)
                .chain(bytes.chunks(7).map(coefficient));
            let (mut power, mut expected) = (1, 0);
            for coefficient in coefficients.collect::<Vec<_>>().into_iter().rev() {
                power = power * u128::from(point) % prime;
                expected = (expected + power * (coefficient % prime)) % prime;
            }
            prop_assert_eq!(u128::from(ByteHash { point }.value(&bytes)), expected);
        }
    }

    /// Strings that zero bytes make longer, and such that differ where coefficients
    /// meet: two are equal under one of 64 points with probability 1e-14.
    #[test]
    fn strings_that_are_alike_have_different_keys() {
        let strings: [&[u8]; 10] = [
            b"",
            b"\0",
            b"\0\0",
            b"a",
            b"a\0",
            b"\0a",
            b"seven b",
            b"seven b\0",
            b"seven bytes",
            b"seven b\0tes",
        ];
        for number in 0..64 {
            let hash = ByteHash::new(Seed::from_u64(number));
            for (index, one) in strings.iter().enumerate() {
                for other in &strings[..index] {
                    assert_ne!(hash.key(one), hash.key(other), "{one:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn keys_are_repeatable_and_depend_on_the_seed() {
        let key = |number| ByteHash::new(Seed::from_u64(number)).key(b"192.0.2.1");
        assert_eq!(key(1), key(1));
        assert_ne!(key(1), key(2));
    }
}
