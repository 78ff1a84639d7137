//! AVX2: four keys per vector.
//!
//! A half-word takes one `vpmuludq` and an addition. Words take two: of the factor
//! a = a₁·2²⁹ + a₀, and of the upper product again two parts,
//!
//! ```text
//! a·x = a₁x·2²⁹ + a₀x,   a₁x·2²⁹ = ⌊a₁x / 2³²⌋·2⁶¹ + (a₁x mod 2³²)·2²⁹
//! ```
//!
//! where 2⁶¹ ≡ 1 (mod p), so that what a word adds is below 2⁶³ and a sum is folded
//! after each.

use std::arch::x86_64::*;

use super::super::{H1HalfWords, H1Words};
use crate::buckets::Buckets;
use crate::columns::KeyColumns;
use crate::field::{Mersenne31, Mersenne61};
use crate::simd::avx2::{LANES, load, set1, store};
use crate::simd::words_to_read;

/// `out` has the shape of the result.
#[target_feature(enable = "avx2")]
pub(super) fn half_words(family: &H1HalfWords, keys: &KeyColumns, out: &mut Buckets) {
    let words = words_to_read(family, keys);
    let stride = keys.padded_len();
    let out = out.padded_rows();
    let (p, width) = (set1(Mersenne31::P), set1(family.width.into()));
    for first in (0..stride).step_by(LANES) {
        for (row, out) in family.rows.iter().zip(out.chunks_exact_mut(stride)) {
            // Twenty products below 2⁴⁷ and an addend: less than 2⁵².
            let mut sum = set1(row.addend);
            let (pairs, _) = row.multipliers.as_chunks::<2>();
            for (word, [low, high]) in pairs[..words].iter().enumerate() {
                let x = load(&keys.padded_column(word)[first..first + LANES]);
                let lower = _mm256_and_si256(x, set1(0xffff));
                sum = _mm256_add_epi64(sum, _mm256_mul_epu32(set1(*low), lower));
                let upper = _mm256_srli_epi64::<16>(x);
                sum = _mm256_add_epi64(sum, _mm256_mul_epu32(set1(*high), upper));
            }
            let t = _mm256_add_epi64(_mm256_and_si256(sum, p), _mm256_srli_epi64::<31>(sum));
            let t = less_p(t, Mersenne31::P);
            let bucket = _mm256_srli_epi64::<31>(_mm256_mul_epu32(t, width));
            store(&mut out[first..first + LANES], bucket);
        }
    }
}

/// `out` has the shape of the result.
#[target_feature(enable = "avx2")]
pub(super) fn words(family: &H1Words, keys: &KeyColumns, out: &mut Buckets) {
    let words = words_to_read(family, keys);
    let stride = keys.padded_len();
    let out = out.padded_rows();
    let (p, width) = (set1(Mersenne61::P), set1(family.width.into()));
    for first in (0..stride).step_by(LANES) {
        for (row, out) in family.rows.iter().zip(out.chunks_exact_mut(stride)) {
            // At most p + 3 between words.
            let mut sum = set1(row.addend);
            for (word, a) in row.multipliers[..words].iter().enumerate() {
                let x = load(&keys.padded_column(word)[first..first + LANES]);
                let low = _mm256_mul_epu32(set1(a & ((1 << 29) - 1)), x);
                let high = _mm256_mul_epu32(set1(a >> 29), x);
                let high = _mm256_add_epi64(
                    _mm256_srli_epi64::<32>(high),
                    _mm256_slli_epi64::<29>(_mm256_and_si256(high, set1(u32::MAX.into()))),
                );
                let t = _mm256_add_epi64(_mm256_add_epi64(sum, low), high);
                sum = _mm256_add_epi64(_mm256_and_si256(t, p), _mm256_srli_epi64::<61>(t));
            }
            let h = less_p(sum, Mersenne61::P);
            let low = _mm256_srli_epi64::<32>(_mm256_mul_epu32(h, width));
            let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(h), width);
            let bucket = _mm256_srli_epi64::<29>(_mm256_add_epi64(high, low));
            store(&mut out[first..first + LANES], bucket);
        }
    }
}

/// `x`, less p where it reaches it, for `x` below 2p and 2⁶³.
#[inline]
#[target_feature(enable = "avx2")]
fn less_p(x: __m256i, p: u64) -> __m256i {
    let is_above = _mm256_cmpgt_epi64(x, set1(p - 1));
    _mm256_sub_epi64(x, _mm256_and_si256(is_above, set1(p)))
}
