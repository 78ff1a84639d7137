//! One block per vector, eight vectors at a time, each under its own key.

use std::arch::x86_64::*;
use std::array;

use super::super::Lane;
use crate::cipher::Block;

/// Blocks at a time: enough to hide the latency of AES.
const LANES: usize = 8;

#[target_feature(enable = "aes")]
pub(super) fn encrypt<const ROUND_KEYS: usize>(lanes: &mut [Lane<'_, ROUND_KEYS>]) {
    for lanes in lanes.chunks_mut(LANES) {
        // Lanes that no packet fills repeat the first one.
        let keys: [&[Block; ROUND_KEYS]; LANES] =
            array::from_fn(|lane| lanes.get(lane).unwrap_or(&lanes[0]).round_keys);
        let mut states = [_mm_setzero_si128(); LANES];
        for (lane, state) in states.iter_mut().enumerate() {
            let block = load(lanes.get(lane).unwrap_or(&lanes[0]).block);
            *state = _mm_xor_si128(block, load(&keys[lane][0]));
        }
        for round in 1..ROUND_KEYS - 1 {
            for (state, keys) in states.iter_mut().zip(&keys) {
                *state = _mm_aesenc_si128(*state, load(&keys[round]));
            }
        }
        for (lane, (state, keys)) in lanes.iter_mut().zip(states.iter().zip(&keys)) {
            let state = _mm_aesenclast_si128(*state, load(&keys[ROUND_KEYS - 1]));
            // SAFETY: 16 bytes are writable; the store needs no alignment.
            unsafe { _mm_storeu_si128(lane.block.as_mut_ptr().cast(), state) };
        }
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}
