//! Sums of partial sums, from a vector for each message to a lane for each.

use std::arch::x86_64::*;

/// Both halves of a vector of partial sums, added.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(in crate::mac) fn fold(sums: __m512i) -> __m256i {
    let high = _mm512_extracti64x4_epi64::<1>(sums);
    _mm256_add_epi64(_mm512_castsi512_si256(sums), high)
}

/// Eight sums of four partial sums each.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(in crate::mac) fn eight(sums: &[__m256i; 8]) -> __m512i {
    let low = four([sums[0], sums[1], sums[2], sums[3]]);
    let high = four([sums[4], sums[5], sums[6], sums[7]]);
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
fn four([a, b, c, d]: [__m256i; 4]) -> __m256i {
    let (ab, cd) = (pairs(a, b), pairs(c, d));
    let low = _mm256_permute2x128_si256::<0x20>(ab, cd);
    _mm256_add_epi64(low, _mm256_permute2x128_si256::<0x31>(ab, cd))
}

#[inline]
#[target_feature(enable = "avx2")]
fn pairs(a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
}
