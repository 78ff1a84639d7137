//! Keys: as they are configured, and as kernels take them.

use std::fmt;

use weir_simd::Tier;
use zeroize::Zeroizing;

use super::algorithm::Algorithm;
use super::batch::Kind;
use super::hmac::HmacKey;
use super::mmh::MmhKey;
use super::poly1305::Poly1305Key;
use super::umac::UmacKey;
use crate::aead::gcm::GcmKey;
use crate::engine::{Family, trusted_tier};
use crate::keys::{Counter, Exhausted, KeyError, KeyPolicy, Ticket};

/// The raw key of one algorithm, of the right length. Wiped when dropped; not
/// `Clone`, and a [`TaggingKey`] takes it whole, so that no second key can count
/// through the same nonces. `Debug` shows no secret.
pub struct Material {
    algorithm: Algorithm,
    key: Zeroizing<Box<[u8]>>,
}

/// A key that makes tags. It owns the counter that its nonces are, is neither
/// `Clone` nor serializable, and is wiped when dropped; `Debug` shows no secret.
pub struct TaggingKey {
    pub(super) key: MacKey,
    counter: Counter,
}

/// A key that verifies tags, expanded once. Wiped when dropped; `Debug` shows no
/// secret.
pub struct VerifyingKey {
    pub(super) key: MacKey,
}

/// An expanded key.
pub(crate) struct MacKey {
    pub(super) algorithm: Algorithm,
    /// What batches ask for, of the algorithm.
    pub(super) kind: Kind,
    pub(super) tag_bytes: u8,
    pub(super) expanded: Expanded,
}

/// Secrets lie in boxes of their own, so that moving a key leaves no copy.
pub(super) enum Expanded {
    Umac(Box<UmacKey>),
    Mmh(Box<MmhKey>),
    Gmac(GcmKey),
    Poly1305(Box<Poly1305Key>),
    Hmac(Box<HmacKey>),
}

impl Material {
    /// A key of [`Algorithm::key_bytes`], of HMAC that many or more. The caller
    /// wipes its own copy.
    ///
    /// # Errors
    /// [`KeyError::IntegrityKey`].
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<Material, KeyError> {
        let needed_bytes = algorithm.key_bytes();
        let is_right = match algorithm {
            Algorithm::Hmac(_) => key.len() >= needed_bytes,
            _ => key.len() == needed_bytes,
        };
        match is_right {
            true => Ok(Material {
                algorithm,
                key: Zeroizing::new(key.into()),
            }),
            false => Err(KeyError::IntegrityKey {
                needed_bytes,
                given_bytes: key.len(),
            }),
        }
    }

    /// The algorithm that the key belongs to.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl TaggingKey {
    /// Expands `material` and starts to count at `first`, the lowest value that
    /// was never used under this key. Nothing may be tagged before
    /// [`TaggingKey::allow_until`] is called.
    ///
    /// # Errors
    /// [`KeyError::NoEngine`], or [`KeyError::Refused`], which would be a defect
    /// of this crate.
    pub fn new(material: Material, first: u64) -> Result<TaggingKey, KeyError> {
        Ok(TaggingKey::tagging(MacKey::new(&material)?, first))
    }

    /// Expands many keys at once, which takes less time for each: as
    /// [`TaggingKey::new`], with the first value of each key's counter beside it.
    ///
    /// # Errors
    /// As there.
    pub fn new_batch(materials: Vec<(Material, u64)>) -> Result<Vec<TaggingKey>, KeyError> {
        TaggingKey::new_batch_over(Vec::new(), materials)
    }

    /// As [`TaggingKey::new_batch`], in the memory of keys that are spent, where these are
    /// of UMAC: a change of keys then allocates nothing and has nothing to wipe.
    ///
    /// # Errors
    /// As there; the spent keys are gone in any case.
    pub fn new_batch_over(
        spent: Vec<TaggingKey>,
        materials: Vec<(Material, u64)>,
    ) -> Result<Vec<TaggingKey>, KeyError> {
        let firsts: Vec<u64> = materials.iter().map(|(_, first)| *first).collect();
        let materials: Vec<Material> = materials.into_iter().map(|(key, _)| key).collect();
        let spent = spent.into_iter().map(|key| key.key);
        let keys = MacKey::new_batch(spent, &materials)?
            .into_iter()
            .zip(firsts);
        Ok(keys
            .map(|(key, first)| TaggingKey::tagging(key, first))
            .collect())
    }

    fn tagging(key: MacKey, first: u64) -> TaggingKey {
        // Of nonces of 64 bits; one value stays unused, so that an end exists.
        let counter = Counter::new(first, u64::MAX);
        TaggingKey { key, counter }
    }

    /// Lets counter values below `end` be used. The caller has made sure that
    /// they will never be handed out again, also after a crash: for a static
    /// key, by writing `end` to a state file and syncing it.
    pub fn allow_until(&mut self, end: u64) {
        self.counter.allow_until(end);
    }

