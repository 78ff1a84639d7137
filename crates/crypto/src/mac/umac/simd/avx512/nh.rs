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
use crate::mac::message::LANES;

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
        let (a, b) = unsafe { (_mm512_loadu_si512(at.cast()), _mm512_loadu_si512(at.add(64).cast())) };
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
    std::array::from_fn(|s| {
        let low = _mm256_add_epi64(_mm512_castsi512_si256(sums[s]), end[s]);
        _mm256_add_epi64(low, _mm512_extracti64x4_epi64::<1>(sums[s]))
    })
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
    for s in 0..S {
        let at = |index: usize| {
            // SAFETY: group is at most 28 and index at most 4, so that the lanes
            // end at 28 + 2 + 4 of 34 even ones, and 28 + 1 + 4 of 33 odd ones.
            unsafe { _mm512_loadu_si512(lanes(key, group, index).cast()) }
        };
        let x = _mm512_add_epi32(p, at(s));
        let y = _mm512_add_epi32(q, at(s + 1));
        let even = _mm512_maskz_mul_epu32(present, x, y);
        let (x, y) = (_mm512_srli_epi64::<32>(x), _mm512_srli_epi64::<32>(y));
        let odd = _mm512_maskz_mul_epu32(present, x, y);
        sums[s] = _mm512_add_epi64(sums[s], _mm512_add_epi64(even, odd));
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
    std::array::from_fn(|s| {
        let at = |index: usize| {
            // SAFETY: as in `step`, of which these are the first two groups.
            unsafe { _mm256_loadu_si256(lanes(key, group, index).cast()) }
        };
        let x = _mm256_add_epi32(p, at(s));
        let y = _mm256_add_epi32(q, at(s + 1));
        let even = _mm256_maskz_mul_epu32(present, x, y);
        let (x, y) = (_mm256_srli_epi64::<32>(x), _mm256_srli_epi64::<32>(y));
        _mm256_add_epi64(even, _mm256_maskz_mul_epu32(present, x, y))
    })
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

/// Sums of four partial sums each, a lane for each message.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn sum_up(sums: &[__m256i; LANES]) -> __m512i {
    let low = sum_four([sums[0], sums[1], sums[2], sums[3]]);
    let high = sum_four([sums[4], sums[5], sums[6], sums[7]]);
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// ```text
/// a0 a1 a2 a3                    a0+a1  b0+b1  a2+a3  b2+b3
/// b0 b1 b2 b3    ─► pairs ─►                                     ─► halves ─► a b c d
/// c0 c1 c2 c3                    c0+c1  d0+d1  c2+c3  d2+d3
/// d0 d1 d2 d3
/// ```
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn sum_four([a, b, c, d]: [__m256i; 4]) -> __m256i {
    let pairs = |a, b| _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (ab, cd) = (pairs(a, b), pairs(c, d));
    let low = _mm256_permute2x128_si256::<0x20>(ab, cd);
    _mm256_add_epi64(low, _mm256_permute2x128_si256::<0x31>(ab, cd))
}
