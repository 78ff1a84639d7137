//! L2 and L3, a lane for each message.

use std::arch::x86_64::*;

use weir_hash::prime::{P36, P64};

use super::super::super::key::UmacKey;
use super::super::super::scalar::ESCAPED;
use crate::cipher::Block;
use crate::mac::message::LANES;

/// L2's keys of each stream.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn points<const S: usize>(keys: &[&UmacKey; LANES]) -> [__m512i; S] {
    std::array::from_fn(|s| {
        let lanes: [u64; LANES] = std::array::from_fn(|lane| keys[lane].points[s]);
        // SAFETY: 64 bytes are readable.
        unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
    })
}

/// The values after the first block of each message: its number, where the
/// message is to be kept as it is, else the first step of the polynomial.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn first<const S: usize>(
    points: &[__m512i; S],
    numbers: &[__m512i; S],
    keep: __mmask8,
) -> [__m512i; S] {
    let mut values = [_mm512_set1_epi64(1); S];
    poly(points, &mut values, numbers, !keep);
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = _mm512_mask_mov_epi64(*value, keep, *number);
    }
    values
}

/// A step of the polynomial for the lanes that are `live`. Numbers that must
/// escape take two steps, which are computed for all of them.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn poly<const S: usize>(
    points: &[__m512i; S],
    values: &mut [__m512i; S],
    numbers: &[__m512i; S],
    live: __mmask8,
) {
    let marker = _mm512_set1_epi64((P64 - 1) as i64);
    let offset = _mm512_set1_epi64(P64.wrapping_neg() as i64);
    for s in 0..S {
        let number = numbers[s];
        let escapes = _mm512_cmpge_epu64_mask(number, _mm512_set1_epi64(ESCAPED as i64));
        let marked = add(multiply(points[s], values[s]), marker);
        let value = _mm512_mask_mov_epi64(values[s], escapes, marked);
        let number = _mm512_mask_sub_epi64(number, escapes, number, offset);
        let value = add(multiply(points[s], value), number);
        values[s] = _mm512_mask_mov_epi64(values[s], live, value);
    }
}

/// The product of a key of L2 and any number, modulo 2⁶⁴ - 59 but below 2⁶⁴.
///
/// With the key k₁·2³² + k₀ of halves below 2²⁵ and the number v₁·2³² + v₀,
///
/// ```text
/// x = k₁v₀ + k₀v₁       below 2⁵⁸
/// h = k₁v₁ + x / 2³²    below 2⁵⁷·(1 + 2⁻³¹)
/// kv = h·2⁶⁴ + (x mod 2³²)·2³² + k₀v₀ ≡ 59h + k₀v₀ + (x mod 2³²)·2³²
/// ```
///
/// of which the last sum alone may pass 2⁶⁴, once.
#[inline]
#[target_feature(enable = "avx512f")]
fn multiply(key: __m512i, value: __m512i) -> __m512i {
    let key_high = _mm512_srli_epi64::<32>(key);
    let value_high = _mm512_srli_epi64::<32>(value);
    let x = _mm512_add_epi64(
        _mm512_mul_epu32(key_high, value),
        _mm512_mul_epu32(key, value_high),
    );
    let h = _mm512_add_epi64(
        _mm512_mul_epu32(key_high, value_high),
        _mm512_srli_epi64::<32>(x),
    );
    // 59 = 64 - 5.
    let h5 = _mm512_add_epi64(h, _mm512_slli_epi64::<2>(h));
    let h59 = _mm512_sub_epi64(_mm512_slli_epi64::<6>(h), h5);
    let low = _mm512_add_epi64(h59, _mm512_mul_epu32(key, value));
    add(low, _mm512_slli_epi64::<32>(x))
}

/// A sum modulo 2⁶⁴ - 59, below 2⁶⁴: what is carried is 59. One of the two is
/// below 2⁶⁴ - 59, so that adding 59 carries nothing.
#[inline]
#[target_feature(enable = "avx512f")]
fn add(a: __m512i, b: __m512i) -> __m512i {
    let sum = _mm512_add_epi64(a, b);
    let carried = _mm512_cmplt_epu64_mask(sum, b);
    _mm512_mask_add_epi64(sum, carried, sum, _mm512_set1_epi64(59))
}

/// Makes residues of the lanes that were hashed by the polynomial.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn reduce<const S: usize>(values: &mut [__m512i; S], hashed: __mmask8) {
    for value in values {
        *value = at_most_once(*value, hashed, P64);
    }
}

/// The lanes, less `prime` where they reach it.
#[inline]
#[target_feature(enable = "avx512f")]
fn at_most_once(value: __m512i, lanes: __mmask8, prime: u64) -> __m512i {
    let less = _mm512_sub_epi64(value, _mm512_set1_epi64(prime as i64));
    _mm512_mask_min_epu64(value, lanes, value, less)
}