    /// Takes the next counter value, which is the message's nonce
    /// ([`Ticket::counter`]).
    ///
    /// # Errors
    /// [`Exhausted`], and the counter stays where it is.
    #[inline]
    pub fn next_ticket(&mut self) -> Result<Ticket, Exhausted> {
        self.counter.next_ticket()
    }

    /// The value that [`TaggingKey::next_ticket`] would take.
    pub fn next_counter(&self) -> u64 {
        self.counter.next()
    }

    /// How many more tickets the reservation holds.
    pub fn reserved(&self) -> u64 {
        self.counter.reserved()
    }

    /// The algorithm of this key.
    #[inline]
    pub fn algorithm(&self) -> Algorithm {
        self.key.algorithm
    }

    #[inline]
    pub(super) fn drew(&self, ticket: &Ticket) -> bool {
        self.counter.drew(ticket)
    }
}

impl VerifyingKey {
    /// Expands `material`.
    ///
    /// # Errors
    /// As [`TaggingKey::new`].
    pub fn new(material: &Material) -> Result<VerifyingKey, KeyError> {
        MacKey::new(material).map(|key| VerifyingKey { key })
    }

    /// Expands many keys at once, which takes less time for each.
    ///
    /// # Errors
    /// As [`TaggingKey::new`].
    pub fn new_batch(materials: &[Material]) -> Result<Vec<VerifyingKey>, KeyError> {
        let keys = MacKey::new_batch([], materials)?.into_iter();
        Ok(keys.map(|key| VerifyingKey { key }).collect())
    }

    /// The algorithm of this key.
    #[inline]
    pub fn algorithm(&self) -> Algorithm {
        self.key.algorithm
    }
}

impl MacKey {
    fn new(material: &Material) -> Result<MacKey, KeyError> {
        let tier = trusted_tier(Family::of_mac(material.algorithm)).ok_or(KeyError::NoEngine)?;
        MacKey::at_tier(material, tier)
    }

    fn new_batch(
        spent: impl IntoIterator<Item = MacKey>,
        materials: &[Material],
    ) -> Result<Vec<MacKey>, KeyError> {
        MacKey::new_batch_at_tier(spent, materials, trusted_tier)
    }

    /// Expands with the instructions of the tiers that `tier` says, in the memory of
    /// spent keys where it serves.
    pub(crate) fn new_batch_at_tier(
        spent: impl IntoIterator<Item = MacKey>,
        materials: &[Material],
        tier: impl Fn(Family) -> Option<Tier>,
    ) -> Result<Vec<MacKey>, KeyError> {
        let mut spent = spent.into_iter().filter_map(|key| match key.expanded {
            Expanded::Umac(key) => Some(key),
            _ => None,
        });
        let mut keys = Vec::with_capacity(materials.len());
        for alike in materials.chunk_by(|a, b| a.algorithm == b.algorithm) {
            let algorithm = alike[0].algorithm;
            let tier = tier(Family::of_mac(algorithm)).ok_or(KeyError::NoEngine)?;
            if let Algorithm::Umac(words) = algorithm {
                let raw: Vec<&[u8]> = alike.iter().map(|material| &material.key[..]).collect();
                let expanded = UmacKey::new_batch(tier, words, &raw, &mut spent)?.into_iter();
                keys.extend(expanded.map(|key| MacKey::of(algorithm, Expanded::Umac(key))));
            } else {
                for material in alike {
                    keys.push(MacKey::at_tier(material, tier)?);
                }
            }
        }
        Ok(keys)
    }

    #[inline]
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Expands with the instructions of `tier`.
    pub(crate) fn at_tier(material: &Material, tier: Tier) -> Result<MacKey, KeyError> {
        let key = &material.key[..];
        let expanded = match material.algorithm {
            Algorithm::Umac(words) => Expanded::Umac(UmacKey::new(tier, words, key)?),
            Algorithm::Mmh(words) => Expanded::Mmh(MmhKey::new(tier, words, key)?),
            Algorithm::Gmac(size) => {
                let (key, salt) = key.split_last_chunk().ok_or(KeyError::Refused)?;
                let policy = KeyPolicy::Precomputed;
                Expanded::Gmac(GcmKey::new(tier, size, key, *salt, policy)?)
            }
            Algorithm::Poly1305 => Expanded::Poly1305(Box::new(Poly1305Key::new(key)?)),
            Algorithm::Hmac(digest) => Expanded::Hmac(Box::new(HmacKey::new(digest, key))),
        };
        Ok(MacKey::of(material.algorithm, expanded))
    }

    fn of(algorithm: Algorithm, expanded: Expanded) -> MacKey {
        MacKey {
            algorithm,
            kind: Kind::of(algorithm),
            // At most 64.
            tag_bytes: algorithm.tag_bytes() as u8,
            expanded,
        }
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TaggingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaggingKey")
            .field("algorithm", &self.key.algorithm)
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyingKey")
            .field("algorithm", &self.key.algorithm)
            .finish_non_exhaustive()
    }
}
