//! AES-CTR with AES instructions: several blocks of a packet side by side.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon_aes;

use weir_simd::Tier;

use crate::cipher::Block;

/// Adds the key stream that begins with counter 1 to `text` and returns true;
/// or returns false where `tier` has no kernel or the processor no `tier`.
pub(super) fn apply(tier: Tier, round_keys: &[Block], nonce: &Block, text: &mut [u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it every feature that its kernel
            // enables, is there.
            Tier::Avx512 => unsafe { avx512::apply(round_keys, nonce, text) },
            // SAFETY: as above.
            Tier::Aesni => unsafe { aesni::apply(round_keys, nonce, text) },
            Tier::Scalar | Tier::NeonAes => return false,
        }
        return true;
    }
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        // SAFETY: the tier, and with it every feature that its kernel enables,
        // is there.
        unsafe { neon_aes::apply(round_keys, nonce, text) };
        return true;
    }
    let _ = (tier, round_keys, nonce, text);
    false
}
