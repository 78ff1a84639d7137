//! A suite's keys in the form that its kernel takes.

use weir_simd::Tier;

use crate::aead::gcm::GcmKey;
use crate::aead::{CcmKey, ChaCha20Poly1305Key, MacSuiteKey, Ocb3Key};
use crate::etm::{EtmKey, EtmSecret};
use crate::keys::KeyMaterial;
use crate::mac::hmac::digest_of;
use crate::mac::{Algorithm, MacKey, MacPacketKey};
use crate::mode::{CbcDecryptKey, CbcEncryptKey, CbcKey};
use crate::suite::{Aead, Cipher, Suite};

/// A cipher was handed a length that is not its own. The checks of key material and of a batch
/// keep this from happening; where it does happen, nothing has been written, and it is an error
/// and no panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InvalidLength;

/// A suite's expanded keys. `C` is the direction: CBC chains with another schedule when it
/// decrypts. Secrets are boxed, because moving a schedule would leave copies of it behind that
/// nobody wipes; each variant has a box of its own, so that a kernel is one step away from its
/// schedule.
pub(crate) enum Kernel<C> {
    Gcm(GcmKey),
    Etm(Box<EtmKey<C>>),
    /// HMAC alone, which is encrypt-then-MAC without a cipher.
    Hmac(Box<EtmKey<C>>),
    Ocb3(Ocb3Key),
    Ccm(Box<CcmKey>),
    MacSuite(Box<MacSuiteKey>),
    ChaCha20Poly1305(Box<ChaCha20Poly1305Key>),
    Mac(Box<MacKey>),
}

/// Which kernels process a packet: bits, of which a set is a byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Gcm = 1,
    Ocb3 = 2,
    ChaCha20Poly1305 = 4,
    Ccm = 8,
    Etm = 16,
    /// A MAC of [`crate::mac`] alone, but for HMAC.
    Mac = 32,
    /// A cipher with such a MAC, and GMAC as a suite of ESP.
    MacSuite = 64,
    /// HMAC alone.
    Hmac = 128,
}

/// A kernel that encrypts and tags.
pub(crate) type SealKernel = Kernel<CbcEncryptKey>;

/// A kernel that verifies and decrypts.
pub(crate) type OpenKernel = Kernel<CbcDecryptKey>;

impl<C: CbcKey> Kernel<C> {
    /// Expands the keys with the instructions of `tier`.
    pub(crate) fn new(material: &KeyMaterial, tier: Tier) -> Result<Kernel<C>, InvalidLength> {
        let key = material.cipher_key();
        let salt = material.salt();
        Ok(match material.suite() {
            Suite::Aead(Aead::AesGcm16(size)) => Kernel::Gcm(GcmKey::new(tier, size, key, salt)?),
            Suite::Aead(Aead::ChaCha20Poly1305) => {
                Kernel::ChaCha20Poly1305(ChaCha20Poly1305Key::new(key)?)
            }
            Suite::Aead(Aead::AesGmac(size)) => {
                Kernel::MacSuite(Box::new(MacSuiteKey::gmac(tier, size, key, salt)?))
            }
            Suite::Aead(Aead::AesCcm8(size) | Aead::AesCcm12(size) | Aead::AesCcm16(size)) => {
                let tag_bytes = material.suite().tag_bytes();
                Kernel::Ccm(Box::new(CcmKey::new(tier, size, key, salt, tag_bytes)?))
            }
            Suite::Aead(Aead::AesCtrMac(mac)) => {
                Kernel::MacSuite(Box::new(MacSuiteKey::new(tier, mac, key)?))
            }
            Suite::Aead(Aead::AesOcb3(size)) => {
                Kernel::Ocb3(Ocb3Key::new(tier, size, key, C::DECRYPTS)?)
            }
            Suite::EncryptThenMac(cipher, mac) => {
                let secret = EtmSecret {
                    key,
                    salt,
                    integrity_key: material.integrity_key(),
                };
                Kernel::Etm(Box::new(EtmKey::new(cipher, digest_of(mac), secret, tier)?))
            }
            Suite::Mac(Algorithm::Hmac(digest)) => {
                let secret = EtmSecret {
                    key: &[],
                    salt,
                    integrity_key: key,
                };
                Kernel::Hmac(Box::new(EtmKey::new(Cipher::Null, digest, secret, tier)?))
            }
            Suite::Mac(algorithm) => {
                Kernel::Mac(Box::new(MacKey::new(tier, algorithm, key, salt)?))
            }
        })
    }
}

