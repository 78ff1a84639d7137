//! Cipher block chaining: SP 800-38A section 6.2; RFC 3602 (AES) and RFC 2451
//! (3DES) in ESP.
//!
//! Encryption of a block needs the block before it, so the AES units are filled
//! with blocks of other packets: [`CbcLanes`]. Decryption has no such chain and
//! takes many blocks of one packet at once. A key has the form that its tier
//! needs. The RustCrypto crates are the scalar reference and do 3DES.

mod inverse;
mod lanes;
mod mac;
mod simd;

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit,
    Iv,
};
use weir_simd::Tier;

use crate::cipher::simd::{has_unit, run};
use crate::cipher::{AesDecryptKey, AesEncryptKey, AesRoundKeys, TripleDesKey};
use crate::kernel::InvalidLength;
use crate::suite::AesKeySize;
use inverse::{Decrypt, Invert};

pub(crate) use lanes::{CbcLanes, CbcRoom, Chained};
pub(crate) use mac::{ChainLanes, MOST_CHAINS};

/// A key that chains forwards without kernels of this crate. Each variant has a box of its own:
/// where a smaller one lies in the place of a larger one, the rest of that place is never wiped.
pub(crate) enum CbcEncryptKey {
    Aes(Box<AesEncryptKey>),
    TripleDes(Box<TripleDesKey>),
}

/// A key that chains backwards, as above.
pub(crate) enum CbcDecryptKey {
    Aes(Box<AesDecryptKey>),
    TripleDes(Box<TripleDesKey>),
}

/// The block cipher that is chained.
#[derive(Clone, Copy)]
pub(crate) enum CbcCipher {
    Aes(AesKeySize),
    TripleDes,
}

/// A key for one of the two directions.
pub(crate) trait CbcKey: Sized {
    /// Whether this is the direction that decrypts.
    const DECRYPTS: bool;

    /// Expands `key` for the well-maintained crates.
    fn new(cipher: CbcCipher, key: &[u8]) -> Result<Self, InvalidLength>;
}

impl CbcKey for CbcEncryptKey {
    const DECRYPTS: bool = false;

    fn new(cipher: CbcCipher, key: &[u8]) -> Result<Self, InvalidLength> {
        Ok(match cipher {
            CbcCipher::Aes(size) => CbcEncryptKey::Aes(Box::new(AesEncryptKey::new(size, key)?)),
            CbcCipher::TripleDes => CbcEncryptKey::TripleDes(Box::new(TripleDesKey::new(key)?)),
        })
    }
}

impl CbcKey for CbcDecryptKey {
    const DECRYPTS: bool = true;

    fn new(cipher: CbcCipher, key: &[u8]) -> Result<Self, InvalidLength> {
        Ok(match cipher {
            CbcCipher::Aes(size) => CbcDecryptKey::Aes(Box::new(AesDecryptKey::new(size, key)?)),
            CbcCipher::TripleDes => CbcDecryptKey::TripleDes(Box::new(TripleDesKey::new(key)?)),
        })
    }
}

/// Whether AES-CBC has kernels in `tier`, or what the processor has of it.
pub(crate) fn has_lanes(tier: Tier) -> bool {
    has_unit(tier.min(weir_simd::detect()))
}

/// Round keys for encryption become those for decryption, where the tier of `keys` has kernels.
///
/// # Panics
/// The processor lacks the tier, or that has no kernel.
pub(crate) fn invert(keys: &mut AesRoundKeys) {
    let kernel = Invert(&mut keys.keys[..=keys.rounds]);
    assert!(run(keys.tier, kernel).is_some());
}

/// Decrypts whole blocks of one packet in place by the round keys of [`invert`], with the
/// kernel of their tier.
///
/// # Panics
/// As [`invert`]: the text would be left as it is.
pub(crate) fn decrypt_blocks(
    keys: &AesRoundKeys,
    iv: &[u8],
    text: &mut [u8],
) -> Result<(), InvalidLength> {
    let (blocks, []) = text.as_chunks_mut() else {
        return Err(InvalidLength);
    };
    let kernel = Decrypt {
        round_keys: keys.used(),
        iv: iv.try_into().map_err(|_| InvalidLength)?,
        blocks,
    };
    assert!(run(keys.tier, kernel).is_some());
    Ok(())
}

impl CbcEncryptKey {
    /// Encrypts whole blocks of one packet in place.
    pub(crate) fn encrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength> {
        match self {
            CbcEncryptKey::Aes(key) => match &**key {
                AesEncryptKey::Aes128(key) => encrypt(key, iv, text),
                AesEncryptKey::Aes192(key) => encrypt(key, iv, text),
                AesEncryptKey::Aes256(key) => encrypt(key, iv, text),
            },
            CbcEncryptKey::TripleDes(key) => encrypt(&key.0, iv, text),
        }
    }
}

impl CbcDecryptKey {
    /// Decrypts whole blocks of one packet in place.
    pub(crate) fn decrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength> {
        match self {
            CbcDecryptKey::Aes(key) => match &**key {
                AesDecryptKey::Aes128(key) => decrypt(key, iv, text),
                AesDecryptKey::Aes192(key) => decrypt(key, iv, text),
                AesDecryptKey::Aes256(key) => decrypt(key, iv, text),
            },
            CbcDecryptKey::TripleDes(key) => decrypt(&key.0, iv, text),
        }
    }
}

fn encrypt<C>(key: &C, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength>
where
    C: BlockCipherEncrypt,
{
    let iv = <&Iv<cbc::Encryptor<&C>>>::try_from(iv).map_err(|_| InvalidLength)?;
    let (blocks, []) = Array::slice_as_chunks_mut(text) else {
        return Err(InvalidLength);
    };
    cbc::Encryptor::inner_iv_init(key, iv).encrypt_blocks(blocks);
    Ok(())
}

fn decrypt<C>(key: &C, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength>
where
    C: BlockCipherDecrypt,
{
    let iv = <&Iv<cbc::Decryptor<&C>>>::try_from(iv).map_err(|_| InvalidLength)?;
    let (blocks, []) = Array::slice_as_chunks_mut(text) else {
        return Err(InvalidLength);
    };
    cbc::Decryptor::inner_iv_init(key, iv).decrypt_blocks(blocks);
    Ok(())
}
