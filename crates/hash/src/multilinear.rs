//! Multilinear modular hashing: MMH* and what was made of it for 32-bit words.
//!
//! Halevi and Krawczyk, *MMH: Software message authentication in the
//! Gbit/second rates*, FSE 1997; section 4.2.1 of Y.-K. Lai's dissertation. A
//! message of words mᵢ meets a key of as many words xᵢ:
//!
//! ```text
//! MMH*     Σ mᵢxᵢ mod p                                     mᵢ, xᵢ in 0..p      (4.2)
//! MMH*32   Σ mᵢxᵢ mod (2³² + 15)                            mᵢ, xᵢ of 32 bits   (4.4)
//! MMH32    ((Σ mᵢxᵢ mod 2⁶⁴) mod (2³² + 15)) mod 2³²                            (4.5)
//! ```
//!
//! Messages have one length. A shorter one is padded with zero words, which do not change
//! the sum, so that it collides with its own padding: callers that hash messages of
//! several lengths must hash the length, too.
//!
//! ```
//! use weir_hash::multilinear::Mmh32;
//! use weir_hash::{Guaranteed, Seed, SeedStream};
//!
//! let mut stream = SeedStream::new(Seed::random()?);
//! let key: Vec<u32> = (0..101).map(|_| stream.next_bits(32) as u32).collect();
//! let function = Mmh32::<2>::new(&key); // two Toeplitz tags: 64 bits
//! let tags = function.hash(&[7; 100])?;
//! assert_eq!(tags, function.hash(&[7; 100])?);
//! assert!(function.guarantee().epsilon < 1e-17);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # MMH32 in Toeplitz keys
//!
//! T tags of one message come from one key with T - 1 words more: tag t uses the
//! words from t on. For MMH* that is as good as T keys (Krawczyk 1994). MMH32
//! drops carries and no proof was published for it; here is one.
//!
//! Let M and M' differ last in word i, and Δ = mᵢ - m'ᵢ. Let Sₜ and S'ₜ be their
//! sums for tag t modulo 2⁶⁴, and Dₜ = Sₜ - S'ₜ modulo 2⁶⁴, in 0..2⁶⁴. Words that
//! are equal cancel in Dₜ, which therefore depends on the key words up to i + t
//! only. Tags differ by a given d modulo 2³² only where Sₜ - S'ₜ, which is Dₜ or
//! Dₜ - 2⁶⁴, is modulo p = 2³² + 15 one of the residues of the numbers in -p..p
//! that are d modulo 2³²: that event Fₜ depends on Dₜ alone. Given all key words
//! before xᵢ₊ₜ, which decide on F₀ … Fₜ₋₁,
//!
//! ```text
//! Dₜ = c + Δ·xᵢ₊ₜ - 2⁶⁴f       c fixed in 0..2⁶⁴, f of two values
//! ```
//!
//! so that Fₜ requires Δ·xᵢ₊ₜ ≡ r - c + 2⁶⁴(f + e) with e in {0, 1}: three values
//! of f + e, and per residue r one word modulo p for each. There are two residues,
//! d and d + 15, and a third for the 29 values of d within 14 of zero. Hence
//! Pr\[F₀ … Fₜ₋₁\] ≤ (6·2⁻³²)ᵀ, and at most (9·2⁻³²)ᵀ for those few d: the ε of
//! one tag, 6·2⁻³² = 1.5·2⁻³⁰, to the power of T. The number of words does not
//! enter.

use crate::guarantee::{Group, Guarantee, Guaranteed, Property};
use crate::prime::{P32, mod_p32};

/// A message does not fit the function that was to hash it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MessageError {
    /// It has more words than the key.
    #[error("the message has {given_words} words, the key is for {most_words}")]
    TooLong {
        /// Words of the longest message.
        most_words: usize,
        /// Words of the message.
        given_words: usize,
    },
    /// A word is no number of the field.
    #[error("word {index} of the message is {word}, only 0 to {most} are allowed")]
    Word {
        /// Which word.
        index: usize,
        /// Its value.
        word: u64,
        /// The largest number of the field.
        most: u64,
    },
    /// NH takes words by twos.
    #[error("the message has {given_words} words, an even number is needed")]
    Odd {
        /// Words of the message.
        given_words: usize,
    },
}

/// MMH*, over the numbers modulo any prime below 2⁶³.
#[derive(Clone, Copy)]
pub struct MmhStar<'k> {
    prime: u64,
    key: &'k [u64],
}

