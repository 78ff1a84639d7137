//! AVX-512 IFMA: eight keys per vector, W + 1 multiply-adds per row.
//!
//! ```text
//! lane      0      1    …    7
//! x_j      k0_j   k1_j  …   k7_j     32-bit word j, zero-extended
//! h        b + Σ a_j x_j             vpmadd52luq: low 52 bits of each product
//! bucket   ⌊h·w / 2⁵²⌋               vpmadd52huq reads the low 52 bits of h,
//!                                    so the modulus is free
//! ```
//!
//! Rows run innermost: a key's words are widened once and stay in registers,
//! the parameters are broadcast from memory as operands.

use std::arch::x86_64::*;

use super::super::{Ms52, Row};
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::simd::avx512::{self, BLOCK, load, low_halves, parameter, set1};
use crate::simd::{for_words, words_to_read};

/// `out` has the shape of the result.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn buckets_to(
    family: &Ms52,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    for_words!(words_to_read(family, keys), kernel, family, keys, out, sink)
}

#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn kernel<const W: usize>(
    family: &Ms52,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    let columns: [&[u32]; W] = std::array::from_fn(|word| keys.padded_column(word));
    let width = _mm512_set1_epi64(i64::from(family.width));
    let words = |first: usize| {
        let mut x = [[_mm512_setzero_si512(); 2]; W];
        for (x, column) in x.iter_mut().zip(columns) {
            *x = load(&column[first..first + BLOCK]);
        }
        x
    };
    let hash = |row: &Row, x: &[[__m512i; 2]; W]| {
        let mut h = [_mm512_set1_epi64(row.addend as i64); 2];
        for (x, a) in x.iter().zip(&row.multipliers) {
            let a = _mm512_set1_epi64(*a as i64);
            for (h, x) in h.iter_mut().zip(x) {
                *h = _mm512_madd52lo_epu64(*h, a, *x);
            }
        }
        low_halves(h.map(|h| _mm512_madd52hi_epu64(_mm512_setzero_si512(), h, width)))
    };
    avx512::buckets_to(keys, &family.rows, out, sink, words, hash);
}

/// One key through all functions: lanes are functions.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn buckets_across(family: &Ms52, key: &[u32], out: &mut [u32]) {
    let key = &key[..family.words.min(key.len())];
    let width = set1(family.width.into());
    avx512::buckets_across(&family.across, out, |[addend, multipliers @ ..]| {
        let mut h = parameter(addend);
        for (x, a) in key.iter().zip(multipliers) {
            h = _mm512_madd52lo_epu64(h, parameter(a), set1((*x).into()));
        }
        _mm512_madd52hi_epu64(_mm512_setzero_si512(), h, width)
    });
}
