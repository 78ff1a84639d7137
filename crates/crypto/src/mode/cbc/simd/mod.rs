//! AES-CBC with AES instructions: several packets side by side where each waits
//! for its last block, several blocks of one packet where they do not.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon_aes;

use std::ptr::NonNull;

use weir_simd::Tier;

use crate::cipher::{Block, MOST_ROUND_KEYS};
use crate::simd::wipe;

/// Lanes of the widest kernel.
pub(super) const MOST_LANES: usize = 16;

/// The round keys of every lane; a row is one round of all lanes.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct KeyTable {
    rows: [KeyRow; MOST_ROUND_KEYS],
    rounds: usize,
}

/// Where a lane's text begins.
type Text = Option<NonNull<u8>>;

/// One round key of every lane.
type KeyRow = [u128; MOST_LANES];

impl KeyTable {
    /// A table for keys of so many rounds.
    pub(super) fn new(rounds: usize) -> KeyTable {
        KeyTable {
            rows: [[0; MOST_LANES]; MOST_ROUND_KEYS],
            rounds: rounds.min(MOST_ROUND_KEYS - 1),
        }
    }

    /// Gives a lane its round keys.
    #[inline]
    pub(super) fn set(&mut self, lane: usize, round_keys: &[Block; MOST_ROUND_KEYS]) {
        for (row, key) in self.rows[..=self.rounds].iter_mut().zip(round_keys) {
            row[lane] = u128::from_ne_bytes(*key);
        }
    }
}

impl Drop for KeyTable {
    fn drop(&mut self) {
        wipe(&mut self.rows[..=self.rounds]);
    }
}

/// How many packets `tier` encrypts side by side; none where it has no kernel.
pub(super) fn lanes(tier: Tier) -> usize {
    match tier {
        Tier::Avx512 if cfg!(target_arch = "x86_64") => 16,
        Tier::Aesni if cfg!(target_arch = "x86_64") => 8,
        Tier::NeonAes if cfg!(target_arch = "aarch64") => 8,
        _ => 0,
    }
}

/// Whether the processor has a tier with kernels.
fn has_kernels() -> bool {
    lanes(weir_simd::detect()) > 0
}

/// Encrypts the first `blocks` blocks of each text in place, under the key of its
/// lane and chained to the block of its lane, which becomes the text's last block.
/// Lanes without a text are not touched.
///
/// # Panics
/// The processor lacks `tier`, it has no kernel, keys of no rounds, a text beyond its
/// lanes, or one that is shorter: it would be left in plain.
pub(super) fn encrypt(
    tier: Tier,
    keys: &KeyTable,
    chains: &mut [Block; MOST_LANES],
    texts: &mut [Option<&mut [u8]>; MOST_LANES],
    blocks: usize,
) {
    let lanes = lanes(tier);
    assert!(tier.is_available() && lanes > 0 && keys.rounds > 0);
    let mut starts: [Text; MOST_LANES] = [None; MOST_LANES];
    for (lane, (start, text)) in starts.iter_mut().zip(texts).enumerate() {
        if let Some(text) = text {
            assert!(lane < lanes && text.len() / size_of::<Block>() >= blocks);
            *start = Some(NonNull::from(&mut **text).cast());
        }
    }
    match tier {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the tier is there, and the texts have `blocks` blocks.
        Tier::Avx512 => unsafe { avx512::encrypt(keys, chains, &starts, blocks) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Tier::Aesni => unsafe { aesni::encrypt(keys, chains, &starts, blocks) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Tier::NeonAes => unsafe { neon_aes::encrypt(keys, chains, &starts, blocks) },
        _ => {
            let _ = (keys, chains, starts, blocks);
        }
    }
}

/// Decrypts one packet's blocks in place by the round keys of [`invert`].
///
/// # Panics
/// The processor lacks `tier`, or that has no kernel.
pub(super) fn decrypt(
    tier: Tier,
    round_keys: &[Block; MOST_ROUND_KEYS],
    rounds: usize,
    iv: &Block,
    blocks: &mut [Block],
) {
    assert!(tier.is_available() && lanes(tier) > 0 && (1..MOST_ROUND_KEYS).contains(&rounds));
    match tier {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the tier is there.
        Tier::Avx512 => unsafe { avx512::decrypt(&round_keys[..=rounds], iv, blocks) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the tier is there.
        Tier::Aesni => unsafe { aesni::decrypt(&round_keys[..=rounds], iv, blocks) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: the tier is there.
        Tier::NeonAes => unsafe { neon_aes::decrypt(&round_keys[..=rounds], iv, blocks) },
        _ => {
            let _ = (round_keys, iv, blocks);
        }
    }
}

/// Round keys for encryption become those of the equivalent inverse cipher
/// (FIPS 197 section 5.3.5), in the order of decryption.
///
/// # Panics
/// The processor has no AES instructions.
pub(super) fn invert(round_keys: &mut [Block; MOST_ROUND_KEYS], rounds: usize) {
    assert!(has_kernels() && (1..MOST_ROUND_KEYS).contains(&rounds));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the AES instructions are there.
    unsafe {
        aesni::invert(&mut round_keys[..=rounds]);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the AES instructions are there.
    unsafe {
        neon_aes::invert(&mut round_keys[..=rounds]);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = round_keys;
}
