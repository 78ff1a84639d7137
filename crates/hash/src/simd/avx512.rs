//! Columns of words to vectors of 64-bit lanes, and back.

use std::arch::x86_64::*;

use weir_simd::Lanes;

use crate::across::{Across, GROUP, Group};
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;

/// Keys per vector.
pub(crate) const LANES: usize = 8;

/// Keys hashed at once: two vectors, whose results fill one.
pub(crate) const BLOCK: usize = 2 * LANES;

/// Sixteen words, one per 64-bit lane.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) fn load(words: &[u32]) -> [__m512i; 2] {
    assert!(words.len() == BLOCK);
    // SAFETY: 64 bytes are readable; the load needs no alignment.
    let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
    let halves = [
        _mm512_castsi512_si256(words),
        _mm512_extracti64x4_epi64::<1>(words),
    ];
    [
        _mm512_cvtepu32_epi64(halves[0]),
        _mm512_cvtepu32_epi64(halves[1]),
    ]
}

/// Hashes keys block by block and row by row, and hands out the block before
/// meanwhile:
///
/// ```text
/// block    row 0                  row 1                  …
///   0      hash                   hash
///   1      hash, hand out 0       hash, hand out 0
///   …
/// ```
///
/// `prepare` makes of a block, from the key with the given number, what all rows
/// need of it, `hash` of that the buckets under a row, in 32-bit lanes. `out` has the
/// shape of the result.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) fn buckets_to<X, R>(
    keys: &KeyColumns,
    rows: &[R],
    out: &mut Buckets,
    sink: &mut impl BucketSink,
    prepare: impl Fn(usize) -> X,
    hash: impl Fn(&R, &X) -> __m512i,
) {
    let (len, stride) = (keys.len(), keys.padded_len());
    let out = out.padded_rows();
    if keys.is_empty() {
        return;
    }
    // One round more than there are blocks hands out the last one.
    let mut prepared = None;
    for first in (0..=stride).step_by(BLOCK) {
        if first < stride {
            prepared = Some(prepare(first));
        }
        for (number, row) in rows.iter().enumerate() {
            let out = &mut out[number * stride..][..stride];
            if let Some(x) = &prepared
                && first < stride
            {
                store(&mut out[first..first + BLOCK], hash(row, x));
            }
            if let Some(before) = first.checked_sub(BLOCK) {
                sink.take(number, before, &out[before..first.min(len)]);
            }
        }
    }
}

/// One key through all functions, eight at a time, as far as `out` goes: `hash` makes of
/// the parameters of eight functions their buckets, in 64-bit lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) fn buckets_across<const PARAMETERS: usize>(
    across: &Across<PARAMETERS>,
    out: &mut [u32],
    hash: impl Fn(&Group<PARAMETERS>) -> __m512i,
) {
    for (group, out) in across.groups().iter().zip(out.chunks_mut(GROUP)) {
        let buckets = _mm512_cvtepi64_epi32(hash(group));
        let there_are = ((1u32 << out.len()) - 1) as __mmask8;
        // SAFETY: as many words as the mask has bits are writable; the store needs no
        // alignment.
        unsafe { _mm256_mask_storeu_epi32(out.as_mut_ptr().cast(), there_are, buckets) };
    }
}

/// A parameter of eight functions.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn parameter(lanes: &Lanes<u64, GROUP>) -> __m512i {
    // SAFETY: 64 bytes are readable and aligned to as many.
    unsafe { _mm512_load_si512(lanes.as_ptr().cast()) }
}

/// One number in all 64-bit lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn set1(x: u64) -> __m512i {
    _mm512_set1_epi64(x as i64)
}

/// The low half of each 64-bit lane, those of the first vector first.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn low_halves([front, back]: [__m512i; 2]) -> __m512i {
    let low = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    _mm512_permutex2var_epi32(front, low, back)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(out: &mut [u32], words: __m512i) {
    assert!(out.len() == BLOCK);
    // SAFETY: 64 bytes are writable; the store needs no alignment.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), words) };
}
