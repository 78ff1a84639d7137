//! A block of each packet through the AES unit, eight packets at a time.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "aarch64")]
mod neon_aes;

use weir_simd::Tier;

use super::Lane;

/// Encrypts the sample of each lane and returns true; or returns false where `tier` has no
/// kernel or the processor no `tier`.
pub(super) fn encrypt<const ROUND_KEYS: usize>(
    tier: Tier,
    lanes: &mut [Lane<'_, ROUND_KEYS>],
) -> bool {
    // Wider vectors would gain nothing: each block has round keys of its own, which would have
    // to be brought together first.
    #[cfg(target_arch = "x86_64")]
    if matches!(tier, Tier::Aesni | Tier::Avx512) && tier.is_available() {
        // SAFETY: the tier, and with it AES-NI, is there.
        unsafe { aesni::encrypt(lanes) };
        return true;
    }
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        // SAFETY: the tier, and with it NEON and FEAT_AES, is there.
        unsafe { neon_aes::encrypt(lanes) };
        return true;
    }
    let _ = (tier, lanes);
    false
}
