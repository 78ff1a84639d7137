//! Kernels of H1: lanes are keys.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::{H1HalfWords, H1Words};
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::simd::{buckets_across_by_kernel, buckets_by_kernel};

/// Fills `out`, which already has the shape of the result, hands it out and
/// returns true; or returns false where `tier` has no kernel or the processor no
/// `tier`.
pub(super) fn half_words_to(
    tier: Tier,
    family: &H1HalfWords,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) -> bool {
    buckets_by_kernel!(
        [avx512::half_words_to, avx2::half_words],
        tier,
        family,
        keys,
        out,
        sink
    )
}

/// The same for words.
pub(super) fn words_to(
    tier: Tier,
    family: &H1Words,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) -> bool {
    buckets_by_kernel!(
        [avx512::words_to, avx2::words],
        tier,
        family,
        keys,
        out,
        sink
    )
}

/// One key through all functions: fills `out`, which is no longer than there are, and
/// returns true; or returns false where `tier` has no kernel or the processor no `tier`.
pub(super) fn half_words_across(
    tier: Tier,
    family: &H1HalfWords,
    key: &[u32],
    out: &mut [u32],
) -> bool {
    buckets_across_by_kernel!(avx512::half_words_across, tier, family, key, out)
}

/// One key through all functions: fills `out`, which is no longer than there are, and
/// returns true; or returns false where `tier` has no kernel or the processor no `tier`.
pub(super) fn words_across(tier: Tier, family: &H1Words, key: &[u32], out: &mut [u32]) -> bool {
    buckets_across_by_kernel!(avx512::words_across, tier, family, key, out)
}