/// L3 of each message: the words of all streams, in the byte order of a tag, and
/// zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
pub(super) fn l3<const S: usize>(
    keys: &[&UmacKey; LANES],
    values: &[__m512i; S],
) -> [Block; LANES] {
    let mut pairs = [_mm512_setzero_si512(); 2];
    for pair in 0..S.div_ceil(2) {
        let first = values[2 * pair];
        let second = values.get(2 * pair + 1).copied().unwrap_or(first);
        pairs[pair] = l3_pair(keys, pair, first, second);
    }
    // Messages 0, 2, 4, 6 and 1, 3, 5, 7.
    let even = _mm512_unpacklo_epi64(pairs[0], pairs[1]);
    let odd = _mm512_unpackhi_epi64(pairs[0], pairs[1]);
    let mut tags = [[0; 16]; LANES];
    let (low, high) = tags.split_at_mut(4);
    let order = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    store(low, _mm512_permutex2var_epi64(even, order, odd));
    let order = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    store(high, _mm512_permutex2var_epi64(even, order, odd));
    tags
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(tags: &mut [Block], vector: __m512i) {
    let tags = &mut tags[..4];
    // SAFETY: 64 bytes are writable.
    unsafe { _mm512_storeu_si512(tags.as_mut_ptr().cast(), vector) };
}

/// L3 of two streams, a lane of two words for each message.
///
/// ```text
/// a message's values    v (stream 0)            w (stream 1)
/// digits of 16 bits     v3   v2   v1   v0       w3   w2   w1   w0     a lane each
/// times keys            k0   k1   k2   k3       k4   k5   k6   k7     16 + 36 bits
/// ```
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
fn l3_pair(keys: &[&UmacKey; LANES], pair: usize, first: __m512i, second: __m512i) -> __m512i {
    let values = [
        _mm512_unpacklo_epi64(first, second),
        _mm512_unpackhi_epi64(first, second),
    ];
    // SAFETY: 64 bytes are readable.
    let order = unsafe { _mm512_loadu_si512(DIGITS.as_ptr().cast()) };
    let products: [__m512i; LANES] = std::array::from_fn(|lane| {
        let order = _mm512_add_epi8(order, _mm512_set1_epi8(16 * (lane as i8 / 2)));
        let digits = _mm512_maskz_permutexvar_epi8(LOW_TWO_BYTES, order, values[lane % 2]);
        let key: &[[u64; 4]] = &keys[lane].digits[2 * pair..2 * pair + 2];
        // SAFETY: 64 bytes are readable.
        let key = unsafe { _mm512_loadu_si512(key.as_ptr().cast()) };
        _mm512_madd52lo_epu64(_mm512_setzero_si512(), digits, key)
    });
    let pairs: [__m512i; 4] = std::array::from_fn(|i| {
        let (a, b) = (products[2 * i], products[2 * i + 1]);
        _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))
    });
    let sums: [__m512i; 2] = std::array::from_fn(|i| {
        let (a, b) = (pairs[2 * i], pairs[2 * i + 1]);
        let even = _mm512_shuffle_i64x2::<0x88>(a, b);
        reduce_36(_mm512_add_epi64(even, _mm512_shuffle_i64x2::<0xdd>(a, b)))
    });
    // Lanes are v0 v1 w0 w1 v2 v3 w2 w3 of messages 0 to 3, and so on.
    let order = _mm512_setr_epi32(0, 4, 2, 6, 8, 12, 10, 14, 16, 20, 18, 22, 24, 28, 26, 30);
    let words = _mm512_permutex2var_epi32(sums[0], order, sums[1]);
    let big_endian = _mm512_set4_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
    _mm512_shuffle_epi8(words, big_endian)
}

/// Residues modulo 2³⁶ - 5.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn reduce_36(x: __m512i) -> __m512i {
    let high = _mm512_srli_epi64::<36>(x);
    let low = _mm512_and_si512(x, _mm512_set1_epi64((1 << 36) - 1));
    let five = _mm512_add_epi64(high, _mm512_slli_epi64::<2>(high));
    at_most_once(_mm512_add_epi64(low, five), 0xff, P36)
}

/// Of each lane of 8 bytes, the two that hold a digit.
const LOW_TWO_BYTES: __mmask64 = 0x0303_0303_0303_0303;

/// Where the digits of the first message lie: of two numbers, highest first.
const DIGITS: [u8; 64] = {
    let mut order = [0; 64];
    let mut digit = 0;
    while digit < 8 {
        let at = 8 * (digit / 4) + 6 - 2 * (digit % 4);
        order[8 * digit] = at as u8;
        order[8 * digit + 1] = at as u8 + 1;
        digit += 1;
    }
    order
};
