//! Keys that protect one packet each: kept as they came, and expanded side by side when their
//! batch runs.

use weir_simd::Tier;

use super::key::{EtmKey, EtmSecret};
use crate::batch::BATCH_PACKETS;
use crate::cipher::expand_each;
use crate::digest::Digest;
use crate::frames;
use crate::kernel::InvalidLength;
use crate::limits::Lengths;
use crate::mac::hmac::{HmacKey, digest_of};
use crate::mode::CbcKey;
use crate::simd::{Wiped, wipe};
use crate::suite::{Cipher, Mac, Suite};

/// Keys that are expanded together.
const TOGETHER: usize = 16;

/// The keys of a batch. Their memory stays for the next one.
pub(crate) struct OneTimeEtmKeys<C> {
    len: usize,
    raw: Vec<RawKey>,
    expanded: Vec<EtmKey<C>>,
}

struct RawKey {
    suite: Suite,
    cipher: Cipher,
    digest: Digest,
    lengths: Lengths,
    key_bytes: u8,
    integrity_key_bytes: u8,
    salt: [u8; 4],
    key: Wiped<[u8; 32]>,
    integrity_key: Wiped<[u8; 64]>,
}

impl<C: CbcKey> OneTimeEtmKeys<C> {
    pub(crate) fn new() -> OneTimeEtmKeys<C> {
        OneTimeEtmKeys {
            len: 0,
            raw: Vec::new(),
            expanded: Vec::new(),
        }
    }

    /// Adds a key and returns its index.
    pub(crate) fn add(
        &mut self,
        (cipher, mac): (Cipher, Mac),
        secret: EtmSecret<'_>,
        lengths: Lengths,
    ) -> Result<usize, InvalidLength> {
        let (suite, digest) = (Suite::EncryptThenMac(cipher, mac), digest_of(mac));
        let index = self.len;
        if index == self.raw.len() {
            // Keys that moved would leave copies behind.
            self.raw
                .reserve_exact(BATCH_PACKETS - self.raw.len().min(BATCH_PACKETS));
            self.raw.push(RawKey {
                suite,
                cipher,
                digest,
                lengths,
                key_bytes: 0,
                integrity_key_bytes: 0,
                salt: [0; 4],
                key: Wiped([0; 32]),
                integrity_key: Wiped([0; 64]),
            });
        }
        let raw = self.raw.get_mut(index).ok_or(InvalidLength)?;
        (raw.suite, raw.cipher, raw.digest) = (suite, cipher, digest);
        raw.lengths = lengths;
        raw.salt = secret.salt;
        raw.key_bytes = put(&mut *raw.key, secret.key)?;
        raw.integrity_key_bytes = put(&mut *raw.integrity_key, secret.integrity_key)?;
        self.len += 1;
        Ok(index)
    }

    /// What the descriptor of a key's packet is held against, and its salt.
    #[inline]
    pub(crate) fn lengths_and_salt(&self, index: usize) -> Option<(&Lengths, [u8; 4])> {
        let raw = self.raw[..self.len].get(index)?;
        Some((&raw.lengths, raw.salt))
    }

    /// Lengths of the suite, if the key that was added last is of it.
    #[inline]
    pub(crate) fn last_lengths(&self, suite: Suite) -> Option<Lengths> {
        let last = self.raw[..self.len].last()?;
        (last.suite == suite).then_some(last.lengths)
    }

    /// The suite of a key.
    #[inline]
    pub(crate) fn suite(&self, index: usize) -> Option<Suite> {
        Some(self.raw[..self.len].get(index)?.suite)
    }

    /// Expands the keys with the instructions of `tier`.
    pub(crate) fn expand(&mut self, tier: Tier) {
        if self.len == 0 {
            return;
        }
        self.expanded.reserve(self.len);
        let raw = self.raw.get(..self.len).unwrap_or_default();
        frames::cleared(|| {
            for raw in raw {
                self.expanded
                    .push(EtmKey::zeros(raw.cipher, raw.digest, tier));
            }
            let mut expanded = &mut self.expanded[..];
            for alike in raw.chunk_by(|a, b| a.suite == b.suite) {
                for raw in alike.chunks(TOGETHER) {
                    let Some(keys) = expanded.split_off_mut(..raw.len()) else {
                        return;
                    };
                    let is_there = expand_alike(tier, raw, keys).is_ok();
                    keys.iter_mut().for_each(|key| key.is_there = is_there);
                }
            }
        });
    }

    /// A key that was expanded.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&EtmKey<C>> {
        self.expanded.get(index).filter(|key| key.is_there)
    }

    /// Wipes all keys.
    pub(crate) fn clear(&mut self) {
        for raw in self.raw.get_mut(..self.len).unwrap_or_default() {
            wipe(&mut raw.key[..]);
            wipe(&mut raw.integrity_key[..]);
        }
        self.expanded.clear();
        self.len = 0;
    }
}

/// Puts a key into its place and returns its length.
#[inline]
fn put(place: &mut [u8], key: &[u8]) -> Result<u8, InvalidLength> {
    let front = place.get_mut(..key.len()).ok_or(InvalidLength)?;
    front.copy_from_slice(key);
    Ok(key.len() as u8)
}

impl RawKey {
    fn secret(&self) -> EtmSecret<'_> {
        EtmSecret {
            key: self.key.get(..self.key_bytes.into()).unwrap_or_default(),
            salt: self.salt,
            integrity_key: self
                .integrity_key
                .get(..self.integrity_key_bytes.into())
                .unwrap_or_default(),
        }
    }
}

/// Expands keys of one suite.
fn expand_alike<C: CbcKey>(
    tier: Tier,
    raw: &[RawKey],
    keys: &mut [EtmKey<C>],
) -> Result<(), InvalidLength> {
    let Some((first, like)) = raw.first().zip(keys.first()) else {
        return Ok(());
    };
    if let Some(size) = like.aes_size(first.cipher) {
        let pairs = raw.iter().zip(&mut *keys);
        let pairs = pairs.map(|(raw, key)| (raw.secret().key, &mut key.round_keys));
        expand_each(tier, size, pairs)?;
        keys.iter_mut().for_each(EtmKey::turn);
    }
    for (raw, key) in raw.iter().zip(&mut *keys) {
        key.set_salt_and_other(first.cipher, raw.secret())?;
    }
    let pairs = raw.iter().zip(keys);
    let pairs = pairs.map(|(raw, key)| (raw.secret().integrity_key, &mut key.mac));
    HmacKey::set_each(tier, first.digest, pairs);
    Ok(())
}
