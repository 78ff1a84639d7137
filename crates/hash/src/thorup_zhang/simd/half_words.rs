//! Half-words and their sum as characters, by AVX2; look-ups as each tier has them.

use std::arch::x86_64::*;

use super::super::ThorupZhang16;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::tables::simd::avx2::{self, BLOCK, Places, load};
use crate::tables::simd::avx512;

/// Those of the lower half-word, the upper one and the sum.
struct HalfWords([[u32; BLOCK]; 3]);

impl Places for HalfWords {
    #[inline(always)]
    fn positions(&self) -> &[[u32; BLOCK]] {
        &self.0
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn places(family: &ThorupZhang16, keys: &KeyColumns, first: usize) -> HalfWords {
    let words = load(keys, 0, first);
    let low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
    let high = _mm256_srli_epi32::<16>(words);
    let places = |entry, characters| avx2::places(&family.tables, entry, characters);
    HalfWords([
        places(0, low),
        places(0x1_0000, high),
        places(0x2_0000, _mm256_add_epi32(low, high)),
    ])
}

/// `out` has the shape of the result.
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn buckets_to(
    family: &ThorupZhang16,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    let places = |first| places(family, keys, first);
    // SAFETY: half-words are below 2¹⁶, sums below 2¹⁷ - 1, and positions have as many
    // entries.
    unsafe { avx512::buckets_to(&family.tables, family.width, keys, out, sink, places) };
}

/// `out` has the shape of the result.
#[target_feature(enable = "avx2")]
pub(super) fn buckets(family: &ThorupZhang16, keys: &KeyColumns, out: &mut Buckets) {
    let places = |first| places(family, keys, first);
    // SAFETY: half-words are below 2¹⁶, sums below 2¹⁷ - 1, and positions have as many
    // entries.
    unsafe { avx2::buckets(&family.tables, family.width, keys, out, places) };
}
