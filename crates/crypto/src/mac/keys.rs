//! Keys of MACs in the form that kernels take.

use weir_simd::Tier;

use super::algorithm::{Algorithm, TagWords};
use super::batch::Kind;
use super::mmh::MmhKey;
use super::poly1305::Poly1305Key;
use super::umac::{self, UmacKey};
use crate::aead::gcm::GcmKey;
use crate::kernel::InvalidLength;

/// An expanded key.
pub(crate) struct MacKey {
    #[cfg(test)]
    pub(super) algorithm: Algorithm,
    /// What is processed together, at hand for every packet.
    pub(super) kind: Kind,
    pub(super) expanded: Expanded,
}

/// Secrets lie in boxes of their own, so that moving a key leaves no copy.
pub(super) enum Expanded {
    /// There until it is dropped.
    Umac(Option<Box<UmacKey>>),
    Mmh(Box<MmhKey>),
    Gmac(GcmKey),
    Poly1305(Box<Poly1305Key>),
}

impl MacKey {
    /// Expands a key with the instructions of `tier`; `salt` begins the nonces of GMAC and
    /// Poly1305.
    pub(crate) fn new(
        tier: Tier,
        algorithm: Algorithm,
        key: &[u8],
        salt: [u8; 4],
    ) -> Result<MacKey, InvalidLength> {
        let expanded = match algorithm {
            Algorithm::Umac(words) => Expanded::Umac(Some(UmacKey::new(tier, words, key)?)),
            Algorithm::Mmh(words) => Expanded::Mmh(MmhKey::new(tier, words, key)?),
            Algorithm::Gmac(size) => Expanded::Gmac(GcmKey::new(tier, size, key, salt)?),
            Algorithm::Poly1305 => Expanded::Poly1305(Box::new(Poly1305Key::new(key, salt)?)),
            // It has kernels of another kind: `crate::etm`.
            Algorithm::Hmac(_) => return Err(InvalidLength),
        };
        Ok(MacKey::of(algorithm, expanded))
    }

    /// Expands keys of UMAC, sixteen at a time where `tier` has vectors for it.
    pub(crate) fn new_umac_batch(
        tier: Tier,
        words: TagWords,
        keys: &[&[u8]],
    ) -> Result<Vec<MacKey>, InvalidLength> {
        let keys = UmacKey::new_batch(tier, words, keys)?.into_iter();
        let algorithm = Algorithm::Umac(words);
        Ok(keys
            .map(|key| MacKey::of(algorithm, Expanded::Umac(Some(key))))
            .collect())
    }

    fn of(algorithm: Algorithm, expanded: Expanded) -> MacKey {
        MacKey {
            #[cfg(test)]
            algorithm,
            kind: Kind::of(algorithm),
            expanded,
        }
    }
}

impl Drop for MacKey {
    fn drop(&mut self) {
        if let Expanded::Umac(key) = &mut self.expanded
            && let Some(key) = key.take()
        {
            umac::spend(key);
        }
    }
}
