//! AES (FIPS 197) round keys of the three key sizes, one type per direction:
//! only CBC ever runs AES backwards, and the schedules are large.

pub(crate) mod bitslice;
mod schedule;
pub(crate) mod simd;

use aes::cipher::KeyInit;
use aes::{Aes128Dec, Aes128Enc, Aes192Dec, Aes192Enc, Aes256Dec, Aes256Enc};

use crate::kernel::InvalidLength;
use crate::suite::AesKeySize;

pub(crate) use schedule::{AesRoundKeys, MOST_ROUND_KEYS, expand, expand_each, rounds};

/// One block of AES.
pub(crate) type Block = [u8; 16];

/// Round keys for encryption.
pub(crate) enum AesEncryptKey {
    Aes128(Aes128Enc),
    Aes192(Aes192Enc),
    Aes256(Aes256Enc),
}

/// Round keys for decryption.
pub(crate) enum AesDecryptKey {
    Aes128(Aes128Dec),
    Aes192(Aes192Dec),
    Aes256(Aes256Dec),
}

impl AesEncryptKey {
    pub(crate) fn new(size: AesKeySize, key: &[u8]) -> Result<AesEncryptKey, InvalidLength> {
        Ok(match size {
            AesKeySize::Aes128 => AesEncryptKey::Aes128(expanded(key)?),
            AesKeySize::Aes192 => AesEncryptKey::Aes192(expanded(key)?),
            AesKeySize::Aes256 => AesEncryptKey::Aes256(expanded(key)?),
        })
    }
}

impl AesDecryptKey {
    pub(crate) fn new(size: AesKeySize, key: &[u8]) -> Result<AesDecryptKey, InvalidLength> {
        Ok(match size {
            AesKeySize::Aes128 => AesDecryptKey::Aes128(expanded(key)?),
            AesKeySize::Aes192 => AesDecryptKey::Aes192(expanded(key)?),
            AesKeySize::Aes256 => AesDecryptKey::Aes256(expanded(key)?),
        })
    }
}

fn expanded<C: KeyInit>(key: &[u8]) -> Result<C, InvalidLength> {
    C::new_from_slice(key).map_err(|_| InvalidLength)
}
