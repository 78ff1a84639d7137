//! One counter block per vector, up to eight in flight.

use std::arch::x86_64::*;

use crate::cipher::Block;

/// Blocks in flight: enough to hide the latency of AES.
const MOST_BLOCKS: usize = 8;

#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(super) fn apply(round_keys: &[Block], nonce: &Block, text: &mut [u8]) {
    // SAFETY: 16 bytes are readable.
    let nonce = unsafe { _mm_loadu_si128(nonce.as_ptr().cast()) };
    let mut counter = 1;
    for text in text.chunks_mut(16 * MOST_BLOCKS) {
        match text.len().div_ceil(16) {
            1 => encrypt::<1>(round_keys, nonce, counter, text),
            2 => encrypt::<2>(round_keys, nonce, counter, text),
            3 => encrypt::<3>(round_keys, nonce, counter, text),
            4 => encrypt::<4>(round_keys, nonce, counter, text),
            5 => encrypt::<5>(round_keys, nonce, counter, text),
            6 => encrypt::<6>(round_keys, nonce, counter, text),
            7 => encrypt::<7>(round_keys, nonce, counter, text),
            _ => encrypt::<MOST_BLOCKS>(round_keys, nonce, counter, text),
        }
        counter = counter.wrapping_add(MOST_BLOCKS as u32);
    }
}

/// Encrypts a text of `BLOCKS` blocks, the last perhaps partial.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
fn encrypt<const BLOCKS: usize>(
    round_keys: &[Block],
    nonce: __m128i,
    first_counter: u32,
    text: &mut [u8],
) {
    let [first, middle @ .., last] = round_keys else {
        return;
    };
    let mut states = [load(first); BLOCKS];
    for (block, state) in (0..).zip(&mut states) {
        let counter = first_counter.wrapping_add(block).swap_bytes();
        *state = _mm_xor_si128(*state, _mm_insert_epi32::<3>(nonce, counter as i32));
    }
    for key in middle {
        let key = load(key);
        for state in &mut states {
            *state = _mm_aesenc_si128(*state, key);
        }
    }
    let key = load(last);
    for (state, text) in states.iter().zip(text.chunks_mut(16)) {
        let key_stream = _mm_aesenclast_si128(*state, key);
        if let Some(block) = text.as_mut_array::<16>() {
            store(block, _mm_xor_si128(load(block), key_stream));
        } else {
            let mut block = [0; 16];
            store(&mut block, key_stream);
            for (byte, key) in text.iter_mut().zip(block) {
                *byte ^= key;
            }
        }
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn store(at: &mut Block, block: __m128i) {
    // SAFETY: 16 bytes are writable; the store needs no alignment.
    unsafe { _mm_storeu_si128(at.as_mut_ptr().cast(), block) };
}
