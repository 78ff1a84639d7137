//! Random numbers, defined to the last bit.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// One of the independent streams of a seed: ChaCha8 with the seed as the
/// first eight bytes of its key.
pub(super) struct Random(ChaCha8Rng);

impl Random {
    pub(super) fn new(seed: u64, stream: u64) -> Random {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(stream);
        Random(generator)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        scale(self.0.next_u64(), bound as u64) as usize
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

/// Maps 64 random bits to a number below `bound`.
pub(super) fn scale(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// A bijective mixture of 64 bits: the finaliser of SplitMix64 (Steele, Lea
/// and Flood, OOPSLA 2014).
pub(super) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// A share from 0 to 1 as a bound for 32 random bits. Products with powers
/// of two are exact.
pub(super) fn share_bound(share: f64) -> u64 {
    (share * f64::from(1u32 << 31) * 2.0) as u64
}
