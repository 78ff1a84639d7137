//! A suite's keys in the form that its kernel takes.
//!
//! [`crate::seal`] and [`crate::open`] check a whole batch and then hand all of
//! its packets of one kind to their kernels at once; a kind that a kept crate
//! serves is processed packet by packet.

use weir_simd::Tier;

use crate::aead::gcm::GcmKey;
use crate::aead::{AeadKey, CcmKey, ChaCha20Poly1305Key, MacSuiteKey, Modes, Ocb3Key};
use crate::etm::EtmKey;
use crate::keys::{KeyMaterial, KeyPolicy};
use crate::mode::{CbcDecryptKey, CbcEncryptKey, CbcKey};
use crate::suite::{Aead, Suite};

/// A cipher was handed a length that is not its own. The checks of key
/// material and of a batch keep this from happening; where it does happen,
/// nothing has been written, and it is an error and no panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Misshapen;

/// A suite's expanded keys. `C` is the direction: CBC chains with another
/// schedule when it decrypts. Secrets are boxed, because moving a schedule
/// would leave copies of it behind that nobody wipes; each variant has a box of
/// its own, so that a kernel is one step away from its schedule.
pub(crate) enum Kernel<C> {
    /// Its packets are processed by [`crate::aead::gcm::process`].
    Gcm(GcmKey),
    /// Its packets are processed by [`crate::etm::seal`] and
    /// [`crate::etm::open`].
    Etm(Box<EtmKey<C>>),
    /// Its packets are processed by [`crate::aead::process`].
    Ocb3(Ocb3Key),
    /// As above.
    Ccm(Box<CcmKey>),
    /// As above.
    MacSuite(Box<MacSuiteKey>),
    /// Its packets are processed one by one.
    ChaCha20Poly1305(Box<ChaCha20Poly1305Key>),
}

/// Which kinds of packets a batch has besides GCM's, so that it pays for no
/// others.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kinds {
    /// Whether there are packets that are prepared before they are gathered.
    pub(crate) prepared: bool,
    /// Those of [`crate::aead::process`].
    pub(crate) modes: Modes,
    /// Whether there are encrypt-then-MAC packets.
    pub(crate) etm: bool,
}

impl Kinds {
    /// Adds that of a packet with this key.
    #[inline]
    pub(crate) fn add<C>(&mut self, kernel: &Kernel<C>) {
        if !matches!(kernel, Kernel::Gcm(_)) {
            self.prepared |= !kernel.begins_when_gathered();
            self.modes.add(kernel.aead());
            self.etm |= matches!(kernel, Kernel::Etm(_));
        }
    }
}

/// A kernel that encrypts and tags.
pub(crate) type SealKernel = Kernel<CbcEncryptKey>;

/// A kernel that verifies and decrypts.
pub(crate) type OpenKernel = Kernel<CbcDecryptKey>;

impl<C: CbcKey> Kernel<C> {
    /// Expands the keys with the instructions of `tier`, as far as `policy`
    /// wants them expanded.
    pub(crate) fn new(
        material: &KeyMaterial,
        tier: Tier,
        policy: KeyPolicy,
    ) -> Result<Kernel<C>, Misshapen> {
        let key = material.cipher_key();
        let salt = material.salt();
        Ok(match material.suite() {
            Suite::Aead(Aead::AesGcm16(size)) => {
                Kernel::Gcm(GcmKey::new(tier, size, key, salt, policy)?)
            }
            Suite::Aead(Aead::ChaCha20Poly1305) => {
                Kernel::ChaCha20Poly1305(Box::new(ChaCha20Poly1305Key::new(key, salt)?))
            }
            Suite::Aead(Aead::AesGmac(size)) => {
                Kernel::MacSuite(Box::new(MacSuiteKey::gmac(tier, size, key, salt)?))
            }
            Suite::Aead(Aead::AesCcm16(size)) => {
                Kernel::Ccm(Box::new(CcmKey::new(tier, size, key, salt)?))
            }
            Suite::Aead(Aead::AesCtrMac(mac)) => {
                Kernel::MacSuite(Box::new(MacSuiteKey::new(tier, mac, key)?))
            }
            Suite::Aead(Aead::AesOcb3(size)) => {
                Kernel::Ocb3(Ocb3Key::new(tier, size, key, salt, C::DECRYPTS)?)
            }
            Suite::EncryptThenMac(cipher, mac) => {
                Kernel::Etm(Box::new(EtmKey::new(material, (cipher, mac), tier)?))
            }
        })
    }
}

impl<C> Kernel<C> {
    /// Seals a packet if it is of the kind that is processed one by one, and says
    /// whether it did.
    #[inline]
    pub(crate) fn seal_alone(
        &self,
        prefix: &[u8],
        iv: &[u8],
        text: &mut [u8],
        tag: &mut [u8],
    ) -> bool {
        match self {
            Kernel::Gcm(_)
            | Kernel::Ccm(_)
            | Kernel::Ocb3(_)
            | Kernel::MacSuite(_)
            | Kernel::Etm(_) => false,
            Kernel::ChaCha20Poly1305(key) => key.seal(prefix, iv, text, tag).is_ok(),
        }
    }

    /// Whether a packet is prepared where its kind gathers it, so that a batch is
    /// gone through once less.
    #[inline]
    pub(crate) fn begins_when_gathered(&self) -> bool {
        matches!(self, Kernel::Gcm(_) | Kernel::Ocb3(_))
    }

    /// The key, if it is of a mode that [`crate::aead::process`] serves.
    #[inline]
    pub(crate) fn aead(&self) -> Option<AeadKey<'_>> {
        match self {
            Kernel::Ocb3(key) => Some(AeadKey::Ocb3(key)),
            Kernel::Ccm(key) => Some(AeadKey::Ccm(key)),
            Kernel::MacSuite(key) => Some(AeadKey::MacSuite(key)),
            Kernel::Gcm(_) | Kernel::Etm(_) | Kernel::ChaCha20Poly1305(_) => None,
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
        wiped::<chacha20poly1305::ChaCha20Poly1305>();
        wiped::<des::TdesEde3>();
        // HMAC's own type does not say so, but is made of two hash states.
        wiped::<sha1::Sha1>();
        wiped::<sha2::Sha256>();
        wiped::<sha2::Sha384>();
        wiped::<sha2::Sha512>();
    }
}
