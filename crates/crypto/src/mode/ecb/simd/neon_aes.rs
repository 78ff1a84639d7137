//! One block per vector, eight in flight.

use std::arch::aarch64::vdupq_n_u8;

use crate::cipher::Block;
use crate::cipher::simd::neon_aes::{decrypt, encrypt, load, store};

/// Blocks in flight: enough to hide the latency of AES.
const MOST_BLOCKS: usize = 8;

#[target_feature(enable = "neon,aes")]
pub(super) fn apply<const DECRYPT: bool>(keys: &[Block], blocks: &mut [Block]) {
    for blocks in blocks.chunks_mut(MOST_BLOCKS) {
        let mut states = [vdupq_n_u8(0); MOST_BLOCKS];
        for (state, block) in states.iter_mut().zip(&*blocks) {
            *state = load(block);
        }
        match DECRYPT {
            false => encrypt(keys, &mut states),
            true => decrypt(keys, &mut states),
        }
        for (block, state) in blocks.iter_mut().zip(states) {
            store(block, state);
        }
    }
}
