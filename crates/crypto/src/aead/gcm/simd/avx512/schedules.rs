//! What a kernel needs of keys that are not in memory in full: round keys of
//! sixteen raw keys at a time, and powers of a hash key.

use std::arch::x86_64::*;

use weir_simd::Lanes;

use super::field::{hash_keys, product, square};
use super::{transpose, wipe_vectors};
use crate::aead::gcm::key::POWERS;
use crate::cipher::simd::{expand_128_lanes, expand_192_lanes, expand_256_lanes};
use crate::cipher::{Block, MOST_ROUND_KEYS, rounds};
use crate::suite::AesKeySize;

/// Raw keys that are expanded at once.
pub(super) const AHEAD: usize = 16;

/// One raw key: 16 bytes, and those beyond them or zeros.
pub(super) type RawKey = [__m128i; 2];

/// `H, round keys` of one key.
pub(super) type Expanded = Lanes<Block, 16>;

/// Powers of a hash key up to the 33rd, highest first, and three blocks that a
/// vector of powers may reach into.
pub(super) type PowerTable = Lanes<Block, { POWERS + 3 }>;

/// The two vectors of four raw keys, one key per lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn lanes_of(keys: &[RawKey; 4]) -> [__m512i; 2] {
    let mut lanes = [_mm512_setzero_si512(); 2];
    for (part, lanes) in lanes.iter_mut().enumerate() {
        let [a, b, c, d] = [keys[0][part], keys[1][part], keys[2][part], keys[3][part]];
        *lanes = join([a, b, c, d]);
    }
    lanes
}

/// Four lanes of one vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn join(lanes: [__m128i; 4]) -> __m512i {
    let [a, b, c, d] = lanes;
    let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
    let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// Writes the round keys of four raw keys, one key per lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn round_keys(
    size: AesKeySize,
    keys: &[RawKey; 4],
    round_keys: &mut [__m512i; MOST_ROUND_KEYS],
) {
    let [low, high] = lanes_of(keys);
    match size {
        AesKeySize::Aes128 => round_keys[..11].copy_from_slice(&expand_128_lanes(low)),
        AesKeySize::Aes192 => round_keys[..13].copy_from_slice(&expand_192_lanes(low, high)),
        AesKeySize::Aes256 => round_keys[..15].copy_from_slice(&expand_256_lanes(low, high)),
    }
}

/// Expands raw keys, four to a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn expand(size: AesKeySize, keys: &[RawKey; AHEAD], expanded: &mut [Expanded; AHEAD]) {
    let rounds = rounds(size);
    let (keys, _) = keys.as_chunks::<4>();
    let (expanded, _) = expanded.as_chunks_mut::<4>();
    let mut blocks = [_mm512_setzero_si512(); 1 + MOST_ROUND_KEYS];
    for (keys, expanded) in keys.iter().zip(expanded) {
        let [hash_key, lanes @ ..] = &mut blocks;
        round_keys(size, keys, lanes);
        let mut zero = lanes[0];
        for key in &lanes[1..rounds] {
            zero = _mm512_aesenc_epi128(zero, *key);
        }
        zero = _mm512_aesenclast_epi128(zero, lanes[rounds]);
        *hash_key = hash_keys(zero);
        for (four, blocks) in blocks.as_chunks::<4>().0.iter().enumerate() {
            if 4 * four <= rounds + 1 {
                for (key, blocks) in expanded.iter_mut().zip(transpose(*blocks)) {
                    let at = &mut key.0[4 * four..4 * four + 4];
                    // SAFETY: four blocks are writable.
                    unsafe { _mm512_storeu_si512(at.as_mut_ptr().cast(), blocks) };
                }
            }
        }
    }
    wipe_vectors(&mut blocks);
}

/// Fills `table` with powers of `h`, at least up to number `most`.
///
/// ```text
/// table    H³³ │ H³² … H¹⁷   │ H¹⁶ … H⁹        │ H⁸ … H⁵   │ H⁴ H³ H² H │ zeros
///                H¹⁶ · H¹⁶…H   H⁸ · H⁸…H         H⁴ · H⁴…H   H² · H² H
/// ```
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn fill_powers(h: __m128i, most: usize, table: &mut PowerTable) {
    let h = _mm512_broadcast_i32x4(h);
    let squared = square(h);
    let pair = _mm512_mask_mov_epi64(squared, 0b1100, h);
    let pair_above = product(pair, squared);
    // H⁴ H³ from the lower half of one, H² H from the lower half of the other.
    let mut powers = [_mm512_inserti64x4::<1>(pair_above, _mm512_castsi512_si256(pair)); 8];
    store(table, 4, powers[0]);
    let mut known = 1;
    while known < powers.len() && 4 * known < most {
        // The highest power there is times all there are.
        let highest = _mm512_shuffle_i32x4::<0>(powers[known - 1], powers[known - 1]);
        for vector in 0..known {
            powers[known + vector] = product(powers[vector], highest);
            store(table, 4 * (known + vector + 1), powers[known + vector]);
        }
        known *= 2;
    }
    if 4 * known < most {
        let top = product(powers[7], h);
        // SAFETY: the first block is writable.
        unsafe { _mm_storeu_si128(table.0.as_mut_ptr().cast(), _mm512_castsi512_si128(top)) };
    }
}

/// Writes four powers, the first of which is number `highest`.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(table: &mut PowerTable, highest: usize, powers: __m512i) {
    let at = &mut table.0[POWERS - highest..POWERS - highest + 4];
    // SAFETY: four blocks are writable.
    unsafe { _mm512_storeu_si512(at.as_mut_ptr().cast(), powers) };
}
