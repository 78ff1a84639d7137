//! Columns of words to vectors of 64-bit lanes, and back.

use std::arch::x86_64::*;

/// Keys per vector.
pub(crate) const LANES: usize = 4;

/// Four words, one per 64-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load(words: &[u32]) -> __m256i {
    assert!(words.len() == LANES);
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    let words = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
    _mm256_cvtepu32_epi64(words)
}

/// One number in all 64-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn set1(x: u64) -> __m256i {
    _mm256_set1_epi64x(x as i64)
}

/// The low half of each 64-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store(out: &mut [u32], lanes: __m256i) {
    assert!(out.len() == LANES);
    let order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    let low = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(lanes, order));
    // SAFETY: 16 bytes are writable; the store needs no alignment.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), low) };
}
