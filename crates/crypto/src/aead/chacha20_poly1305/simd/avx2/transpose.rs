//! Transposition of matrices whose rows are vectors.

use std::arch::x86_64::*;

/// Of eight vectors of eight words of 32 bits: vector i of the result holds word i of each.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn words(rows: [__m256i; 8]) -> [__m256i; 8] {
    let half = |at: usize| {
        let (a, b, c, d) = (rows[at], rows[at + 1], rows[at + 2], rows[at + 3]);
        let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
        [
            _mm256_unpacklo_epi64(ab_low, cd_low),
            _mm256_unpackhi_epi64(ab_low, cd_low),
            _mm256_unpacklo_epi64(ab_high, cd_high),
            _mm256_unpackhi_epi64(ab_high, cd_high),
        ]
    };
    let (low, high) = (half(0), half(4));
    std::array::from_fn(|word| match word {
        0..4 => _mm256_permute2x128_si256::<0x20>(low[word], high[word]),
        _ => _mm256_permute2x128_si256::<0x31>(low[word - 4], high[word - 4]),
    })
}

/// Of four vectors of four words of 64 bits: vector i of the result holds word i of each.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn double_words([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab_low, ab_high) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
    [
        _mm256_permute2x128_si256::<0x20>(ab_low, cd_low),
        _mm256_permute2x128_si256::<0x20>(ab_high, cd_high),
        _mm256_permute2x128_si256::<0x31>(ab_low, cd_low),
        _mm256_permute2x128_si256::<0x31>(ab_high, cd_high),
    ]
}
