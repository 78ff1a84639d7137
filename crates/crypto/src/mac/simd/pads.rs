//! Pads of eight messages: a chain of AES-128 each, as many as hide its latency.
//! Their twin is [`crate::mode::ecb`].

use std::arch::x86_64::*;

use crate::cipher::Block;
use crate::mac::message::LANES;

/// Encrypts a block of each message under the round keys beside it.
#[inline]
#[target_feature(enable = "aes,sse2")]
pub(in crate::mac) fn eight(
    keys: &[&[Block; 11]; LANES],
    blocks: &[Block; LANES],
) -> [Block; LANES] {
    let mut states = [_mm_setzero_si128(); LANES];
    for lane in 0..LANES {
        states[lane] = _mm_xor_si128(load(&blocks[lane]), load(&keys[lane][0]));
    }
    for round in 1..10 {
        for lane in 0..LANES {
            states[lane] = _mm_aesenc_si128(states[lane], load(&keys[lane][round]));
        }
    }
    let mut pads = [[0; 16]; LANES];
    for lane in 0..LANES {
        let pad = _mm_aesenclast_si128(states[lane], load(&keys[lane][10]));
        // SAFETY: 16 bytes are writable; the store needs no alignment.
        unsafe { _mm_storeu_si128(pads[lane].as_mut_ptr().cast(), pad) };
    }
    pads
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}
