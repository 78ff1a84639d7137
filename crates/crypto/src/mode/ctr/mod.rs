//! Counter mode as ESP uses it: RFC 3686.

mod kernel;
#[cfg(test)]
mod tests;

use weir_simd::Tier;
use zeroize::Zeroize;

use crate::cipher::bitslice::{BLOCKS, PlaneKeys};
use crate::cipher::{AesRoundKeys, Block, simd};
use crate::impossible::{Impossible, happens};
use crate::kernel::{InvalidLength, salted_nonce};
use crate::suite::AesKeySize;
use kernel::ApplyEach;

/// AES round keys and the nonce that RFC 3686 puts in front of the IV (here
/// called salt, as for GCM).
pub(crate) struct CtrKey {
    round_keys: AesRoundKeys,
    salt: [u8; 4],
}

/// A text with what it is encrypted or decrypted by.
pub(crate) struct CtrText<'a> {
    pub(crate) round_keys: &'a AesRoundKeys,
    /// The first counter block: salt, IV and counter.
    first: Block,
    pub(crate) text: &'a mut [u8],
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
            round_keys: AesRoundKeys::new(size, tier, key)?,
            salt,
        })
    }

    pub(crate) fn round_keys(&self) -> &AesRoundKeys {
        &self.round_keys
    }

    /// A text under this key.
    pub(crate) fn text<'a>(
        &'a self,
        iv: &[u8],
        text: &'a mut [u8],
    ) -> Result<CtrText<'a>, InvalidLength> {
        CtrText::new(&self.round_keys, self.salt, iv, text)
    }
}

impl<'a> CtrText<'a> {
    /// A text under the nonce of `salt` and `iv`.
    pub(crate) fn new(
        round_keys: &'a AesRoundKeys,
        salt: [u8; 4],
        iv: &[u8],
        text: &'a mut [u8],
    ) -> Result<CtrText<'a>, InvalidLength> {
        // Kernels leave a text alone that they have no two round keys for.
        if round_keys.used().len() < 2 || happens(Impossible::CipherRefuses) {
            return Err(InvalidLength);
        }
        let [a, b, c, d, e, f, g, h, i, j, k, l] = salted_nonce(salt, iv)?;
        Ok(CtrText {
            round_keys,
            first: [a, b, c, d, e, f, g, h, i, j, k, l, 0, 0, 0, 1],
            text,
        })
    }

    /// The same under another counter of the first block, which is 1 otherwise.
    pub(crate) fn counting_from(mut self, counter: u32) -> CtrText<'a> {
        self.first[12..].copy_from_slice(&counter.to_be_bytes());
        self
    }
}

/// Encrypts or decrypts texts in place, which is the same, side by side.
pub(crate) fn apply_each(texts: &mut [CtrText<'_>]) {
    let alike = |one: &CtrText<'_>, other: &CtrText<'_>| {
        let kind = |text: &CtrText<'_>| (text.round_keys.tier, text.round_keys.rounds);
        kind(one) == kind(other)
    };
    for texts in texts.chunk_by_mut(alike) {
        let tier = texts[0].round_keys.tier;
        if simd::run(tier, ApplyEach(&mut *texts)).is_none() {
            for text in texts {
                apply(text.round_keys.used(), text.first, text.text);
            }
        }
    }
}

/// The scalar reference, in constant time. RFC 3686 section 4: counter blocks are salt, IV
/// and a big-endian block counter.
fn apply(round_keys: &[Block], first: Block, text: &mut [u8]) {
    let keys = PlaneKeys::new(round_keys);
    let [nonce @ .., a, b, c, d] = first;
    let mut counter = u32::from_be_bytes([a, b, c, d]);
    for text in text.chunks_mut(16 * BLOCKS) {
        let mut blocks = [[0; 16]; BLOCKS];
        for block in &mut blocks {
            block[..12].copy_from_slice(&nonce);
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
