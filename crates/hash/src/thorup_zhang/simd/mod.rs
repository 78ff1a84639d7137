//! Kernels of Thorup and Zhang's tabulation: its characters, for the look-ups of
//! `tables`.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod bytes;
#[cfg(target_arch = "x86_64")]
mod half_words;

use weir_simd::Tier;

use super::{ThorupZhang8, ThorupZhang16};
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::simd::buckets_by_kernel;

/// Fills `out`, which already has the shape of the result, hands it out and
/// returns true; or returns false where `tier` has no kernel or the processor no
/// `tier`.
pub(super) fn bytes_to(
    tier: Tier,
    family: &ThorupZhang8,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) -> bool {
    buckets_by_kernel!(
        [bytes::buckets_to, bytes::buckets],
        tier,
        family,
        keys,
        out,
        sink
    )
}

/// The same for half-words.
pub(super) fn half_words_to(
    tier: Tier,
    family: &ThorupZhang16,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) -> bool {
    buckets_by_kernel!(
        [half_words::buckets_to, half_words::buckets],
        tier,
        family,
        keys,
        out,
        sink
    )
}
