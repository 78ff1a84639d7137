//! AVX-512 IFMA: eight keys per vector.
//!
//! Half-words take a multiply-add per digit, whose product of 47 bits is whole in the
//! low 52; words take three ([`mersenne61`]). What rows share, which is splitting a key
//! into digits, is done once per key.

use std::arch::x86_64::*;

use super::super::{H1HalfWords, H1Words, Row};
use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::field::Mersenne31;
use crate::simd::avx512::{self, BLOCK, load, low_halves, parameter, set1};
use crate::simd::mersenne61::{self, Factor, Sum};
use crate::simd::{for_words, words_to_read};

/// `out` has the shape of the result.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn half_words_to(
    family: &H1HalfWords,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    for_words!(
        words_to_read(family, keys),
        half_words_kernel,
        family,
        keys,
        out,
        sink
    )
}

#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn half_words_kernel<const W: usize>(
    family: &H1HalfWords,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    let digits = |first| {
        let mut digits = [[[_mm512_setzero_si512(); 2]; 2]; W];
        for (digits, words) in digits.iter_mut().zip(words::<W>(keys, first)) {
            for (half, x) in words.into_iter().enumerate() {
                digits[0][half] = _mm512_and_si512(x, set1(0xffff));
                digits[1][half] = _mm512_srli_epi64::<16>(x);
            }
        }
        digits
    };
    let hash = |row: &Row<{ 2 * MAX_KEY_WORDS }>, digits: &[[[__m512i; 2]; 2]; W]| {
        // Twenty products below 2⁴⁷ and an addend: less than 2⁵².
        let mut sum = [set1(row.addend); 2];
        for (x, a) in digits.as_flattened().iter().zip(&row.multipliers) {
            for (sum, x) in sum.iter_mut().zip(x) {
                *sum = _mm512_madd52lo_epu64(*sum, set1(*a), *x);
            }
        }
        low_halves([
            half_words_bucket(sum[0], family.width),
            half_words_bucket(sum[1], family.width),
        ])
    };
    avx512::buckets_to(keys, &family.rows, out, sink, digits, hash);
}

/// One key through all functions: lanes are functions.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn half_words_across(family: &H1HalfWords, key: &[u32], out: &mut [u32]) {
    let key = &key[..family.words.min(key.len())];
    let digits = || key.iter().flat_map(|x| [x & 0xffff, x >> 16]);
    avx512::buckets_across(&family.across, out, |[addend, multipliers @ ..]| {
        let mut sum = parameter(addend);
        for (x, a) in digits().zip(multipliers) {
            sum = _mm512_madd52lo_epu64(sum, parameter(a), set1(x.into()));
        }
        half_words_bucket(sum, family.width)
    });
}

/// The bucket of a sum that is less than 2⁵².
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn half_words_bucket(sum: __m512i, width: u32) -> __m512i {
    let p = set1(Mersenne31::P);
    // Less than 2³¹ + 2²¹, then below p.
    let t = _mm512_add_epi64(_mm512_and_si512(sum, p), _mm512_srli_epi64::<31>(sum));
    let t = _mm512_min_epu64(t, _mm512_sub_epi64(t, p));
    _mm512_madd52hi_epu64(_mm512_setzero_si512(), t, set1(u64::from(width) << 21))
}

/// `out` has the shape of the result.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn words_to(
    family: &H1Words,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    for_words!(
        words_to_read(family, keys),
        words_kernel,
        family,
        keys,
        out,
        sink
    )
}

#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn words_kernel<const W: usize>(
    family: &H1Words,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    let width = set1(family.width.into());
    let hash = |row: &Row<MAX_KEY_WORDS>, x: &[[__m512i; 2]; W]| {
        let mut sum = [Sum::new(set1(row.addend)); 2];
        for (x, a) in x.iter().zip(&row.multipliers) {
            let a = Factor::set1(*a);
            for (sum, x) in sum.iter_mut().zip(x) {
                *sum = sum.add_word(a, *x);
            }
        }
        low_halves(sum.map(|sum| mersenne61::scale(sum.reduce(), width)))
    };
    let words = |first| words::<W>(keys, first);
    avx512::buckets_to(keys, &family.rows, out, sink, words, hash);
}

/// One key through all functions: lanes are functions.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn words_across(family: &H1Words, key: &[u32], out: &mut [u32]) {
    let key = &key[..family.words.min(key.len())];
    let width = set1(family.width.into());
    avx512::buckets_across(&family.across, out, |[addend, multipliers @ ..]| {
        let mut sum = Sum::new(parameter(addend));
        for (x, a) in key.iter().zip(multipliers) {
            sum = sum.add_word(Factor::new(parameter(a)), set1((*x).into()));
        }
        mersenne61::scale(sum.reduce(), width)
    });
}

/// The words of sixteen keys from number `first` on.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn words<const W: usize>(keys: &KeyColumns, first: usize) -> [[__m512i; 2]; W] {
    let mut x = [[_mm512_setzero_si512(); 2]; W];
    for (word, x) in x.iter_mut().enumerate() {
        *x = load(&keys.padded_column(word)[first..first + BLOCK]);
    }
    x
}
