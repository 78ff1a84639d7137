//! AES instructions on independent blocks.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon_aes;

use weir_simd::Tier;

use crate::cipher::Block;

/// Encrypts the blocks and returns true; or returns false where `tier` has no
/// kernel or the processor no `tier`.
pub(super) fn encrypt(tier: Tier, round_keys: &[Block], blocks: &mut [Block]) -> bool {
    apply::<false>(tier, round_keys, blocks)
}

/// Decrypts the blocks by the keys of the equivalent inverse cipher, or returns
/// false as [`encrypt`] does.
#[cfg(feature = "hazmat")]
pub(super) fn decrypt(tier: Tier, inverse_keys: &[Block], blocks: &mut [Block]) -> bool {
    apply::<true>(tier, inverse_keys, blocks)
}

/// # Panics
/// There are less than two round keys: the blocks would be left in plain.
fn apply<const DECRYPT: bool>(tier: Tier, keys: &[Block], blocks: &mut [Block]) -> bool {
    assert!(keys.len() > 1);
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it every feature that its kernel
            // enables, is there.
            Tier::Avx512 => unsafe { avx512::apply::<DECRYPT>(keys, blocks) },
            // SAFETY: as above.
            Tier::Aesni => unsafe { aesni::apply::<DECRYPT>(keys, blocks) },
            Tier::Scalar | Tier::NeonAes => return false,
        }
        return true;
    }
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        // SAFETY: the tier, and with it every feature that its kernel enables,
        // is there.
        unsafe { neon_aes::apply::<DECRYPT>(keys, blocks) };
        return true;
    }
    let _ = (tier, keys, blocks);
    false
}
