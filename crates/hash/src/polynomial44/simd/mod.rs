//! Kernels of the cubic modulo 2⁴⁴ - 17: lanes are keys.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::Poly44;
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;

/// Fills `out`, which already has the shape of the result, hands it out and
/// returns true; or returns false where `tier` has no kernel or the processor no
/// `tier`.
pub(super) fn buckets_to(
    tier: Tier,
    family: &Poly44,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it AVX-512 F, VL and IFMA, is there.
            Tier::Avx512 => unsafe { avx512::buckets_to(family, keys, out, sink) },
            Tier::Aesni => {
                // SAFETY: the tier, and with it AVX2, is there.
                unsafe { avx2::buckets(family, keys, out) };
                out.hand_to(sink);
            }
            Tier::Scalar | Tier::NeonAes => return false,
        }
        return true;
    }
    let _ = (tier, family, keys, out, sink);
    false
}
