//! AES on single blocks (SP 800-38A section 6.1), which shows equal blocks of a
//! text as equal: for known answers, measurements and what is built of blocks.

use std::fmt;

use weir_simd::Tier;

use crate::cipher::{Block, MOST_ROUND_KEYS, bitslice, expand, rounds};
use crate::keys::KeyError;
use crate::mode::ecb;
use crate::simd::Wiped;
use crate::suite::AesKeySize;

/// An AES key for both directions. Wiped when dropped; `Debug` shows no secret.
pub struct EcbKey {
    round_keys: Wiped<[Block; MOST_ROUND_KEYS]>,
    inverse_keys: Wiped<[Block; MOST_ROUND_KEYS]>,
    size: AesKeySize,
}

/// Some blocks under one key.
pub struct EcbJob<'a> {
    /// Their key.
    pub key: &'a EcbKey,
    /// Processed in place.
    pub blocks: &'a mut [[u8; 16]],
}

impl EcbKey {
    /// Expands `key` with the instructions of `tier`.
    ///
    /// # Errors
    /// A length that is not that of `size`.
    pub fn new(size: AesKeySize, tier: Tier, key: &[u8]) -> Result<EcbKey, KeyError> {
        let wrong_key = KeyError::CipherKey {
            needed_bytes: size.key_bytes(),
            given_bytes: key.len(),
        };
        let round_keys = expand(tier, size, key).map_err(|_| wrong_key)?;
        let mut inverse_keys = round_keys.clone();
        bitslice::invert(&mut inverse_keys[..=rounds(size)]);
        Ok(EcbKey {
            round_keys,
            inverse_keys,
            size,
        })
    }
}

/// Encrypts each block by itself with the kernels of `tier`.
pub fn ecb_encrypt(tier: Tier, jobs: &mut [EcbJob<'_>]) {
    for EcbJob { key, blocks } in jobs {
        ecb::encrypt(tier, &key.round_keys[..=rounds(key.size)], blocks);
    }
}

/// Decrypts each block by itself with the kernels of `tier`.
pub fn ecb_decrypt(tier: Tier, jobs: &mut [EcbJob<'_>]) {
    for EcbJob { key, blocks } in jobs {
        let used = ..=rounds(key.size);
        ecb::decrypt(tier, &key.round_keys[used], &key.inverse_keys[used], blocks);
    }
}

impl fmt::Debug for EcbKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EcbKey")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
