//! Kernels of tabulation: its characters, for the look-ups of `tables`.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86;

use weir_simd::Tier;

use super::Tabulation;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::simd::buckets_by_kernel;

/// Fills `out`, which already has the shape of the result, hands it out and
/// returns true; or returns false where `tier` has no kernel or the processor no
/// `tier`.
pub(super) fn buckets_to(
    tier: Tier,
    family: &Tabulation,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) -> bool {
    buckets_by_kernel!(
        [x86::buckets_to, x86::buckets],
        tier,
        family,
        keys,
        out,
        sink
    )
}
