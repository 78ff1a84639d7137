//! Transposition of matrices whose rows are vectors.

use std::arch::x86_64::*;

/// Of four vectors with four quarters each: vector q of the result holds quarter q of each.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let even = [
        _mm512_shuffle_i32x4::<0x88>(a, b),
        _mm512_shuffle_i32x4::<0x88>(c, d),
    ];
    let odd = [
        _mm512_shuffle_i32x4::<0xdd>(a, b),
        _mm512_shuffle_i32x4::<0xdd>(c, d),
    ];
    [
        _mm512_shuffle_i32x4::<0x88>(even[0], even[1]),
        _mm512_shuffle_i32x4::<0x88>(odd[0], odd[1]),
        _mm512_shuffle_i32x4::<0xdd>(even[0], even[1]),
        _mm512_shuffle_i32x4::<0xdd>(odd[0], odd[1]),
    ]
}

/// Of words in four vectors: vector m of the result holds, in each quarter, word m of that
/// quarter of each.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn words([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab_low, cd_low),
        _mm512_unpackhi_epi64(ab_low, cd_low),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Of eight vectors of eight words of 64 bits: vector i of the result holds word i of each.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn eight(rows: [__m512i; 8]) -> [__m512i; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let even = quarters([
        _mm512_unpacklo_epi64(a, b),
        _mm512_unpacklo_epi64(c, d),
        _mm512_unpacklo_epi64(e, f),
        _mm512_unpacklo_epi64(g, h),
    ]);
    let odd = quarters([
        _mm512_unpackhi_epi64(a, b),
        _mm512_unpackhi_epi64(c, d),
        _mm512_unpackhi_epi64(e, f),
        _mm512_unpackhi_epi64(g, h),
    ]);
    [
        even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3],
    ]
}
