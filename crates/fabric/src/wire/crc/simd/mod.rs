//! Kernels of both CRCs: products without carries, 16 or 64 bytes at a time.
//!
//! They define nothing: the register goes over the bytes bit by bit in the specification, by a library
//! or by tables in the parent module. Other architectures have no kernel, and use those.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod pclmul;

use weir_simd::Tier;

use super::fold::Polynomial;
use super::head::Head;

/// Shorter packets are left to the parent module.
const SHORTEST_BYTES: usize = 16;

/// What the register of the CRC holds after the bytes; `None` where `tier` has no kernel or the processor no
/// `tier`, or there are few bytes.
#[inline]
pub(super) fn remainder(
    tier: Tier,
    polynomial: &Polynomial,
    head: &Head,
    bytes: &[u8],
) -> Option<u32> {
    if bytes.len() < SHORTEST_BYTES {
        return None;
    }
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: the tier, and with it AVX-512 and VPCLMULQDQ, is there.
        return Some(unsafe { avx512::remainder(polynomial, head, bytes) });
    }
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Aesni && tier.is_available() {
        // SAFETY: the tier, and with it AVX2 and PCLMULQDQ, is there.
        return Some(unsafe { pclmul::remainder(polynomial, head, bytes) });
    }
    let _ = (tier, polynomial, head);
    None
}
