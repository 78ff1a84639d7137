//! Cipher block chaining: SP 800-38A section 6.2; RFC 3602 (AES) and RFC 2451
//! (3DES) in ESP.

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit,
    Iv,
};

use crate::cipher::{AesDecryptKey, AesEncryptKey, TripleDesKey};
use crate::kernel::Misshapen;
use crate::suite::AesKeySize;

/// A key that chains forwards.
pub(crate) enum CbcEncryptKey {
    Aes(AesEncryptKey),
    TripleDes(TripleDesKey),
}

/// A key that chains backwards.
pub(crate) enum CbcDecryptKey {
    Aes(AesDecryptKey),
    TripleDes(TripleDesKey),
}

/// The block cipher that is chained.
#[derive(Clone, Copy)]
pub(crate) enum CbcCipher {
    Aes(AesKeySize),
    TripleDes,
}

/// A key for one of the two directions.
pub(crate) trait CbcKey: Sized {
    fn new(cipher: CbcCipher, key: &[u8]) -> Result<Self, Misshapen>;
}

impl CbcKey for CbcEncryptKey {
    fn new(cipher: CbcCipher, key: &[u8]) -> Result<Self, Misshapen> {
        match cipher {
            CbcCipher::Aes(size) => AesEncryptKey::new(size, key).map(CbcEncryptKey::Aes),
            CbcCipher::TripleDes => TripleDesKey::new(key).map(CbcEncryptKey::TripleDes),
        }
    }
}

impl CbcKey for CbcDecryptKey {
    fn new(cipher: CbcCipher, key: &[u8]) -> Result<Self, Misshapen> {
        match cipher {
            CbcCipher::Aes(size) => AesDecryptKey::new(size, key).map(CbcDecryptKey::Aes),
            CbcCipher::TripleDes => TripleDesKey::new(key).map(CbcDecryptKey::TripleDes),
        }
    }
}

impl CbcEncryptKey {
    /// Encrypts whole blocks in place.
    pub(crate) fn encrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), Misshapen> {
        match self {
            CbcEncryptKey::Aes(AesEncryptKey::Aes128(key)) => encrypt(key, iv, text),
            CbcEncryptKey::Aes(AesEncryptKey::Aes192(key)) => encrypt(key, iv, text),
            CbcEncryptKey::Aes(AesEncryptKey::Aes256(key)) => encrypt(key, iv, text),
            CbcEncryptKey::TripleDes(key) => encrypt(&key.0, iv, text),
        }
    }
}

impl CbcDecryptKey {
    /// Decrypts whole blocks in place.
    pub(crate) fn decrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), Misshapen> {
        match self {
            CbcDecryptKey::Aes(AesDecryptKey::Aes128(key)) => decrypt(key, iv, text),
            CbcDecryptKey::Aes(AesDecryptKey::Aes192(key)) => decrypt(key, iv, text),
            CbcDecryptKey::Aes(AesDecryptKey::Aes256(key)) => decrypt(key, iv, text),
            CbcDecryptKey::TripleDes(key) => decrypt(&key.0, iv, text),
        }
    }
}

fn encrypt<C>(key: &C, iv: &[u8], text: &mut [u8]) -> Result<(), Misshapen>
where
    C: BlockCipherEncrypt,
{
    let iv = <&Iv<cbc::Encryptor<&C>>>::try_from(iv).map_err(|_| Misshapen)?;
    let (blocks, []) = Array::slice_as_chunks_mut(text) else {
        return Err(Misshapen);
    };
    cbc::Encryptor::inner_iv_init(key, iv).encrypt_blocks(blocks);
    Ok(())
}

fn decrypt<C>(key: &C, iv: &[u8], text: &mut [u8]) -> Result<(), Misshapen>
where
    C: BlockCipherDecrypt,
{
    let iv = <&Iv<cbc::Decryptor<&C>>>::try_from(iv).map_err(|_| Misshapen)?;
    let (blocks, []) = Array::slice_as_chunks_mut(text) else {
        return Err(Misshapen);
    };
    cbc::Decryptor::inner_iv_init(key, iv).decrypt_blocks(blocks);
    Ok(())
}
