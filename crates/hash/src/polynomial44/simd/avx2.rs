//! AVX2: four keys per vector, 44-bit arithmetic from halves of 22 bits.
//!
//! With a = a₁·2²² + a₀ and b alike, and 2⁴⁴ ≡ 17 (mod p),
//!
//! ```text
//! h = a₁b₁   m = a₁b₀ + a₀b₁   l = a₀b₀        four vpmuludq, sums below 2⁴⁸
//! a·b = h·2⁴⁴ + m·2²² + l ≡ 17·(h + ⌊m / 2²²⌋) + (m mod 2²²)·2²² + l
//! ```
//!
//! and sums of products are reduced once.

use std::arch::x86_64::*;

use super::super::Poly44;
use crate::buckets::Buckets;
use crate::columns::KeyColumns;
use crate::field::Prime44;
use crate::simd::avx2::{LANES, load, set1, store};
use crate::simd::words_to_read;

const HALF: i32 = 22;
const HALF_MASK: u64 = (1 << HALF) - 1;

/// `out` has the shape of the result.
#[target_feature(enable = "avx2")]
pub(super) fn buckets(family: &Poly44, keys: &KeyColumns, out: &mut Buckets) {
    let words = words_to_read(family, keys);
    let stride = keys.padded_len();
    let out = out.padded_rows();
    let width = set1(family.width.into());
    for first in (0..stride).step_by(LANES) {
        let word = |word| load(&keys.padded_column(word)[first..first + LANES]);
        let mut x = word(0);
        if words > 1 {
            // At most 9 products of 22 and 32 bits: sums stay below 2⁵⁸.
            let (mut m, mut l) = (_mm256_setzero_si256(), x);
            for (number, a) in (1..words).zip(&family.multipliers) {
                let (a, x) = (Halves::of(*a), word(number));
                m = _mm256_add_epi64(m, _mm256_mul_epu32(a.high, x));
                l = _mm256_add_epi64(l, _mm256_mul_epu32(a.low, x));
            }
            x = reduce(_mm256_setzero_si256(), m, l);
        }
        let x = Halves::split(x);
        let x2 = Halves::split(sum_of_products(0, [(x, x)]));
        let x3 = Halves::split(sum_of_products(0, [(x2, x)]));
        for ([c0, c1, c2, c3], out) in family.rows.iter().zip(out.chunks_exact_mut(stride)) {
            let (c1, c2, c3) = (Halves::of(*c1), Halves::of(*c2), Halves::of(*c3));
            let h = Halves::split(sum_of_products(*c0, [(c1, x), (c2, x2), (c3, x3)]));
            let low = _mm256_srli_epi64::<HALF>(_mm256_mul_epu32(h.low, width));
            let high = _mm256_mul_epu32(h.high, width);
            let bucket = _mm256_srli_epi64::<HALF>(_mm256_add_epi64(high, low));
            store(&mut out[first..first + LANES], bucket);
        }
    }
}

/// Numbers below 2⁴⁴ in two halves.
#[derive(Clone, Copy)]
struct Halves {
    high: __m256i,
    low: __m256i,
}

impl Halves {
    /// One number in all lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(x: u64) -> Halves {
        Halves {
            high: set1(x >> HALF),
            low: set1(x & HALF_MASK),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn split(x: __m256i) -> Halves {
        Halves {
            high: _mm256_srli_epi64::<HALF>(x),
            low: _mm256_and_si256(x, set1(HALF_MASK)),
        }
    }
}

/// `addend` + Σ a·b mod p, exactly, of up to three products.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_of_products<const N: usize>(addend: u64, products: [(Halves, Halves); N]) -> __m256i {
    let (mut h, mut m, mut l) = (_mm256_setzero_si256(), _mm256_setzero_si256(), set1(addend));
    for (a, b) in products {
        h = _mm256_add_epi64(h, _mm256_mul_epu32(a.high, b.high));
        m = _mm256_add_epi64(m, _mm256_mul_epu32(a.high, b.low));
        m = _mm256_add_epi64(m, _mm256_mul_epu32(a.low, b.high));
        l = _mm256_add_epi64(l, _mm256_mul_epu32(a.low, b.low));
    }
    reduce(h, m, l)
}

/// `h`·2⁴⁴ + `m`·2²² + `l` mod p, exactly, for `h` < 2⁴⁸, `m` and `l` < 2⁵⁸:
/// after the first fold less than 2⁵⁹ is left, after the second less than
/// 2⁴⁴ + 2²⁰ < 2p.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce(h: __m256i, m: __m256i, l: __m256i) -> __m256i {
    let m = (
        _mm256_srli_epi64::<HALF>(m),
        _mm256_and_si256(m, set1(HALF_MASK)),
    );
    let above = times_17(_mm256_add_epi64(h, m.0));
    let t = _mm256_add_epi64(_mm256_add_epi64(l, above), _mm256_slli_epi64::<HALF>(m.1));
    let low = _mm256_and_si256(t, set1((1 << 44) - 1));
    let t = _mm256_add_epi64(low, times_17(_mm256_srli_epi64::<44>(t)));
    let is_above = _mm256_cmpgt_epi64(t, set1(Prime44::P - 1));
    _mm256_sub_epi64(t, _mm256_and_si256(is_above, set1(Prime44::P)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn times_17(x: __m256i) -> __m256i {
    _mm256_add_epi64(_mm256_slli_epi64::<4>(x), x)
}
