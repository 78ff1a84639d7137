//! Counter mode as ESP uses it: RFC 3686.

mod simd;
#[cfg(test)]
mod tests;

use weir_simd::Tier;
use zeroize::Zeroize;

use crate::cipher::bitslice::{BLOCKS, PlaneKeys};
use crate::cipher::{Block, MOST_ROUND_KEYS, expand, rounds};
use crate::impossible::{Impossible, happens};
use crate::kernel::{InvalidLength, salted_nonce};
use crate::simd::Wiped;
use crate::suite::AesKeySize;

/// AES round keys and the nonce that RFC 3686 puts in front of the IV (here
/// called salt, as for GCM).
pub(crate) struct CtrKey {
    round_keys: Wiped<[Block; MOST_ROUND_KEYS]>,
    rounds: usize,
    salt: [u8; 4],
    tier: Tier,
}

impl CtrKey {
    /// Expands `key` for the kernels of `tier`.
    pub(crate) fn new(
        size: AesKeySize,
        tier: Tier,
        key: &[u8],
        salt: [u8; 4],
    ) -> Result<CtrKey, InvalidLength> {
        Ok(CtrKey {
            round_keys: expand(tier, size, key)?,
            rounds: rounds(size),
            salt,
            tier,
        })
    }

    pub(crate) fn round_keys(&self) -> &[Block; MOST_ROUND_KEYS] {
        &self.round_keys
    }

    /// Encrypts or decrypts in place, which is the same.
    pub(crate) fn apply(&self, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength> {
        let mut nonce = [0; 16];
        nonce[..12].copy_from_slice(&salted_nonce(self.salt, iv)?);
        let round_keys = self.round_keys.get(..=self.rounds).ok_or(InvalidLength)?;
        // Kernels leave a text alone that they have no two round keys for.
        if round_keys.len() < 2 || happens(Impossible::CipherRefuses) {
            return Err(InvalidLength);
        }
        if !simd::apply(self.tier, round_keys, &nonce, text) {
            apply(round_keys, nonce, text);
        }
        Ok(())
    }
}

/// The twin, in constant time. RFC 3686 section 4: counter blocks are salt, IV
/// and a big-endian block counter that starts at 1.
fn apply(round_keys: &[Block], nonce: Block, text: &mut [u8]) {
    let keys = PlaneKeys::new(round_keys);
    let mut counter = 1u32;
    for text in text.chunks_mut(16 * BLOCKS) {
        let mut blocks = [nonce; BLOCKS];
        for block in &mut blocks {
            block[12..].copy_from_slice(&counter.to_be_bytes());
            counter = counter.wrapping_add(1);
        }
        keys.encrypt(&mut blocks);
        for (byte, key) in text.iter_mut().zip(blocks.as_flattened()) {
            *byte ^= key;
        }
        blocks.zeroize();
    }
}
