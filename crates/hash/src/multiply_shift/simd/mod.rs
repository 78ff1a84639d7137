//! Kernels of the 52-bit multiply-shift: lanes are keys.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::Ms52;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::simd::buckets_by_kernel;

/// Fills `out`, which already has the shape of the result, hands it out and
/// returns true; or returns false where `tier` has no kernel or the processor no
/// `tier`.
pub(super) fn buckets_to(
    tier: Tier,
    family: &Ms52,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) -> bool {
    buckets_by_kernel!(tier, family, keys, out, sink)
}

/// Words that a kernel has to read: those that the family counts and the keys
/// have.
#[cfg(target_arch = "x86_64")]
fn words(family: &Ms52, keys: &KeyColumns) -> usize {
    family.words.min(keys.words())
}

/// Calls `$kernel::<W>` for the number of words, so that a key's words stay in
/// registers.
#[cfg(target_arch = "x86_64")]
macro_rules! for_words {
    ($words:expr, $kernel:ident, $($argument:expr),*) => {
        match $words {
            1 => $kernel::<1>($($argument),*),
            2 => $kernel::<2>($($argument),*),
            3 => $kernel::<3>($($argument),*),
            4 => $kernel::<4>($($argument),*),
            5 => $kernel::<5>($($argument),*),
            6 => $kernel::<6>($($argument),*),
            7 => $kernel::<7>($($argument),*),
            8 => $kernel::<8>($($argument),*),
            9 => $kernel::<9>($($argument),*),
            _ => $kernel::<10>($($argument),*),
        }
    };
}
#[cfg(target_arch = "x86_64")]
use for_words;
