//! One key per vector.

use std::arch::x86_64::*;

use super::super::{Block, MOST_ROUND_KEYS};
use super::{ROUND_CONSTANTS, schedules};

schedules! {
    features "aes,ssse3,sse4.1", vector __m128i,
    _mm_setzero_si128 _mm_set1_epi32 _mm_shuffle_epi8 _mm_shuffle_epi32 _mm_aesenclast_si128
    _mm_xor_si128 _mm_slli_si128 _mm_unpacklo_epi64 _mm_alignr_epi8,
    next_128 expand_128 expand_192 expand_256
}

/// Writes the round keys of a key of 16, 24 or 32 bytes and returns true.
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn expand(key: &[u8], round_keys: &mut [Block; MOST_ROUND_KEYS]) -> bool {
    let Some((low, rest)) = key.split_first_chunk::<16>() else {
        return false;
    };
    let low = load(low);
    match rest.len() {
        0 => store(&expand_128(low), round_keys),
        8 | 16 => {
            let mut high = [0; 16];
            high[..rest.len()].copy_from_slice(rest);
            let high = load(&high);
            match rest.len() {
                8 => store(&expand_192(low, high), round_keys),
                _ => store(&expand_256(low, high), round_keys),
            }
        }
        _ => return false,
    }
    true
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn store(keys: &[__m128i], round_keys: &mut [Block; MOST_ROUND_KEYS]) {
    for (block, key) in round_keys.iter_mut().zip(keys) {
        // SAFETY: 16 bytes are writable; the store needs no alignment.
        unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), *key) };
    }
}