impl<C: CbcKey> Kernel<C> {
    /// Expands keys of one suite, those of UMAC in lanes.
    pub(crate) fn new_batch(
        materials: &[KeyMaterial],
        tier: Tier,
    ) -> Result<Vec<Kernel<C>>, InvalidLength> {
        match materials.first().map(KeyMaterial::suite) {
            Some(Suite::Mac(Algorithm::Umac(words))) => {
                let raw: Vec<&[u8]> = materials.iter().map(KeyMaterial::cipher_key).collect();
                let keys = MacKey::new_umac_batch(tier, words, &raw)?.into_iter();
                Ok(keys.map(|key| Kernel::Mac(Box::new(key))).collect())
            }
            _ => {
                let materials = materials.iter();
                materials.map(|key| Kernel::new(key, tier)).collect()
            }
        }
    }
}

impl<C> Kernel<C> {
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Kernel::Gcm(_) => Kind::Gcm,
            Kernel::Etm(_) => Kind::Etm,
            Kernel::Hmac(_) => Kind::Hmac,
            Kernel::Ocb3(_) => Kind::Ocb3,
            Kernel::ChaCha20Poly1305(_) => Kind::ChaCha20Poly1305,
            Kernel::Ccm(_) => Kind::Ccm,
            Kernel::Mac(_) => Kind::Mac,
            Kernel::MacSuite(_) => Kind::MacSuite,
        }
    }

    /// The key of a packet of [`Kind::Ccm`].
    #[inline]
    pub(crate) fn ccm(&self) -> Option<&CcmKey> {
        match self {
            Kernel::Ccm(key) => Some(key),
            _ => None,
        }
    }

    /// The key of a packet of [`Kind::Mac`] or [`Kind::MacSuite`].
    #[inline]
    pub(crate) fn mac(&self) -> Option<MacPacketKey<'_>> {
        match self {
            Kernel::Mac(mac) => Some(MacPacketKey { mac, cipher: None }),
            Kernel::MacSuite(key) => Some(key.packet_key()),
            _ => None,
        }
    }

    /// The key of a packet of [`Kind::Etm`] or [`Kind::Hmac`].
    #[inline]
    pub(crate) fn etm(&self) -> Option<&EtmKey<C>> {
        match self {
            Kernel::Etm(key) | Kernel::Hmac(key) => Some(key),
            _ => None,
        }
    }
}

/// Salt and IV joined: the head of RFC 3686's counter block.
pub(crate) fn salted_nonce(salt: [u8; 4], iv: &[u8]) -> Result<[u8; 12], InvalidLength> {
    let iv: [u8; 8] = iv.try_into().map_err(|_| InvalidLength)?;
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&salt);
    nonce[4..].copy_from_slice(&iv);
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    use aes::{Aes128Dec, Aes128Enc, Aes192Dec, Aes192Enc, Aes256Dec, Aes256Enc};
    use zeroize::ZeroizeOnDrop;

    /// Compiles only while every expanded key of other crates wipes itself,
    /// which each of them does only with the right feature.
    #[test]
    fn expanded_keys_are_wiped_when_dropped() {
        fn wiped<T: ZeroizeOnDrop>() {}
        wiped::<Aes128Enc>();
        wiped::<Aes192Enc>();
        wiped::<Aes256Enc>();
        wiped::<Aes128Dec>();
        wiped::<Aes192Dec>();
        wiped::<Aes256Dec>();
        wiped::<chacha20::ChaCha20>();
        wiped::<des::TdesEde3>();
        // HMAC's own type does not say so, but is made of two hash states.
        wiped::<sha1::Sha1>();
        wiped::<sha2::Sha256>();
        wiped::<sha2::Sha384>();
        wiped::<sha2::Sha512>();
    }
}
