//! Kernels of string hashing: the scalar loops, compiled for wider lanes.

#![allow(unsafe_code)]

use weir_simd::Tier;

#[cfg(target_arch = "x86_64")]
use super::shift_add_xor::append_scalar;

/// One step of shift-add-xor for each state; false where `tier` has no kernel.
pub(super) fn shift_add_xor(tier: Tier, states: &mut [u32], bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it AVX-512 F, BW and VL, is there.
            Tier::Avx512 => unsafe { shift_add_xor_avx512(states, bytes) },
            // SAFETY: the tier, and with it AVX2, is there.
            Tier::Aesni => unsafe { shift_add_xor_avx2(states, bytes) },
            Tier::Scalar | Tier::NeonAes => return false,
        }
        return true;
    }
    let _ = (tier, states, bytes);
    false
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn shift_add_xor_avx512(states: &mut [u32], bytes: &[u8]) {
    append_scalar(states, bytes);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn shift_add_xor_avx2(states: &mut [u32], bytes: &[u8]) {
    append_scalar(states, bytes);
}
