//! Four blocks per vector, up to eight vectors in flight.

use std::arch::x86_64::*;

use crate::cipher::Block;

/// Vectors in flight: enough to hide the latency of AES.
const MOST_VECTORS: usize = 8;

#[target_feature(enable = "avx512f,vaes")]
pub(super) fn apply<const DECRYPT: bool>(keys: &[Block], blocks: &mut [Block]) {
    let (full, rest) = blocks.as_chunks_mut::<{ 4 * MOST_VECTORS }>();
    for blocks in full {
        in_flight::<MOST_VECTORS, DECRYPT>(keys, blocks);
    }
    for blocks in rest.chunks_mut(4) {
        in_flight::<1, DECRYPT>(keys, blocks);
    }
}

/// Blocks that lie in `VECTORS` vectors, the last perhaps not filled.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn in_flight<const VECTORS: usize, const DECRYPT: bool>(keys: &[Block], blocks: &mut [Block]) {
    let [first, middle @ .., last] = keys else {
        return;
    };
    let mut states = [broadcast(first); VECTORS];
    for (state, blocks) in states.iter_mut().zip(blocks.chunks(4)) {
        // SAFETY: the mask covers the blocks.
        let blocks = unsafe { _mm512_maskz_loadu_epi64(words(blocks), blocks.as_ptr().cast()) };
        *state = _mm512_xor_si512(*state, blocks);
    }
    for key in middle {
        let key = broadcast(key);
        for state in &mut states {
            *state = match DECRYPT {
                true => _mm512_aesdec_epi128(*state, key),
                false => _mm512_aesenc_epi128(*state, key),
            };
        }
    }
    let key = broadcast(last);
    for (state, blocks) in states.into_iter().zip(blocks.chunks_mut(4)) {
        let state = match DECRYPT {
            true => _mm512_aesdeclast_epi128(state, key),
            false => _mm512_aesenclast_epi128(state, key),
        };
        // SAFETY: as above.
        unsafe { _mm512_mask_storeu_epi64(blocks.as_mut_ptr().cast(), words(blocks), state) };
    }
}

/// The words of 64 bits that up to four blocks fill.
#[inline]
fn words(blocks: &[Block]) -> __mmask8 {
    ((1u16 << (2 * blocks.len())) - 1) as __mmask8
}

#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(key: &Block) -> __m512i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(key.as_ptr().cast()) })
}
