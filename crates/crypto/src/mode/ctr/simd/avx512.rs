//! Four counter blocks per vector, up to eight vectors in flight.
//!
//! ```text
//! lane       0  1  2  3
//! vector 0   1  2  3  4      the counter is the lowest word of a lane whose
//! vector 1   5  6  7  8      bytes are reversed
//! ```

use std::arch::x86_64::*;

use crate::cipher::Block;

/// Bytes of a vector.
const VECTOR: usize = 64;

/// Vectors in flight: enough to hide the latency of AES.
const MOST_VECTORS: usize = 8;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(super) fn apply(round_keys: &[Block], nonce: &Block, text: &mut [u8]) {
    // SAFETY: 16 bytes are readable.
    let nonce = unsafe { _mm_loadu_si128(nonce.as_ptr().cast()) };
    let counters = _mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1);
    let nonce = reverse(_mm512_broadcast_i32x4(nonce));
    let mut counters = _mm512_or_si512(nonce, counters);
    for text in text.chunks_mut(MOST_VECTORS * VECTOR) {
        match text.len().div_ceil(VECTOR) {
            1 => encrypt::<1>(round_keys, counters, text),
            2 => encrypt::<2>(round_keys, counters, text),
            3 => encrypt::<3>(round_keys, counters, text),
            4 => encrypt::<4>(round_keys, counters, text),
            5 => encrypt::<5>(round_keys, counters, text),
            6 => encrypt::<6>(round_keys, counters, text),
            7 => encrypt::<7>(round_keys, counters, text),
            _ => encrypt::<MOST_VECTORS>(round_keys, counters, text),
        }
        let blocks = _mm512_set4_epi32(0, 0, 0, 4 * MOST_VECTORS as i32);
        counters = _mm512_add_epi32(counters, blocks);
    }
}

/// Encrypts a text that lies in `VECTORS` vectors, the last perhaps partial.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn encrypt<const VECTORS: usize>(round_keys: &[Block], counters: __m512i, text: &mut [u8]) {
    let [first, middle @ .., last] = round_keys else {
        return;
    };
    let mut states = [broadcast(first); VECTORS];
    for (vector, state) in (0..).zip(&mut states) {
        let counters = _mm512_add_epi32(counters, _mm512_set4_epi32(0, 0, 0, 4 * vector));
        *state = _mm512_xor_si512(*state, reverse(counters));
    }
    for key in middle {
        let key = broadcast(key);
        for state in &mut states {
            *state = _mm512_aesenc_epi128(*state, key);
        }
    }
    let key = broadcast(last);
    for (state, text) in states.iter().zip(text.chunks_mut(VECTOR)) {
        let mask = u64::MAX >> (VECTOR - text.len());
        let at = text.as_mut_ptr().cast();
        // SAFETY: the mask covers the text, which is 1 to 64 bytes long.
        unsafe {
            let input = _mm512_maskz_loadu_epi8(mask, at);
            let output = _mm512_xor_si512(input, _mm512_aesenclast_epi128(*state, key));
            _mm512_mask_storeu_epi8(at, mask, output);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn broadcast(key: &Block) -> __m512i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(key.as_ptr().cast()) })
}

/// The bytes of each lane reversed.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn reverse(blocks: __m512i) -> __m512i {
    let order = _mm512_set4_epi32(0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f);
    _mm512_shuffle_epi8(blocks, order)
}
