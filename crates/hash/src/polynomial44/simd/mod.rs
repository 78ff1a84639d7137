//! Kernels of the cubic modulo 2⁴⁴ - 17: lanes are keys.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::Poly44;
use crate::buckets::Buckets;
use crate::columns::KeyColumns;

/// Fills `out`, which already has the shape of the result, and returns true;
/// or returns false where `tier` has no kernel or the processor no `tier`.
pub(super) fn buckets(tier: Tier, family: &Poly44, keys: &KeyColumns, out: &mut Buckets) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: the tier, and with it AVX-512 F, VL and IFMA, is there.
        unsafe { avx512::buckets(family, keys, out) };
        return true;
    }
    let _ = (tier, family, keys, out);
    false
}
