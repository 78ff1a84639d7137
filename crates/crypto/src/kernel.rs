//! One packet under one key: the kept crates behind one shape.
//!
//! [`crate::seal`] and [`crate::open`] check a whole batch and then call a
//! kernel per packet. Kernels that take many packets at once replace the call,
//! not the jobs.

use crate::aead::{ChaCha20Poly1305Key, GcmKey};
use crate::keys::KeyMaterial;
use crate::mac::HmacKey;
use crate::mode::{CbcCipher, CbcDecryptKey, CbcEncryptKey, CbcKey, CtrKey};
use crate::suite::{Aead, Cipher, Suite};

/// A cipher was handed a length that is not its own. The checks of key
/// material and of a batch keep this from happening; where it does happen,
/// nothing has been written, and it is an error and no panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Misshapen;

/// A suite's expanded keys. `C` is the direction: CBC chains with another
/// schedule when it decrypts.
pub(crate) enum Kernel<C> {
    Gcm(GcmKey),
    ChaCha20Poly1305(ChaCha20Poly1305Key),
    Null(HmacKey),
    Ctr(CtrKey, HmacKey),
    Cbc(C, HmacKey),
}

/// A kernel that encrypts and tags.
pub(crate) type SealKernel = Kernel<CbcEncryptKey>;

/// A kernel that verifies and decrypts.
pub(crate) type OpenKernel = Kernel<CbcDecryptKey>;

impl<C: CbcKey> Kernel<C> {
    /// Expands the keys. Boxed, because moving a large schedule would leave
    /// copies of it behind that nobody wipes.
    pub(crate) fn new(material: &KeyMaterial) -> Result<Box<Kernel<C>>, Misshapen> {
        let key = material.cipher_key();
        let salt = material.salt();
        let kernel = match material.suite() {
            Suite::Aead(Aead::AesGcm16(size)) => Kernel::Gcm(GcmKey::new(size, key, salt)?),
            Suite::Aead(Aead::ChaCha20Poly1305) => {
                Kernel::ChaCha20Poly1305(ChaCha20Poly1305Key::new(key, salt)?)
            }
            Suite::EncryptThenMac(cipher, mac) => {
                let mac = HmacKey::new(mac, material.integrity_key())?;
                match cipher {
                    Cipher::Null => Kernel::Null(mac),
                    Cipher::AesCtr(size) => Kernel::Ctr(CtrKey::new(size, key, salt)?, mac),
                    Cipher::AesCbc(size) => Kernel::Cbc(C::new(CbcCipher::Aes(size), key)?, mac),
                    Cipher::TripleDesCbc => Kernel::Cbc(C::new(CbcCipher::TripleDes, key)?, mac),
                }
            }
        };
        Ok(Box::new(kernel))
    }
}

impl SealKernel {
    /// Encrypts `text` in place and writes `tag`.
    pub(crate) fn seal(
        &self,
        prefix: &[u8],
        iv: &[u8],
        text: &mut [u8],
        suffix: &[u8],
        tag: &mut [u8],
    ) -> Result<(), Misshapen> {
        let mac = match self {
            Kernel::Gcm(key) => return key.seal(prefix, iv, text, tag),
            Kernel::ChaCha20Poly1305(key) => return key.seal(prefix, iv, text, tag),
            Kernel::Null(mac) => mac,
            Kernel::Ctr(key, mac) => {
                key.apply(iv, text)?;
                mac
            }
            Kernel::Cbc(key, mac) => {
                key.encrypt(iv, text)?;
                mac
            }
        };
        mac.write_tag(&[prefix, iv, text, suffix], tag)
    }
}

impl OpenKernel {
    /// Verifies `tag` and only then decrypts `text` in place. Where it returns
    /// `false`, the caller clears the text.
    pub(crate) fn open(
        &self,
        prefix: &[u8],
        iv: &[u8],
        text: &mut [u8],
        suffix: &[u8],
        tag: &[u8],
    ) -> bool {
        let mac = match self {
            Kernel::Gcm(key) => return key.open(prefix, iv, text, tag),
            Kernel::ChaCha20Poly1305(key) => return key.open(prefix, iv, text, tag),
            Kernel::Null(mac) | Kernel::Ctr(_, mac) | Kernel::Cbc(_, mac) => mac,
        };
        if !mac.verifies(&[prefix, iv, text, suffix], tag) {
            return false;
        }
        match self {
            Kernel::Ctr(key, _) => key.apply(iv, text).is_ok(),
            Kernel::Cbc(key, _) => key.decrypt(iv, text).is_ok(),
            Kernel::Gcm(_) | Kernel::ChaCha20Poly1305(_) | Kernel::Null(_) => true,
        }
    }
}

/// Salt and IV joined: the 96-bit nonce of RFC 4106 section 4 and RFC 7634
/// section 2, and the head of RFC 3686's counter block.
pub(crate) fn salted_nonce(salt: [u8; 4], iv: &[u8]) -> Result<[u8; 12], Misshapen> {
    let iv: [u8; 8] = iv.try_into().map_err(|_| Misshapen)?;
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&salt);
    nonce[4..].copy_from_slice(&iv);
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    use aes::{Aes128Dec, Aes128Enc, Aes192Dec, Aes192Enc, Aes256Dec, Aes256Enc};
    use aes_gcm::AesGcm;
    use aes_gcm::aead::consts::U12;
    use zeroize::ZeroizeOnDrop;

    /// Compiles only while every expanded key of the kept crates wipes itself,
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
        wiped::<AesGcm<Aes128Enc, U12>>();
        wiped::<AesGcm<Aes192Enc, U12>>();
        wiped::<AesGcm<Aes256Enc, U12>>();
        wiped::<chacha20poly1305::ChaCha20Poly1305>();
        wiped::<des::TdesEde3>();
        // HMAC's own type does not say so, but is made of two hash states.
        wiped::<sha1::Sha1>();
        wiped::<sha2::Sha256>();
        wiped::<sha2::Sha384>();
        wiped::<sha2::Sha512>();
    }
}
