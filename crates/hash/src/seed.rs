//! Seeds of 256 bits, and the parameters that they expand to.

use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The operating system gave no random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random seed from the operating system ({0}): give one explicitly")]
pub struct SeedError(getrandom::Error);

/// What a family of hash functions is drawn from: 256 bits, which have to be random
/// and secret where keys come from strangers.
///
/// Equal seeds draw equal functions on every machine, so that sketches of equal seeds
/// and sizes can be added. A sender who knows a seed can choose keys that collide, so
/// `Debug` does not show it.
///
/// ```
/// use weir_hash::Seed;
///
/// let secret = Seed::random()?;
/// let repeatable = Seed::from_u64(1);
/// assert_eq!(repeatable, Seed::from_u64(1));
/// assert_ne!(secret, repeatable);
/// # Ok::<(), weir_hash::SeedError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed([u8; Seed::BYTES]);

impl Seed {
    /// Length of a seed in bytes.
    pub const BYTES: usize = 32;

    /// A seed from the operating system's random number generator.
    ///
    /// # Errors
    /// The operating system has no entropy to give.
    pub fn random() -> Result<Seed, SeedError> {
        let mut bytes = [0; Seed::BYTES];
        getrandom::fill(&mut bytes).map_err(SeedError)?;
        Ok(Seed(bytes))
    }

    /// The seed of these bytes, which the caller chose at random or keeps from
    /// [`Seed::to_bytes`].
    pub const fn from_bytes(bytes: [u8; Seed::BYTES]) -> Seed {
        Seed(bytes)
    }

    /// The seed of a number, for tests and for runs that are to be repeated. It has 64
    /// bits of entropy at most, and none where the number is known.
    pub const fn from_u64(number: u64) -> Seed {
        let number = number.to_le_bytes();
        let mut bytes = [0; Seed::BYTES];
        let mut index = 0;
        while index < number.len() {
            bytes[index] = number[index];
            index += 1;
        }
        Seed(bytes)
    }

    /// The bytes of the seed, to be kept as secret as the seed.
    pub const fn to_bytes(self) -> [u8; Seed::BYTES] {
        self.0
    }

    /// A seed for another purpose: independent of this one, of what this one expands
    /// to, and of those for other purposes.
    #[must_use]
    pub fn derive(self, purpose: u32) -> Seed {
        let mut generator = ChaCha20Rng::from_seed(self.0);
        // Parameters are drawn from stream 0.
        generator.set_stream(1 << 32 | u64::from(purpose));
        let mut bytes = [0; Seed::BYTES];
        generator.fill_bytes(&mut bytes);
        Seed(bytes)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// The random numbers that a seed expands to: the key stream of ChaCha20 (RFC 8439;
/// 64-bit block counter and nonce zero) under the seed as key, eight bytes at a time,
/// least significant first.
///
/// The bounds of the families are proven for uniform parameters. Those drawn from here
/// cannot be distinguished from uniform ones without breaking ChaCha20, so the bounds
/// hold for all keys that are chosen without knowledge of the seed.
#[derive(Clone)]
pub struct SeedStream {
    generator: ChaCha20Rng,
}

impl SeedStream {
    /// The stream of `seed`.
    pub fn new(seed: Seed) -> SeedStream {
        SeedStream {
            generator: ChaCha20Rng::from_seed(seed.0),
        }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// The next `bits` bits, 1 to 64 (others are taken for the nearest of these): the
    /// most significant ones of the next 64.
    pub fn next_bits(&mut self, bits: u32) -> u64 {
        self.next_u64() >> (64 - bits.clamp(1, 64))
    }
}

impl fmt::Debug for SeedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeedStream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key stream of the all-zero key: RFC 8439, appendix A.1, test vector 1.
    #[test]
    fn stream_is_the_key_stream_of_chacha20() {
        let mut stream = SeedStream::new(Seed::from_bytes([0; 32]));
        let expected = [
            0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86,
            0xbd, 0x28, 0xbd, 0xd2, 0x19, 0xb8, 0xa0, 0x8d, 0xed, 0x1a, 0xa8, 0x36, 0xef, 0xcc,
            0x8b, 0x77, 0x0d, 0xc7,
        ];
        for bytes in expected.as_chunks::<8>().0 {
            assert_eq!(stream.next_u64(), u64::from_le_bytes(*bytes));
        }
    }

    #[test]
    fn bits_are_the_top_of_a_draw() {
        let seed = Seed::from_u64(7);
        let (mut whole, mut part) = (SeedStream::new(seed), SeedStream::new(seed));
        for bits in [1, 20, 52, 64] {
            assert_eq!(part.next_bits(bits), whole.next_u64() >> (64 - bits));
        }
    }

    /// Every bit of a seed changes what it expands to: all of the first 32 bits stay as
    /// they are with probability 256 · 2⁻⁶⁴.
    #[test]
    fn all_bits_of_a_seed_count() {
        let first = |bytes| SeedStream::new(Seed::from_bytes(bytes)).next_u64();
        for bit in 0..256 {
            let mut bytes = [0; Seed::BYTES];
            bytes[bit / 8] = 1 << (bit % 8);
            assert_ne!(first(bytes), first([0; Seed::BYTES]), "bit {bit}");
        }
    }

    #[test]
    fn derived_seeds_are_repeatable_and_differ() {
        let seed = Seed::from_u64(7);
        assert_eq!(seed.derive(1), seed.derive(1));
        assert_ne!(seed.derive(1), seed.derive(2));
        assert_ne!(seed.derive(0), seed);
        // Not what the seed itself expands to.
        let mut stream = SeedStream::new(seed);
        let drawn: Vec<u8> = (0..4)
            .flat_map(|_| stream.next_u64().to_le_bytes())
            .collect();
        assert_ne!(seed.derive(0).to_bytes()[..], drawn);
    }

    /// Two seeds are equal with probability 2⁻²⁵⁶.
    #[test]
    fn random_seeds_differ_and_are_not_shown() {
        let seed = Seed::random().unwrap();
        assert_ne!(seed, Seed::random().unwrap());
        assert_eq!(format!("{seed:?}"), "Seed(..)");
        assert_eq!(Seed::from_bytes(seed.to_bytes()), seed);
    }
}
