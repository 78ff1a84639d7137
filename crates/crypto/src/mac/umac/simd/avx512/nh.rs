//! L1: NH of a block.
//!
//! A step takes 128 bytes, four groups of an even lane p and an odd lane q:
//!
//! ```text
//! message   p0 q0 p1 q1 │ p2 q2 p3 q3   ─►   p0 p1 p2 p3 │ q0 q1 q2 q3
//! stream s  (p + key s)·(q + key s + 1), even words and odd words
//! ```
//!
//! where keys 0, 1, 2, … are `even`, `odd`, `even` one lane on, and so on: each is
//! loaded once for two streams. That is 8 operations of vectors per stream and 2.

use std::arch::x86_64::*;

use super::super::super::key::UmacKey;
use crate::mac::simd::sums;

/// Bytes of a step.
const STEP_BYTES: usize = 128;

/// Bytes of the longest message that half a step takes.
pub(super) const SHORT_BYTES: usize = 64;

/// Partial sums of a block of at most 1024 bytes, under each stream's key.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
pub(super) fn block<const S: usize>(block: &[u8], key: &UmacKey) -> [__m256i; S] {
    let mut sums = [_mm512_setzero_si512(); S];
    let (steps, rest) = block.as_chunks::<STEP_BYTES>();
    let mut group = 0;
    for bytes in steps.iter().take(8) {
        let at = bytes.as_ptr();
        // SAFETY: 128 bytes are readable.
        let (a, b) = unsafe {
            (
                _mm512_loadu_si512(at.cast()),
                _mm512_loadu_si512(at.add(64).cast()),
            )
        };
        step(&mut sums, a, b, key, group, 0xff);
        group += 4;
    }
    let group = group.min(MOST_GROUP);
    let end = match rest.len() {
        0 if group > 0 => [_mm256_setzero_si256(); S],
        0..=SHORT_BYTES => short(rest, key, group),
        _ => {
            let (a, b) = rest.split_at(64);
            let groups = rest.len().div_ceil(32);
            let present = ((1u32 << (2 * groups)) - 1) as u8;
            step(&mut sums, load(a), load(b), key, group, present);
            [_mm256_setzero_si256(); S]
        }
    };
    let mut folded = end;
    for s in 0..S {
        folded[s] = _mm256_add_epi64(sums::fold(sums[s]), end[s]);
    }
    folded
}

/// The last group that a step may begin with.
const MOST_GROUP: usize = 28;

/// Adds the products of 128 bytes, those of lanes that are `present`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn step<const S: usize>(
    sums: &mut [__m512i; S],
    a: __m512i,
    b: __m512i,
    key: &UmacKey,
    group: usize,
    present: __mmask8,
) {
    let p = _mm512_shuffle_i64x2::<0x88>(a, b);
    let q = _mm512_shuffle_i64x2::<0xdd>(a, b);
    for (s, sum) in sums.iter_mut().enumerate() {
        let at = |index: usize| {
            // SAFETY: group is at most 28 and index at most 4, so that the lanes
            // end at 28 + 2 + 4, of 36.
            unsafe { _mm512_loadu_si512(lanes(key, group, index).cast()) }
        };
        let x = _mm512_add_epi32(p, at(s));
        let y = _mm512_add_epi32(q, at(s + 1));
        let even = _mm512_maskz_mul_epu32(present, x, y);
        let (x, y) = (_mm512_srli_epi64::<32>(x), _mm512_srli_epi64::<32>(y));
        let odd = _mm512_maskz_mul_epu32(present, x, y);
        *sum = _mm512_add_epi64(*sum, _mm512_add_epi64(even, odd));
    }
}

/// Partial sums of at most 64 bytes, the last of a block that begin with a group.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
pub(super) fn short<const S: usize>(bytes: &[u8], key: &UmacKey, group: usize) -> [__m256i; S] {
    let group = group.min(MOST_GROUP);
    let both = load(bytes);
    let both = _mm512_shuffle_i64x2::<0xd8>(both, both);
    let p = _mm512_castsi512_si256(both);
    let q = _mm512_extracti64x4_epi64::<1>(both);
    let present = if bytes.len() > 32 { 0x0f } else { 0x03 };
    let mut sums = [_mm256_setzero_si256(); S];
    for (s, sum) in sums.iter_mut().enumerate() {
        let at = |index: usize| {
            // SAFETY: group is at most 28 and index at most 4, so that two lanes end at
            // 28 + 2 + 2, of 36.
            unsafe { _mm256_loadu_si256(lanes(key, group, index).cast()) }
        };
        let x = _mm256_add_epi32(p, at(s));
        let y = _mm256_add_epi32(q, at(s + 1));
        let even = _mm256_maskz_mul_epu32(present, x, y);
        let (x, y) = (_mm256_srli_epi64::<32>(x), _mm256_srli_epi64::<32>(y));
        *sum = _mm256_add_epi64(even, _mm256_maskz_mul_epu32(present, x, y));
    }
    sums
}

/// Where key `index` of a group begins: in the order `even`, `odd`, and again one
/// lane further.
#[inline(always)]
fn lanes(key: &UmacKey, group: usize, index: usize) -> *const [u32; 4] {
    let lanes = match index % 2 {
        0 => key.even.as_ptr(),
        _ => key.odd.as_ptr(),
    };
    lanes.wrapping_add(group + index / 2)
}

/// At most 64 bytes, and zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn load(bytes: &[u8]) -> __m512i {
    let mask = _bzhi_u64(u64::MAX, bytes.len().min(64) as u32);
    // SAFETY: the mask covers no more than the bytes.
    unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}
