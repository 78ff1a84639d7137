//! Kernels of string hashing.
//!
//! Arithmetic families need none: their loops, compiled for wider
//! lanes ([`in_lanes`]), are what one would write. Tabulation has one where the
//! registers hold a table.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

/// Runs a loop over `data`, compiled for the lanes of `tier` where there are
/// any. It is the same loop on every tier.
#[inline(always)]
pub(super) fn in_lanes<T>(tier: Tier, data: T, work: impl Fn(T)) {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it AVX-512 F, BW, DQ and VL, is there.
            Tier::Avx512 => return unsafe { with_avx512(data, work) },
            // SAFETY: the tier, and with it AVX2, is there.
            Tier::Aesni => return unsafe { with_avx2(data, work) },
            Tier::Scalar | Tier::NeonAes => {}
        }
    }
    let _ = tier;
    work(data);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn with_avx512<T>(data: T, work: impl Fn(T)) {
    work(data);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<T>(data: T, work: impl Fn(T)) {
    work(data);
}

/// Combines the first states with what their bytes look up, by exclusive or;
/// returns how many, none where `tier` has no kernel. The caller does the rest.
#[inline]
pub(super) fn look_up(tier: Tier, table: &[u32; 256], states: &mut [u32], bytes: &[u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: the tier, and with it AVX-512 F, is there.
        return unsafe { avx512::look_up(table, states, bytes) };
    }
    let _ = (tier, table, states, bytes);
    0
}
