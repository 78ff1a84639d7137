//! Bytes as characters, by AVX2; look-ups as each tier has them.

use super::super::Tabulation;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::simd::for_words;
use crate::tables::simd::avx2::{self, BLOCK, Places, byte_places, load};
use crate::tables::simd::avx512;

/// Those of four bytes for each word.
struct Bytes<const W: usize>([[[u32; BLOCK]; 4]; W]);

impl<const W: usize> Places for Bytes<W> {
    #[inline(always)]
    fn positions(&self) -> &[[u32; BLOCK]] {
        self.0.as_flattened()
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn places<const W: usize>(family: &Tabulation, keys: &KeyColumns, first: usize) -> Bytes<W> {
    let mut all = [[[0; BLOCK]; 4]; W];
    for (word, places) in all.iter_mut().enumerate() {
        *places = byte_places(&family.tables, 1024 * word, load(keys, word, first));
    }
    Bytes(all)
}

/// `out` has the shape of the result.
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn buckets_to(
    family: &Tabulation,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    for_words!(family.words, wide, family, keys, out, sink)
}

#[target_feature(enable = "avx512f,avx512vl")]
fn wide<const W: usize>(
    family: &Tabulation,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) {
    let places = |first| places::<W>(family, keys, first);
    // SAFETY: bytes are below 256, and each position has as many entries.
    unsafe { avx512::buckets_to(&family.tables, family.width, keys, out, sink, places) };
}

/// `out` has the shape of the result.
#[target_feature(enable = "avx2")]
pub(super) fn buckets(family: &Tabulation, keys: &KeyColumns, out: &mut Buckets) {
    for_words!(family.words, narrow, family, keys, out)
}

#[target_feature(enable = "avx2")]
fn narrow<const W: usize>(family: &Tabulation, keys: &KeyColumns, out: &mut Buckets) {
    let places = |first| places::<W>(family, keys, first);
    // SAFETY: bytes are below 256, and each position has as many entries.
    unsafe { avx2::buckets(&family.tables, family.width, keys, out, places) };
}
