//! Shift-add-xor, the class of Ramakrishna and Zobel (*Performance in practice
//! of string hashing functions*, DASFAA 1997) and of table 3.1 of the thesis.

use weir_simd::Tier;

use super::{StringFamily, simd};
use crate::seed::{Seed, SeedStream};

const LEFT: u32 = 5;
const RIGHT: u32 = 2;

/// h₀ = seed, hᵢ₊₁ = hᵢ ⊕ ((hᵢ << 5) + (hᵢ >> 2) + byte). A function is its
/// seed. Nothing is proved of it; the authors and this crate's tests find it
/// like random functions for strings of four bytes and more. The last bytes
/// have not yet reached the top bits: the hash is the state times an odd
/// constant.
#[derive(Clone, Debug)]
pub struct ShiftAddXor {
    seeds: Vec<u32>,
}

/// One step.
#[inline(always)]
pub(super) fn step(state: u32, byte: u8) -> u32 {
    let sum = (state << LEFT)
        .wrapping_add(state >> RIGHT)
        .wrapping_add(u32::from(byte));
    state ^ sum
}

impl StringFamily for ShiftAddXor {
    const NAME: &'static str = "shift-add-xor";

    fn draw(functions: usize, _: usize, seed: Seed) -> ShiftAddXor {
        let mut stream = SeedStream::new(seed);
        ShiftAddXor {
            seeds: (0..functions)
                .map(|_| stream.next_bits(32) as u32)
                .collect(),
        }
    }

    fn functions(&self) -> usize {
        self.seeds.len()
    }

    #[inline]
    fn start(&self, function: usize) -> u32 {
        self.seeds[function]
    }

    #[inline]
    fn append(&self, _: usize, state: u32, _: usize, byte: u8) -> u32 {
        step(state, byte)
    }

    #[inline]
    fn finish(&self, _: usize, state: u32) -> u32 {
        let state = state.wrapping_mul(0x9e37_79b1);
        (state ^ (state >> 15)).wrapping_mul(0x85eb_ca6b)
    }

    fn append_to_each(&self, tier: Tier, _: usize, states: &mut [u32], _: usize, bytes: &[u8]) {
        simd::in_lanes(tier, (states, bytes), |(states, bytes)| {
            for (state, byte) in states.iter_mut().zip(bytes) {
                *state = step(*state, *byte);
            }
        });
    }

    fn finish_each(&self, tier: Tier, function: usize, states: &[u32], hashes: &mut [u32]) {
        simd::in_lanes(tier, (states, hashes), |(states, hashes)| {
            for (hash, state) in hashes.iter_mut().zip(states) {
                *hash = self.finish(function, *state);
            }
        });
    }
}
