//! One counter block per vector, up to eight in flight.

use std::arch::aarch64::*;

use crate::cipher::Block;
use crate::cipher::simd::neon_aes::{encrypt, load, store};

/// Blocks in flight: enough to hide the latency of AES.
const MOST_BLOCKS: usize = 8;

#[target_feature(enable = "neon,aes")]
pub(super) fn apply(round_keys: &[Block], nonce: &Block, text: &mut [u8]) {
    let nonce = load(nonce);
    let mut counter = 1;
    for text in text.chunks_mut(16 * MOST_BLOCKS) {
        match text.len().div_ceil(16) {
            1 => add_key_stream::<1>(round_keys, nonce, counter, text),
            2 => add_key_stream::<2>(round_keys, nonce, counter, text),
            3 | 4 => add_key_stream::<4>(round_keys, nonce, counter, text),
            _ => add_key_stream::<MOST_BLOCKS>(round_keys, nonce, counter, text),
        }
        counter = counter.wrapping_add(MOST_BLOCKS as u32);
    }
}

/// Encrypts a text of at most `BLOCKS` blocks, the last perhaps partial.
#[inline]
#[target_feature(enable = "neon,aes")]
fn add_key_stream<const BLOCKS: usize>(
    round_keys: &[Block],
    nonce: uint8x16_t,
    first_counter: u32,
    text: &mut [u8],
) {
    let nonce = vreinterpretq_u32_u8(nonce);
    let mut states = [vdupq_n_u8(0); BLOCKS];
    for (block, state) in (0..).zip(&mut states) {
        let counter = first_counter.wrapping_add(block).swap_bytes();
        *state = vreinterpretq_u8_u32(vsetq_lane_u32::<3>(counter, nonce));
    }
    encrypt(round_keys, &mut states);
    for (key_stream, text) in states.into_iter().zip(text.chunks_mut(16)) {
        if let Some(block) = text.as_mut_array::<16>() {
            store(block, veorq_u8(load(block), key_stream));
        } else {
            let mut block = [0; 16];
            store(&mut block, key_stream);
            for (byte, key) in text.iter_mut().zip(block) {
                *byte ^= key;
            }
        }
    }
}
