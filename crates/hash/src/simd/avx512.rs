//! Columns of words to vectors of 64-bit lanes, and back.

use std::arch::x86_64::*;

/// Keys per vector.
pub(crate) const LANES: usize = 8;

/// Eight words, one per 64-bit lane.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) fn load(words: &[u32]) -> __m512i {
    assert!(words.len() == LANES);
    // SAFETY: 32 bytes are readable; the load needs no alignment.
    let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
    _mm512_cvtepu32_epi64(words)
}

/// The low half of each 64-bit lane.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) fn store(out: &mut [u32], lanes: __m512i) {
    assert!(out.len() == LANES);
    // SAFETY: 32 bytes are writable; the store needs no alignment.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(lanes)) };
}