/// MMH*32: 32-bit words, values modulo 2³² + 15.
#[derive(Clone, Copy)]
pub struct Mmh32Star<'k> {
    key: &'k [u32],
}

/// MMH32 with `T` Toeplitz tags; values are words of 32 bits.
#[derive(Clone, Copy)]
pub struct Mmh32<'k, const T: usize = 1> {
    key: &'k [u32],
}

impl<'k> MmhStar<'k> {
    /// The function of `key`, whose words are numbers below `prime`. The caller
    /// guarantees that the modulus is prime and the key uniformly random.
    pub fn new(prime: u64, key: &'k [u64]) -> MmhStar<'k> {
        MmhStar { prime, key }
    }

    /// The value of a message of numbers below the prime.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn hash(&self, message: &[u64]) -> Result<u64, MessageError> {
        fits(message.len(), self.key.len())?;
        let prime = u128::from(self.prime);
        let mut sum = 0;
        for (index, (&word, &key)) in message.iter().zip(self.key).enumerate() {
            if word >= self.prime {
                return Err(MessageError::Word {
                    index,
                    word,
                    most: self.prime.saturating_sub(1),
                });
            }
            sum = (sum + u128::from(word) * u128::from(key)) % prime;
        }
        Ok(sum as u64)
    }
}

impl<'k> Mmh32Star<'k> {
    /// The function of `key`.
    pub fn new(key: &'k [u32]) -> Mmh32Star<'k> {
        Mmh32Star { key }
    }

    /// The value of a message, below 2³² + 15.
    ///
    /// # Errors
    /// [`MessageError::TooLong`].
    pub fn hash(&self, message: &[u32]) -> Result<u64, MessageError> {
        fits(message.len(), self.key.len())?;
        let products = message.iter().zip(self.key);
        let products = products.map(|(m, x)| u64::from(*m) * u64::from(*x));
        Ok(products.fold(0, |sum, product| mod_p32(sum + mod_p32(product))))
    }
}

impl<'k, const T: usize> Mmh32<'k, T> {
    /// The functions of `key`, which has `T - 1` words more than the longest
    /// message.
    pub fn new(key: &'k [u32]) -> Mmh32<'k, T> {
        Mmh32 { key }
    }

    /// Words of the longest message.
    pub fn most_words(&self) -> usize {
        (self.key.len() + 1).saturating_sub(T)
    }

    /// The tags of a message.
    ///
    /// # Errors
    /// [`MessageError::TooLong`].
    pub fn hash(&self, message: &[u32]) -> Result<[u32; T], MessageError> {
        fits(message.len(), self.most_words())?;
        Ok(std::array::from_fn(|t| mmh32(&self.key[t..], message)))
    }
}

/// MMH32 of a message of at most as many words as the key; words beyond the end
/// of either do not count. This defines what lanes compute.
#[inline]
pub fn mmh32(key: &[u32], message: &[u32]) -> u32 {
    let products = message.iter().zip(key);
    let sum = products.fold(0u64, |sum, (m, x)| {
        sum.wrapping_add(u64::from(*m) * u64::from(*x))
    });
    mod_p32(sum) as u32
}

fn fits(given_words: usize, most_words: usize) -> Result<(), MessageError> {
    match given_words <= most_words {
        true => Ok(()),
        false => Err(MessageError::TooLong {
            most_words,
            given_words,
        }),
    }
}

impl Guaranteed for MmhStar<'_> {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            property: Property::AlmostDeltaUniversal(Group::Modulo(self.prime.into())),
            epsilon: 1.0 / self.prime as f64,
            source: "Carter and Wegman, JCSS 18, 1979; Halevi and Krawczyk, FSE 1997, section 3.1",
            key_bytes: size_of_val(self.key),
        }
    }
}

impl Guaranteed for Mmh32Star<'_> {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            property: Property::AlmostDeltaUniversal(Group::Modulo(P32.into())),
            // Keys are of 32 bits, not of the whole field.
            epsilon: 2f64.powi(-32),
            source: "Halevi and Krawczyk, FSE 1997, section 3.2",
            key_bytes: size_of_val(self.key),
        }
    }
}

impl<const T: usize> Guaranteed for Mmh32<'_, T> {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            property: Property::AlmostDeltaUniversal(Group::Modulo(1 << 32)),
            epsilon: (6.0 * 2f64.powi(-32)).powi(T as i32),
            source: "Halevi and Krawczyk, FSE 1997, section 3.3; \
                     for several tags the proof of weir-hash's module `multilinear`",
            key_bytes: size_of_val(self.key),
        }
    }
}

#[cfg(test)]
mod tests;
