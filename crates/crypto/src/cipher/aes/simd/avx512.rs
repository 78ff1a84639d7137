//! Four keys per vector, one per 128-bit lane.

use std::arch::x86_64::*;

use super::super::{Block, MOST_ROUND_KEYS};
use super::{ROUND_CONSTANTS, schedules};

schedules! {
    features "avx512f,avx512bw,vaes", vector __m512i,
    _mm512_setzero_si512 _mm512_set1_epi32 _mm512_shuffle_epi8 _mm512_shuffle_epi32
    _mm512_aesenclast_epi128 _mm512_xor_si512 _mm512_bslli_epi128 _mm512_unpacklo_epi64
    _mm512_alignr_epi8,
    next_128_lanes expand_128_lanes expand_192_lanes expand_256_lanes
}

/// Writes the round keys of four keys of one length and returns true; or returns false for
/// lengths that keys have not.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,vaes")]
pub(super) fn expand_four(
    keys: [&[u8]; 4],
    mut round_keys: [&mut [Block; MOST_ROUND_KEYS]; 4],
) -> bool {
    let mut halves = [[[0; 16]; 4]; 2];
    let bytes = keys[0].len();
    for (lane, key) in keys.iter().enumerate() {
        match key.split_first_chunk::<16>() {
            Some((low, high)) if key.len() == bytes && high.len() <= 16 => {
                halves[0][lane] = *low;
                halves[1][lane][..high.len()].copy_from_slice(high);
            }
            _ => return false,
        }
    }
    let (low, high) = (load(&halves[0]), load(&halves[1]));
    match bytes {
        16 => store(&expand_128_lanes(low), &mut round_keys),
        24 => store(&expand_192_lanes(low, high), &mut round_keys),
        32 => store(&expand_256_lanes(low, high), &mut round_keys),
        _ => return false,
    }
    true
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(blocks: &[Block; 4]) -> __m512i {
    // SAFETY: 64 bytes are readable; the load needs no alignment.
    unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn store(keys: &[__m512i], round_keys: &mut [&mut [Block; MOST_ROUND_KEYS]; 4]) {
    let [a, b, c, d] = round_keys;
    for (round, key) in keys.iter().enumerate() {
        let lanes = [
            (&mut a[round], _mm512_castsi512_si128(*key)),
            (&mut b[round], _mm512_extracti64x2_epi64::<1>(*key)),
            (&mut c[round], _mm512_extracti64x2_epi64::<2>(*key)),
            (&mut d[round], _mm512_extracti64x2_epi64::<3>(*key)),
        ];
        for (block, lane) in lanes {
            // SAFETY: 16 bytes are writable; the store needs no alignment.
            unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), lane) };
        }
    }
}
