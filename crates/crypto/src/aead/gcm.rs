//! Galois/Counter Mode as ESP uses it: SP 800-38D, RFC 4106, a tag of 16 bytes.

use aes::{Aes128Enc, Aes192Enc, Aes256Enc};
use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U12;

use crate::cipher::AesEncryptKey;
use crate::kernel::{Misshapen, salted_nonce};
use crate::suite::AesKeySize;

/// AES round keys, the hash key expanded for GHASH, and the salt.
pub(crate) struct GcmKey {
    aes: SizedGcm,
    salt: [u8; 4],
}

enum SizedGcm {
    Aes128(AesGcm<Aes128Enc, U12>),
    Aes192(AesGcm<Aes192Enc, U12>),
    Aes256(AesGcm<Aes256Enc, U12>),
}

impl GcmKey {
    pub(crate) fn new(size: AesKeySize, key: &[u8], salt: [u8; 4]) -> Result<GcmKey, Misshapen> {
        let aes = match AesEncryptKey::new(size, key)? {
            AesEncryptKey::Aes128(aes) => SizedGcm::Aes128(aes.into()),
            AesEncryptKey::Aes192(aes) => SizedGcm::Aes192(aes.into()),
            AesEncryptKey::Aes256(aes) => SizedGcm::Aes256(aes.into()),
        };
        Ok(GcmKey { aes, salt })
    }

    pub(crate) fn seal(
        &self,
        associated: &[u8],
        iv: &[u8],
        text: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), Misshapen> {
        let nonce = salted_nonce(self.salt, iv)?;
        match &self.aes {
            SizedGcm::Aes128(key) => super::seal(key, &nonce, associated, text, tag),
            SizedGcm::Aes192(key) => super::seal(key, &nonce, associated, text, tag),
            SizedGcm::Aes256(key) => super::seal(key, &nonce, associated, text, tag),
        }
    }

    pub(crate) fn open(&self, associated: &[u8], iv: &[u8], text: &mut [u8], tag: &[u8]) -> bool {
        let Ok(nonce) = salted_nonce(self.salt, iv) else {
            return false;
        };
        match &self.aes {
            SizedGcm::Aes128(key) => super::open(key, &nonce, associated, text, tag),
            SizedGcm::Aes192(key) => super::open(key, &nonce, associated, text, tag),
            SizedGcm::Aes256(key) => super::open(key, &nonce, associated, text, tag),
        }
    }
}
