//! From one 64-bit seed to the parameters of a family.

use std::fmt;

/// The operating system gave no random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random seed from the operating system ({0}): give one explicitly")]
pub struct SeedError(getrandom::Error);

/// A secret seed for live use.
///
/// # Errors
/// The operating system has no entropy to give.
pub fn random_seed() -> Result<u64, SeedError> {
    getrandom::u64().map_err(SeedError)
}

/// SplitMix64 (Steele, Lea, Flood: *Fast Splittable Pseudorandom Number
/// Generators*, OOPSLA 2014, figure 15): the documented expansion of a seed
/// into parameters.
///
/// Equal seeds give equal parameters on every machine, so a sketch is known by
/// its shape and one number. It is no cipher: whoever learns a family's
/// parameters learns the seed.
#[derive(Clone)]
pub struct SeedStream {
    state: u64,
}

impl SeedStream {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> SeedStream {
        SeedStream { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next `bits` bits, 1 to 64, taken from the top of a draw.
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

    /// The outputs of the authors' reference code (`splitmix64.c`, Vigna) for
    /// seed 1234567.
    #[test]
    fn stream_is_splitmix64() {
        let mut stream = SeedStream::new(1_234_567);
        for expected in [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ] {
            assert_eq!(stream.next_u64(), expected);
        }
    }

    #[test]
    fn bits_are_the_top_of_a_draw() {
        let (mut whole, mut part) = (SeedStream::new(7), SeedStream::new(7));
        for bits in [1, 20, 52, 64] {
            assert_eq!(part.next_bits(bits), whole.next_u64() >> (64 - bits));
        }
    }

    /// Two draws are equal with probability 2⁻⁶⁴.
    #[test]
    fn random_seeds_differ() {
        assert_ne!(random_seed().unwrap(), random_seed().unwrap());
    }
}
