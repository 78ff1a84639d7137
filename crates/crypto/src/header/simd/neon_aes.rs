//! One block per vector, eight vectors at a time, each under its own key.

use std::arch::aarch64::*;
use std::array;

use super::super::Lane;
use crate::cipher::Block;
use crate::cipher::simd::neon_aes::{load, store};

/// Blocks at a time: enough to hide the latency of AES.
const LANES: usize = 8;

#[target_feature(enable = "neon,aes")]
pub(super) fn encrypt<const ROUND_KEYS: usize>(lanes: &mut [Lane<'_, ROUND_KEYS>]) {
    for lanes in lanes.chunks_mut(LANES) {
        // Lanes that no packet fills repeat the first one.
        let keys: [&[Block; ROUND_KEYS]; LANES] =
            array::from_fn(|lane| lanes.get(lane).unwrap_or(&lanes[0]).round_keys);
        let mut states = [vdupq_n_u8(0); LANES];
        for (lane, state) in states.iter_mut().enumerate() {
            *state = load(lanes.get(lane).unwrap_or(&lanes[0]).block);
        }
        // AESE adds the round key first; the last round key is left to add.
        for round in 0..ROUND_KEYS - 2 {
            for (state, keys) in states.iter_mut().zip(&keys) {
                *state = vaesmcq_u8(vaeseq_u8(*state, load(&keys[round])));
            }
        }
        for (lane, (state, keys)) in lanes.iter_mut().zip(states.iter().zip(&keys)) {
            let state = vaeseq_u8(*state, load(&keys[ROUND_KEYS - 2]));
            store(lane.block, veorq_u8(state, load(&keys[ROUND_KEYS - 1])));
        }
    }
}
