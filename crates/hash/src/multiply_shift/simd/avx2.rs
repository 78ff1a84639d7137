//! AVX2: four keys per vector, 52-bit arithmetic from 32-bit multiplies.
//!
//! With a = a₁·2³² + a₀ and h = h₁·2³² + h₀ the products fall apart into
//!
//! ```text
//! a·x mod 2⁵²   = (a₀x + (a₁x mod 2²⁰)·2³²) mod 2⁵²
//! ⌊h·w / 2⁵²⌋   = ⌊(h₁w + ⌊h₀w / 2³²⌋) / 2²⁰⌋
//! ```
//!
//! two `vpmuludq` per word and two per row. All sums are kept modulo 2⁶⁴ and
//! cut to 52 bits once.

use std::arch::x86_64::*;

use super::super::{BITS, Ms52};
use crate::buckets::Buckets;
use crate::columns::KeyColumns;
use crate::simd::avx2::{LANES, load, store};
use crate::simd::{for_words, words_to_read};

/// `out` has the shape of the result.
#[target_feature(enable = "avx2")]
pub(super) fn buckets(family: &Ms52, keys: &KeyColumns, out: &mut Buckets) {
    for_words!(words_to_read(family, keys), kernel, family, keys, out)
}

#[target_feature(enable = "avx2")]
fn kernel<const W: usize>(family: &Ms52, keys: &KeyColumns, out: &mut Buckets) {
    let columns: [&[u32]; W] = std::array::from_fn(|word| keys.padded_column(word));
    let stride = keys.padded_len();
    let out = out.padded_rows();
    let width = _mm256_set1_epi64x(i64::from(family.width));
    let mask = _mm256_set1_epi64x((1 << BITS) - 1);
    for first in (0..stride).step_by(LANES) {
        let mut x = [_mm256_setzero_si256(); W];
        for (x, column) in x.iter_mut().zip(columns) {
            *x = load(&column[first..first + LANES]);
        }
        for (row, out) in family.rows.iter().zip(out.chunks_exact_mut(stride)) {
            let mut low = _mm256_set1_epi64x(row.addend as i64);
            let mut high = _mm256_setzero_si256();
            for (x, a) in x.iter().zip(&row.multipliers) {
                let a = _mm256_set1_epi64x(*a as i64);
                low = _mm256_add_epi64(low, _mm256_mul_epu32(a, *x));
                let a1 = _mm256_srli_epi64::<32>(a);
                high = _mm256_add_epi64(high, _mm256_mul_epu32(a1, *x));
            }
            let h = _mm256_add_epi64(low, _mm256_slli_epi64::<32>(high));
            let h = _mm256_and_si256(h, mask);
            let h0w = _mm256_srli_epi64::<32>(_mm256_mul_epu32(h, width));
            let h1w = _mm256_mul_epu32(_mm256_srli_epi64::<32>(h), width);
            let bucket = _mm256_srli_epi64::<20>(_mm256_add_epi64(h1w, h0w));
            store(&mut out[first..first + LANES], bucket);
        }
    }
}
