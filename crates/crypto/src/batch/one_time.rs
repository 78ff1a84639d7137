//! Keys that protect one packet each.

use weir_simd::Tier;

use super::core::Key;
use super::{BATCH_PACKETS, Refusal};
use crate::aead::gcm::{KeyForm, KeyView};
use crate::engine::{Family, trusted_tier};
use crate::etm::{EtmKey, EtmSecret, OneTimeEtmKeys};
use crate::kernel::Kind;
use crate::keys::{KeyError, KeyId, KeyMaterial, NonceRule};
use crate::limits::Lengths;
use crate::simd::wipe;
use crate::suite::{Aead, AesKeySize, Cipher, Mac, Suite};

/// The one-time keys of a batch. Those of AES-GCM, ChaCha20-Poly1305 and encrypt-then-MAC are kept
/// as they came: they are expanded in lanes, or taken as they are.
pub(super) struct OneTimeKeys<K: Key> {
    len: usize,
    /// In the names of this batch's keys, so that those of earlier batches name nothing.
    generation: u32,
    forms: [Form; BATCH_PACKETS],
    is_spent: [bool; BATCH_PACKETS],
    raw: Box<RawKeys>,
    salts: [[u8; SALT_BYTES]; BATCH_PACKETS],
    /// With the index of each among all keys, in ascending order.
    expanded: Vec<(usize, K)>,
    /// Of encrypt-then-MAC, kept as they came and expanded when the batch runs.
    etm: OneTimeEtmKeys<K::Direction>,
    /// For all packets; `None` for the tier that each family of suites has proved.
    tier: Option<Tier>,
    /// The suite of the last raw key, for which there is a tier.
    proved: Option<RawSuite>,
    gcm_lengths: Lengths,
    chacha_lengths: Lengths,
}

/// Raw keys, each in one cache line. They are wiped when the batch has run.
#[repr(align(64))]
struct RawKeys([[u8; MAX_KEY_BYTES]; BATCH_PACKETS]);

/// What of a key its descriptor is held against.
pub(super) struct OneTime<'k> {
    pub(super) index: usize,
    pub(super) lengths: &'k Lengths,
    pub(super) salt: [u8; 4],
    pub(super) kind: Kind,
}

/// How a key is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Raw(RawSuite),
    /// Index among those of encrypt-then-MAC.
    Etm(u8),
    Expanded,
}

/// Suites whose keys are kept raw.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RawSuite {
    Gcm(AesKeySize),
    ChaCha20Poly1305,
}

const MAX_KEY_BYTES: usize = 32;
const SALT_BYTES: usize = 4;

impl RawSuite {
    #[inline(always)]
    fn of(suite: Suite) -> Option<RawSuite> {
        match suite {
            Suite::Aead(Aead::AesGcm16(size)) => Some(RawSuite::Gcm(size)),
            Suite::Aead(Aead::ChaCha20Poly1305) => Some(RawSuite::ChaCha20Poly1305),
            _ => None,
        }
    }
}

impl<K: Key> OneTimeKeys<K> {
    pub(super) fn new(tier: Option<Tier>) -> OneTimeKeys<K> {
        let lengths = |aead| Lengths::of(Suite::Aead(aead), &NonceRule::Explicit);
        OneTimeKeys {
            len: 0,
            generation: 0,
            forms: [Form::Expanded; BATCH_PACKETS],
            is_spent: [true; BATCH_PACKETS],
            raw: Box::new(RawKeys([[0; MAX_KEY_BYTES]; BATCH_PACKETS])),
            salts: [[0; SALT_BYTES]; BATCH_PACKETS],
            expanded: Vec::new(),
            etm: OneTimeEtmKeys::new(),
            tier,
            proved: None,
            gcm_lengths: lengths(Aead::AesGcm16(AesKeySize::Aes128)),
            chacha_lengths: lengths(Aead::ChaCha20Poly1305),
        }
    }

