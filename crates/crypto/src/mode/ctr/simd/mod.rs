//! AES-CTR with AES instructions: several blocks of a packet side by side.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon_aes;

use weir_simd::Tier;

use super::CtrText;

/// Adds to each text, all under keys of one tier and size, the key stream that begins with
/// counter 1 and returns true; or returns false where the tier has no kernel or the processor
/// no such tier.
pub(super) fn apply_each(texts: &mut [CtrText<'_>]) -> bool {
    let Some(tier) = texts.first().map(|text| text.round_keys.tier) else {
        return true;
    };
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it every feature that its kernel
            // enables, is there.
            Tier::Avx512 => unsafe { avx512::apply_each(texts) },
            Tier::Aesni => {
                for text in texts {
                    // SAFETY: as above.
                    unsafe { aesni::apply(text.round_keys.used(), &text.nonce, text.text) };
                }
            }
            Tier::Scalar | Tier::NeonAes => return false,
        }
        return true;
    }
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        for text in texts {
            // SAFETY: the tier, and with it every feature that its kernel enables,
            // is there.
            unsafe { neon_aes::apply(text.round_keys.used(), &text.nonce, text.text) };
        }
        return true;
    }
    let _ = tier;
    false
}
