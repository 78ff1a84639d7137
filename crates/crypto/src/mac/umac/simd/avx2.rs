//! NH of one message: two groups of a block at a time.
//!
//! ```text
//! message   p0 q0 │ p1 q1   ─►   p0 p1 │ q0 q1
//! stream s  (p + key s)·(q + key s + 1), even words and odd words
//! ```
//!
//! with keys as in the kernel of AVX-512.

use std::arch::x86_64::*;

use super::super::key::UmacKey;

/// Bytes of two groups.
const STEP_BYTES: usize = 64;

/// Bytes of a group.
const GROUP_BYTES: usize = 32;

/// Steps of a block.
const MOST_STEPS: usize = 16;

/// NH of a block without its length, of the streams that the key has.
#[target_feature(enable = "avx2")]
pub(super) fn nh(key: &UmacKey, block: &[u8]) -> [u64; 4] {
    match key.words.count() {
        1 => streams::<1>(key, block),
        2 => streams::<2>(key, block),
        3 => streams::<3>(key, block),
        _ => streams::<4>(key, block),
    }
}

#[target_feature(enable = "avx2")]
fn streams<const S: usize>(key: &UmacKey, block: &[u8]) -> [u64; 4] {
    let mut sums = [_mm256_setzero_si256(); S];
    let (steps, rest) = block.as_chunks::<STEP_BYTES>();
    let steps = &steps[..steps.len().min(MOST_STEPS)];
    for (index, bytes) in steps.iter().enumerate() {
        step(&mut sums, bytes, key, 2 * index, _mm256_set1_epi64x(-1));
    }
    // An empty block is one group of zeros.
    if !rest.is_empty() || block.is_empty() {
        let mut padded = [0; STEP_BYTES];
        padded[..rest.len()].copy_from_slice(rest);
        let second = if rest.len() > GROUP_BYTES { -1 } else { 0 };
        let present = _mm256_setr_epi64x(-1, -1, second, second);
        step(&mut sums, &padded, key, 2 * steps.len(), present);
    }
    let mut values = [0; 4];
    for (value, sum) in values.iter_mut().zip(sums) {
        let sum = _mm_add_epi64(
            _mm256_castsi256_si128(sum),
            _mm256_extracti128_si256::<1>(sum),
        );
        let sum = _mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum));
        *value = _mm_cvtsi128_si64(sum) as u64;
    }
    values
}

/// Adds the products of two groups from number `group` on, those that are `present`.
#[inline]
#[target_feature(enable = "avx2")]
fn step<const S: usize>(
    sums: &mut [__m256i; S],
    bytes: &[u8; STEP_BYTES],
    key: &UmacKey,
    group: usize,
    present: __m256i,
) {
    let at = bytes.as_ptr();
    // SAFETY: 64 bytes are readable.
    let (first, second) = unsafe {
        (
            _mm256_loadu_si256(at.cast()),
            _mm256_loadu_si256(at.add(GROUP_BYTES).cast()),
        )
    };
    let p = _mm256_permute2x128_si256::<0x20>(first, second);
    let q = _mm256_permute2x128_si256::<0x31>(first, second);
    for (s, sum) in sums.iter_mut().enumerate() {
        let x = _mm256_add_epi32(p, lanes(key, group, s));
        let y = _mm256_add_epi32(q, lanes(key, group, s + 1));
        let even = _mm256_mul_epu32(x, y);
        let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(x), _mm256_srli_epi64::<32>(y));
        let products = _mm256_and_si256(_mm256_add_epi64(even, odd), present);
        *sum = _mm256_add_epi64(*sum, products);
    }
}

/// Key `index` of two groups: in the order `even`, `odd`, and again one lane further.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes(key: &UmacKey, group: usize, index: usize) -> __m256i {
    let lanes = match index % 2 {
        0 => &key.even,
        _ => &key.odd,
    };
    let lanes = &lanes[group + index / 2..][..2];
    // SAFETY: two lanes of 16 bytes are readable.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}
