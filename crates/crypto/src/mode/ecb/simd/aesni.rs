//! One block per vector, up to eight in flight.

use std::arch::x86_64::*;

use crate::cipher::Block;

/// Blocks in flight: enough to hide the latency of AES.
const MOST_BLOCKS: usize = 8;

#[target_feature(enable = "aes")]
pub(super) fn apply<const DECRYPT: bool>(keys: &[Block], blocks: &mut [Block]) {
    let (eights, rest) = blocks.as_chunks_mut::<MOST_BLOCKS>();
    for eight in eights {
        in_flight::<MOST_BLOCKS, DECRYPT>(keys, eight);
    }
    let (pairs, rest) = rest.as_chunks_mut::<2>();
    for pair in pairs {
        in_flight::<2, DECRYPT>(keys, pair);
    }
    for block in rest {
        in_flight::<1, DECRYPT>(keys, std::array::from_mut(block));
    }
}

#[inline]
#[target_feature(enable = "aes")]
fn in_flight<const BLOCKS: usize, const DECRYPT: bool>(
    keys: &[Block],
    blocks: &mut [Block; BLOCKS],
) {
    let [first, middle @ .., last] = keys else {
        return;
    };
    let mut states = [load(first); BLOCKS];
    for (state, block) in states.iter_mut().zip(&*blocks) {
        *state = _mm_xor_si128(*state, load(block));
    }
    for key in middle {
        let key = load(key);
        for state in &mut states {
            *state = match DECRYPT {
                true => _mm_aesdec_si128(*state, key),
                false => _mm_aesenc_si128(*state, key),
            };
        }
    }
    let key = load(last);
    for (state, block) in states.into_iter().zip(blocks) {
        let state = match DECRYPT {
            true => _mm_aesdeclast_si128(state, key),
            false => _mm_aesenclast_si128(state, key),
        };
        // SAFETY: 16 bytes are writable; the store needs no alignment.
        unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), state) };
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}
