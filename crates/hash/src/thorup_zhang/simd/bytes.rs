//! Bytes and derived characters, by AVX2; look-ups as each tier has them.
//!
//! `vpmaddwd` multiplies pairs of 16 bits and adds them up, which is what a column of
//! the matrix does with the even and with the odd bytes of a word:
//!
//! ```text
//! word          b₃    b₂    b₁    b₀
//! even bytes    0     b₂    0     b₀     by  f₂ f₀
//! odd bytes     0     b₃    0     b₁     by  f₃ f₁
//! ```

use std::arch::x86_64::*;

use super::super::{FactorPairs, PRIME, ThorupZhang8};
use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::simd::for_words;
use crate::tables::simd::avx2::{self, BLOCK, Places, byte_places, load};
use crate::tables::simd::avx512;

/// Those of four bytes for each word, then of as many derived characters but one.
struct Characters<const W: usize>([[[[u32; BLOCK]; 4]; W]; 2]);

impl<const W: usize> Places for Characters<W> {
    #[inline(always)]
    fn positions(&self) -> &[[u32; BLOCK]] {
        &self.0.as_flattened().as_flattened()[..8 * W - 1]
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn places<const W: usize>(family: &ThorupZhang8, keys: &KeyColumns, first: usize) -> Characters<W> {
    let mut all = [[[[0; BLOCK]; 4]; W]; 2];
    let [inputs, derived] = &mut all;
    let mut halves = [[_mm256_setzero_si256(); 2]; W];
    let even = _mm256_set1_epi32(0x00ff_00ff);
    for (word, places) in inputs.iter_mut().enumerate() {
        let words = load(keys, word, first);
        *places = byte_places(&family.tables, 1024 * word, words);
        let odd = _mm256_srli_epi32::<8>(words);
        halves[word] = [words, odd].map(|half| _mm256_and_si256(half, even));
    }
    let derived = derived.as_flattened_mut().iter_mut();
    for ((position, places), pairs) in derived.enumerate().zip(&family.pairs) {
        let first_entry = 1024 * W + PRIME as usize * position;
        *places = avx2::places(&family.tables, first_entry, product(&halves, pairs));
    }
    Characters(all)
}

/// The product of keys with a column, modulo 257.
#[inline]
#[target_feature(enable = "avx2")]
fn product<const W: usize>(halves: &[[__m256i; 2]; W], pairs: &FactorPairs) -> __m256i {
    let mut sum = _mm256_setzero_si256();
    for (halves, factors) in halves.iter().zip(pairs) {
        for (half, factors) in halves.iter().zip(factors) {
            let products = _mm256_madd_epi16(*half, _mm256_set1_epi32(*factors as i32));
            sum = _mm256_add_epi32(sum, products);
        }
    }
    // At most 40·255·256. As 256 ≡ -1, what lies above a byte is subtracted: first from
    // a multiple of the prime that no sum is above, then from the prime.
    const MULTIPLE: u32 = 4 * MAX_KEY_WORDS as u32 * PRIME;
    let sum = fold(fold(sum, MULTIPLE), PRIME);
    _mm256_min_epu32(sum, _mm256_sub_epi32(sum, _mm256_set1_epi32(PRIME as i32)))
}

/// A smaller number of the same residue: the low byte, less what lies above it, plus
/// `multiple`, which is one of the prime.
#[inline]
#[target_feature(enable = "avx2")]
fn fold(sum: __m256i, multiple: u32) -> __m256i {
    let low = _mm256_and_si256(sum, _mm256_set1_epi32(0xff));
    let low = _mm256_add_epi32(low, _mm256_set1_epi32(multiple as i32));
    _mm256_sub_epi32(low, _mm256_srli_epi32::<8>(sum))
}

/// `out` has the shape of the result.
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn buckets_to(
    family: &ThorupZhang8,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    for_words!(family.words, wide, family, keys, out, sink)
}

#[target_feature(enable = "avx512f,avx512vl")]
fn wide<const W: usize>(
    family: &ThorupZhang8,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    let places = |first| places::<W>(family, keys, first);
    // SAFETY: bytes are below 256, derived characters below 257, and positions have as
    // many entries.
    unsafe { avx512::buckets_to(&family.tables, family.width, keys, out, sink, places) };
}

/// `out` has the shape of the result.
#[target_feature(enable = "avx2")]
pub(super) fn buckets(family: &ThorupZhang8, keys: &KeyColumns, out: &mut Buckets) {
    for_words!(family.words, narrow, family, keys, out)
}

#[target_feature(enable = "avx2")]
fn narrow<const W: usize>(family: &ThorupZhang8, keys: &KeyColumns, out: &mut Buckets) {
    let places = |first| places::<W>(family, keys, first);
    // SAFETY: bytes are below 256, derived characters below 257, and positions have as
    // many entries.
    unsafe { avx2::buckets(&family.tables, family.width, keys, out, places) };
}
