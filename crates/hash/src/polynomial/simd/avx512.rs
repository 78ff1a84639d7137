//! AVX-512 IFMA: eight keys per vector, Horner's rule with one exact reduction per
//! degree: seven multiply-adds, or three where a key is one word of 32 bits.

use std::arch::x86_64::*;

use super::super::Polynomial;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::simd::avx512::{self, BLOCK, load, low_halves, parameter, set1};
use crate::simd::mersenne61::{self, Factor, Sum};
use crate::simd::words_to_read;

/// `out` has the shape of the result.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn buckets_to<const K: usize>(
    family: &Polynomial<K>,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    let words = words_to_read(family, keys);
    let width = set1(family.width.into());
    let word = |word, first| load(&keys.padded_column(word)[first..first + BLOCK]);
    if words == 1 {
        let hash = |row: &[u64; K], x: &[__m512i; 2]| {
            let mut h = [set1(row[K - 1]); 2];
            for c in row[..K - 1].iter().rev() {
                for (h, x) in h.iter_mut().zip(x) {
                    *h = Sum::new(set1(*c)).add_word(Factor::new(*h), *x).reduce();
                }
            }
            low_halves([
                mersenne61::scale(h[0], width),
                mersenne61::scale(h[1], width),
            ])
        };
        avx512::buckets_to(keys, &family.rows, out, sink, |first| word(0, first), hash);
        return;
    }
    let number = |first| {
        let [front, back] = word(0, first);
        let mut sum = [Sum::new(front), Sum::new(back)];
        for (number, a) in (1..words).zip(&family.multipliers) {
            let (a, x) = (Factor::set1(*a), word(number, first));
            for (sum, x) in sum.iter_mut().zip(x) {
                *sum = sum.add_word(a, x);
            }
        }
        [Factor::new(sum[0].reduce()), Factor::new(sum[1].reduce())]
    };
    let hash = |row: &[u64; K], x: &[Factor; 2]| {
        let mut h = [set1(row[K - 1]); 2];
        for c in row[..K - 1].iter().rev() {
            for (h, x) in h.iter_mut().zip(x) {
                *h = Sum::new(set1(*c)).add(Factor::new(*h), *x).reduce();
            }
        }
        low_halves([
            mersenne61::scale(h[0], width),
            mersenne61::scale(h[1], width),
        ])
    };
    avx512::buckets_to(keys, &family.rows, out, sink, number, hash);
}

/// One key through all functions: lanes are functions.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn buckets_across<const K: usize>(family: &Polynomial<K>, key: &[u32], out: &mut [u32]) {
    let x = Factor::set1(family.number(key));
    let width = set1(family.width.into());
    avx512::buckets_across(&family.across, out, |coefficients| {
        let mut h = parameter(&coefficients[K - 1]);
        for c in coefficients[..K - 1].iter().rev() {
            h = Sum::new(parameter(c)).add(Factor::new(h), x).reduce();
        }
        mersenne61::scale(h, width)
    });
}
