//! Kernel of the polynomials modulo 2⁶¹ - 1: lanes are keys. There is none for AVX2,
//! whose products of 32 bits would take nine instructions where the scalar reference takes one.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::Polynomial;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::simd::{buckets_across_by_kernel, buckets_by_kernel};

/// Fills `out`, which already has the shape of the result, hands it out and
/// returns true; or returns false where `tier` has no kernel or the processor no
/// `tier`.
pub(super) fn buckets_to<const K: usize>(
    tier: Tier,
    family: &Polynomial<K>,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) -> bool {
    buckets_by_kernel!([avx512::buckets_to], tier, family, keys, out, sink)
}

/// One key through all functions: fills `out`, which is no longer than there are, and
/// returns true; or returns false where `tier` has no kernel or the processor no `tier`.
pub(super) fn buckets_across<const K: usize>(
    tier: Tier,
    family: &Polynomial<K>,
    key: &[u32],
    out: &mut [u32],
) -> bool {
    buckets_across_by_kernel!(avx512::buckets_across, tier, family, key, out)
}
