//! Pads of eight messages: a chain of AES each; eight hide its latency.
//! The scalar reference is [`crate::mode::ecb`].

use std::arch::x86_64::*;

use crate::cipher::Block;
use crate::mac::message::LANES;

/// Encrypts a block of each message, two little-endian numbers, under the round
/// keys beside it, of which there are at least two.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,aes")]
pub(crate) fn eight<const ROUND_KEYS: usize>(
    keys: &[&[Block; ROUND_KEYS]; LANES],
    blocks: &[[u64; 2]; LANES],
) -> [__m128i; LANES] {
    let mut states = [_mm_setzero_si128(); LANES];
    for lane in 0..LANES {
        let [low, high] = blocks[lane];
        let block = _mm_set_epi64x(high as i64, low as i64);
        states[lane] = _mm_xor_si128(block, load(&keys[lane][0]));
    }
    for round in 1..ROUND_KEYS - 1 {
        for (state, keys) in states.iter_mut().zip(keys) {
            *state = _mm_aesenc_si128(*state, load(&keys[round]));
        }
    }
    for (state, keys) in states.iter_mut().zip(keys) {
        *state = _mm_aesenclast_si128(*state, load(&keys[ROUND_KEYS - 1]));
    }
    states
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}
