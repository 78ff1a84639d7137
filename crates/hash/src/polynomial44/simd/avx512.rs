//! AVX-512 IFMA: eight keys per vector, six multiply-adds per row.
//!
//! ```text
//! lane   0       1      …    7
//! x      (x₀ + Σ aᵢxᵢ) mod p         two multiply-adds per further word
//! x²,x³  mod p                       two multiplications per key
//! l, h   Σ low, Σ high halves of cⱼxʲ   three vpmadd52luq, three vpmadd52huq
//! s      (l + 2⁵²h) mod p            2⁵² ≡ 17·2⁸, then 2⁴⁴ ≡ 17
//! bucket ⌊s·w·2⁸ / 2⁵²⌋
//! ```
//!
//! The powers are shared by the rows, so that a row has no reduction inside:
//! two short chains of additions and one exact reduction.

use std::arch::x86_64::*;

use super::super::Poly44;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::field::Prime44;
use crate::simd::avx512::{self, BLOCK, load, low_halves, parameter, set1};
use crate::simd::words_to_read;

/// `out` has the shape of the result.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn buckets_to(
    family: &Poly44,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    let words = words_to_read(family, keys);
    let zero = _mm512_setzero_si512();
    let width = set1(u64::from(family.width) << 8);
    let product = |a: [__m512i; 2], b: [__m512i; 2]| {
        std::array::from_fn(|half| {
            reduce(
                _mm512_madd52lo_epu64(zero, a[half], b[half]),
                _mm512_madd52hi_epu64(zero, a[half], b[half]),
            )
        })
    };
    let powers = |first: usize| {
        let word = |word| load(&keys.padded_column(word)[first..first + BLOCK]);
        let mut x = word(0);
        if words > 1 {
            // At most 10 terms: l < 10·2⁵² + 2³², h < 10·2²⁴.
            let (mut l, mut h) = (x, [zero; 2]);
            for (number, a) in (1..words).zip(&family.multipliers) {
                let (a, x) = (set1(*a), word(number));
                for half in 0..2 {
                    l[half] = _mm512_madd52lo_epu64(l[half], a, x[half]);
                    h[half] = _mm512_madd52hi_epu64(h[half], a, x[half]);
                }
            }
            x = std::array::from_fn(|half| reduce(l[half], h[half]));
        }
        let x2 = product(x, x);
        [x, x2, product(x2, x)]
    };
    let hash = |[c0, c1, c2, c3]: &[u64; 4], [x, x2, x3]: &[[__m512i; 2]; 3]| {
        let (c1, c2, c3) = (set1(*c1), set1(*c2), set1(*c3));
        low_halves(std::array::from_fn(|half| {
            // l < 4·2⁵², h < 3·2³⁶.
            let l = _mm512_madd52lo_epu64(set1(*c0), c1, x[half]);
            let l = _mm512_madd52lo_epu64(l, c2, x2[half]);
            let l = _mm512_madd52lo_epu64(l, c3, x3[half]);
            let h = _mm512_madd52hi_epu64(zero, c1, x[half]);
            let h = _mm512_madd52hi_epu64(h, c2, x2[half]);
            let h = _mm512_madd52hi_epu64(h, c3, x3[half]);
            _mm512_madd52hi_epu64(zero, reduce(l, h), width)
        }))
    };
    avx512::buckets_to(keys, &family.rows, out, sink, powers, hash);
}

/// `l` + 2⁵²`h` mod p, exactly, for `l` < 2⁵⁶ and `h` < 2³⁹: after the first
/// fold less than 2⁵⁶ + 2⁵² is left, after the second less than 2⁴⁴ + 2¹⁷ < 2p.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
fn reduce(l: __m512i, h: __m512i) -> __m512i {
    let t = _mm512_madd52lo_epu64(l, h, set1(17 << 8));
    let low = _mm512_and_si512(t, set1((1 << 44) - 1));
    let t = _mm512_madd52lo_epu64(low, _mm512_srli_epi64::<44>(t), set1(17));
    // Wraps to a huge number, and loses, where t < p.
    _mm512_min_epu64(t, _mm512_sub_epi64(t, set1(Prime44::P)))
}

/// One key through all functions: lanes are functions.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma")]
pub(super) fn buckets_across(family: &Poly44, key: &[u32], out: &mut [u32]) {
    let zero = _mm512_setzero_si512();
    let product = |a, b| {
        reduce(
            _mm512_madd52lo_epu64(zero, a, b),
            _mm512_madd52hi_epu64(zero, a, b),
        )
    };
    let x = set1(family.number(key));
    let x2 = product(x, x);
    let powers = [x, x2, product(x2, x)];
    let width = set1(u64::from(family.width) << 8);
    avx512::buckets_across(&family.across, out, |[c0, coefficients @ ..]| {
        let (mut l, mut h) = (parameter(c0), zero);
        for (c, power) in coefficients.iter().zip(powers) {
            l = _mm512_madd52lo_epu64(l, parameter(c), power);
            h = _mm512_madd52hi_epu64(h, parameter(c), power);
        }
        _mm512_madd52hi_epu64(zero, reduce(l, h), width)
    });
}