    /// Adds a key for one packet of the present batch.
    #[inline]
    pub(super) fn add(
        &mut self,
        suite: Suite,
        key: &[u8],
        integrity_key: &[u8],
    ) -> Result<KeyId, KeyError> {
        let index = self.len;
        if index >= BATCH_PACKETS {
            return Err(KeyError::TooManyOneTimeKeys { max: BATCH_PACKETS });
        }
        let form = match RawSuite::of(suite) {
            Some(raw_suite) if integrity_key.is_empty() => {
                if self.proved != Some(raw_suite) {
                    self.tier_for(suite)?;
                    self.proved = Some(raw_suite);
                }
                // Copies of constant lengths are instructions and no calls.
                let is_added = match raw_suite {
                    RawSuite::Gcm(AesKeySize::Aes128) => self.add_raw::<16>(index, key),
                    RawSuite::Gcm(AesKeySize::Aes192) => self.add_raw::<24>(index, key),
                    RawSuite::Gcm(AesKeySize::Aes256) | RawSuite::ChaCha20Poly1305 => {
                        self.add_raw::<32>(index, key)
                    }
                };
                is_added.ok_or(KeyError::CipherKey {
                    needed_bytes: suite.key_bytes() + SALT_BYTES,
                    given_bytes: key.len(),
                })?;
                Form::Raw(raw_suite)
            }
            _ => match suite {
                Suite::EncryptThenMac(cipher, mac) => {
                    self.add_etm(suite, (cipher, mac), key, integrity_key)?
                }
                _ => {
                    self.add_expanded(suite, key, integrity_key)?;
                    Form::Expanded
                }
            },
        };
        self.forms[index] = form;
        self.is_spent[index] = false;
        self.len = index + 1;
        // At most 256.
        Ok(KeyId::one_time(index as u32, self.generation))
    }

    #[inline(always)]
    fn add_raw<const BYTES: usize>(&mut self, index: usize, key: &[u8]) -> Option<()> {
        let (raw, salt) = key.split_last_chunk::<SALT_BYTES>()?;
        let raw: &[u8; BYTES] = raw.try_into().ok()?;
        self.raw.0[index][..BYTES].copy_from_slice(raw);
        self.salts[index] = *salt;
        Some(())
    }

    /// Adds a key of encrypt-then-MAC.
    #[inline(never)]
    fn add_etm(
        &mut self,
        suite: Suite,
        (cipher, mac): (Cipher, Mac),
        key: &[u8],
        integrity_key: &[u8],
    ) -> Result<Form, KeyError> {
        let (key, salt) = KeyMaterial::check(suite, key, integrity_key)?;
        let lengths = match self.etm.last_lengths(suite) {
            Some(lengths) => lengths,
            None => {
                self.tier_for(suite)?;
                Lengths::of(suite, &NonceRule::Explicit)
            }
        };
        let secret = EtmSecret {
            key,
            salt,
            integrity_key,
        };
        let at = self.etm.add((cipher, mac), secret, lengths)?;
        // It is below 256.
        Ok(Form::Etm(at as u8))
    }

    /// Expands the keys of encrypt-then-MAC for the kernels of `tier`.
    pub(super) fn expand_etm(&mut self, tier: Tier) {
        self.etm.expand(tier);
    }

    /// A key of encrypt-then-MAC that was expanded.
    #[inline]
    pub(super) fn etm(&self, index: usize) -> Option<&EtmKey<K::Direction>> {
        match self.form(index)? {
            Form::Etm(at) => self.etm.get(at.into()),
            _ => None,
        }
    }

    /// The suite of a key of encrypt-then-MAC.
    #[inline]
    pub(super) fn etm_suite(&self, index: usize) -> Option<Suite> {
        match self.form(index)? {
            Form::Etm(at) => self.etm.suite(at.into()),
            _ => None,
        }
    }

