//! NMH* and NH: half as many multiplications as words.
//!
//! NMH* is Carter and Wegman's, published by Halevi and Krawczyk (FSE 1997,
//! section 5); NH is its form without prime of Black, Halevi, Krawczyk, Krovetz
//! and Rogaway, *UMAC: Fast and secure message authentication*, CRYPTO 1999:
//!
//! ```text
//! NMH*   Σ (m₂ᵢ + x₂ᵢ)(m₂ᵢ₊₁ + x₂ᵢ₊₁) mod p                                     (4.6)
//! NH     Σ ((m₂ᵢ + x₂ᵢ) mod 2³²)·((m₂ᵢ₊₁ + x₂ᵢ₊₁) mod 2³²) mod 2⁶⁴              (4.7)
//! ```
//!
//! NH of a message of zeros is not zero: absent words and words of zero are
//! different messages, of different lengths.
//!
//! RFC 4418 multiplies words four apart instead of neighbours, which suits
//! vectors of four words and changes nothing else: [`nh_rfc4418`].
//!
//! ```
//! use weir_hash::nh::Nh;
//! use weir_hash::{Seed, SeedStream};
//!
//! let mut stream = SeedStream::new(Seed::random()?);
//! let key: Vec<u32> = (0..64).map(|_| stream.next_bits(32) as u32).collect();
//! let [value] = Nh::<1>::new(&key).hash(&[1, 2, 3, 4])?;
//! assert_eq!([value], Nh::<1>::new(&key).hash(&[1, 2, 3, 4])?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::guarantee::{Group, Guarantee, Guaranteed, Property};
use crate::multilinear::MessageError;

/// NMH*, over the numbers modulo any prime below 2⁶³.
#[derive(Clone, Copy)]
pub struct NmhStar<'k> {
    prime: u64,
    key: &'k [u64],
}

/// NH with words of 32 bits and `T` Toeplitz values; two words of key apart, since
/// a pair of words is one step of the sum.
#[derive(Clone, Copy)]
pub struct Nh<'k, const T: usize = 1> {
    key: &'k [u32],
}

impl<'k> NmhStar<'k> {
    /// The function of `key`, whose words are numbers below `prime`. The caller
    /// guarantees that the modulus is prime and the key uniformly random.
    pub fn new(prime: u64, key: &'k [u64]) -> NmhStar<'k> {
        NmhStar { prime, key }
    }

    /// The value of a message of an even number of numbers below the prime.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn hash(&self, message: &[u64]) -> Result<u64, MessageError> {
        let pairs = pairs(message, self.key.len())?;
        for (index, &word) in message.iter().enumerate() {
            if word >= self.prime {
                return Err(MessageError::Word {
                    index,
                    word,
                    most: self.prime.saturating_sub(1),
                });
            }
        }
        let prime = u128::from(self.prime);
        let sum = pairs
            .iter()
            .zip(self.key.as_chunks::<2>().0)
            .fold(0, |sum, (m, x)| {
                let factor = |i: usize| (u128::from(m[i]) + u128::from(x[i])) % prime;
                (sum + factor(0) * factor(1)) % prime
            });
        Ok(sum as u64)
    }
}

impl<'k, const T: usize> Nh<'k, T> {
    /// The functions of `key`, which has `2(T - 1)` words more than the longest
    /// message.
    pub fn new(key: &'k [u32]) -> Nh<'k, T> {
        Nh { key }
    }

    /// Words of the longest message.
    pub fn most_words(&self) -> usize {
        (self.key.len() + 2).saturating_sub(2 * T)
    }

    /// The values of a message of an even number of words.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn hash(&self, message: &[u32]) -> Result<[u64; T], MessageError> {
        let pairs = pairs(message, self.most_words())?;
        Ok(std::array::from_fn(|t| {
            let key = self.key[2 * t..].as_chunks::<2>().0;
            pairs.iter().zip(key).fold(0u64, |sum, (m, x)| {
                sum.wrapping_add(product([m[0], m[1]], [x[0], x[1]]))
            })
        }))
    }
}

fn pairs<W>(message: &[W], most_words: usize) -> Result<&[[W; 2]], MessageError> {
    let given_words = message.len();
    if given_words > most_words {
        return Err(MessageError::TooLong {
            most_words,
            given_words,
        });
    }
    match message.as_chunks() {
        (pairs, []) => Ok(pairs),
        _ => Err(MessageError::Odd { given_words }),
    }
}

/// NH as RFC 4418 section 5.2.2 has it: word j of each eight times word j + 4.
/// `first` is the key of words 0 to 3 of each eight, `second` of words 4 to 7.
/// Eights beyond the end of message or key do not count.
#[inline]
pub fn nh_rfc4418(first: &[[u32; 4]], second: &[[u32; 4]], message: &[[u32; 8]]) -> u64 {
    let keys = first.iter().zip(second);
    message.iter().zip(keys).fold(0, |sum, (m, (x, y))| {
        (0..4).fold(sum, |sum: u64, j| {
            sum.wrapping_add(product([m[j], m[j + 4]], [x[j], y[j]]))
        })
    })
}

#[inline]
fn product(m: [u32; 2], x: [u32; 2]) -> u64 {
    u64::from(m[0].wrapping_add(x[0])) * u64::from(m[1].wrapping_add(x[1]))
}

impl Guaranteed for NmhStar<'_> {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            property: Property::AlmostDeltaUniversal(Group::Modulo(self.prime.into())),
            epsilon: 1.0 / self.prime as f64,
            source: "Halevi and Krawczyk, FSE 1997, section 5",
            key_bytes: size_of_val(self.key),
        }
    }
}

impl<const T: usize> Guaranteed for Nh<'_, T> {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            property: Property::AlmostDeltaUniversal(Group::Modulo(1 << 64)),
            epsilon: 2f64.powi(-32 * T as i32),
            source: "Black, Halevi, Krawczyk, Krovetz, Rogaway, CRYPTO 1999, theorems 4.2 and 4.3",
            key_bytes: size_of_val(self.key),
        }
    }
}

#[cfg(test)]
mod tests;