    /// Adds a key whose kernels take it expanded.
    #[inline(never)]
    fn add_expanded(
        &mut self,
        suite: Suite,
        key: &[u8],
        integrity_key: &[u8],
    ) -> Result<(), KeyError> {
        let tier = self.tier_for(suite)?;
        let key = K::one_time(&KeyMaterial::new(suite, key, integrity_key)?, tier)?;
        self.expanded.push((self.len, key));
        Ok(())
    }

    /// The tier of a suite's kernels, which prove themselves first.
    #[cold]
    pub(super) fn tier_for(&self, suite: Suite) -> Result<Tier, KeyError> {
        let tier = self.tier.or_else(|| trusted_tier(Family::of(suite)));
        tier.ok_or(KeyError::NoEngine)
    }

    /// Finds a key that has no packet yet.
    #[inline]
    pub(super) fn find(&self, id: KeyId) -> Result<OneTime<'_>, Refusal> {
        let index = KeyId::one_time_index(id.slot).ok_or(Refusal::NoKey)? as usize;
        if index >= self.len.min(BATCH_PACKETS) || id.generation() != self.generation {
            return Err(Refusal::NoKey);
        }
        if self.is_spent[index] {
            return Err(Refusal::KeySpent);
        }
        let (lengths, kind) = match self.forms[index] {
            Form::Raw(RawSuite::Gcm(_)) => (&self.gcm_lengths, Kind::Gcm),
            Form::Raw(RawSuite::ChaCha20Poly1305) => (&self.chacha_lengths, Kind::ChaCha20Poly1305),
            Form::Etm(at) => {
                let found = self.etm.lengths_and_salt(at.into());
                let (lengths, salt) = found.ok_or(Refusal::NoKey)?;
                return Ok(OneTime {
                    index,
                    lengths,
                    salt,
                    kind: Kind::Etm,
                });
            }
            Form::Expanded => {
                let key = self.expanded(index).ok_or(Refusal::NoKey)?;
                return Ok(OneTime {
                    index,
                    lengths: key.lengths(),
                    salt: key.salt(),
                    kind: key.kernel().kind(),
                });
            }
        };
        Ok(OneTime {
            index,
            lengths,
            salt: self.salts[index],
            kind,
        })
    }

    /// The key has its packet.
    #[inline]
    pub(super) fn spend(&mut self, index: usize) {
        if let Some(is_spent) = self.is_spent.get_mut(index) {
            *is_spent = true;
        }
    }

    /// An expanded key.
    #[inline]
    pub(super) fn expanded(&self, index: usize) -> Option<&K> {
        let at = self
            .expanded
            .binary_search_by_key(&index, |(index, _)| *index);
        self.expanded.get(at.ok()?).map(|(_, key)| key)
    }

    /// How a key is kept.
    #[inline]
    fn form(&self, index: usize) -> Option<Form> {
        self.forms[..self.len].get(index).copied()
    }

    /// A raw key of AES-GCM as kernels see it.
    #[inline]
    pub(super) fn gcm(&self, index: usize) -> Option<KeyView<'_>> {
        let Form::Raw(RawSuite::Gcm(size)) = self.form(index)? else {
            return None;
        };
        let key = self.raw.0[index].get(..size.key_bytes())?;
        Some((KeyForm::raw(size), key))
    }

    /// A raw key of ChaCha20-Poly1305.
    #[inline]
    pub(super) fn chacha20(&self, index: usize) -> Option<&[u8; 32]> {
        match self.form(index)? {
            Form::Raw(RawSuite::ChaCha20Poly1305) => self.raw.0.get(index),
            _ => None,
        }
    }

    /// Wipes all keys. Their names name nothing from here on.
    #[inline]
    pub(super) fn clear(&mut self) {
        if self.len > 0 {
            wipe(&mut self.raw.0[..self.len]);
            self.expanded.clear();
            self.etm.clear();
            self.len = 0;
            self.generation = self.generation.wrapping_add(1);
        }
    }
}

impl Drop for RawKeys {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}
