//! Keys that protect one packet each.

use super::core::Key;
use super::{BATCH_PACKETS, Refusal};
use crate::aead::gcm::{KeyForm, KeyView};
use crate::kernel::Kind;
use crate::keys::{KeyError, KeyId, KeyMaterial, NonceRule};
use crate::limits::Lengths;
use crate::simd::{Wiped, wipe};
use crate::suite::{Aead, AesKeySize, Suite};

/// The one-time keys of a batch. Those of AES-GCM are kept as they came: kernels expand them
/// in lanes.
pub(super) struct OneTimeKeys<K> {
    len: usize,
    /// In the names of this batch's keys, so that those of earlier batches name nothing.
    generation: u32,
    kinds: [OneTimeKind; BATCH_PACKETS],
    is_spent: [bool; BATCH_PACKETS],
    raw: Box<Wiped<[[u8; MAX_KEY_BYTES]; BATCH_PACKETS]>>,
    salts: [[u8; SALT_BYTES]; BATCH_PACKETS],
    expanded: Vec<K>,
    /// Of AES-GCM.
    raw_lengths: Lengths,
}

/// What of a key its descriptor is held against.
pub(super) struct OneTime<'k> {
    pub(super) index: usize,
    pub(super) lengths: &'k Lengths,
    pub(super) salt: [u8; 4],
    pub(super) kind: Kind,
}

/// Where a key is.
#[derive(Clone, Copy)]
pub(super) enum OneTimeKind {
    Raw(AesKeySize),
    /// Index among the expanded ones.
    Expanded(usize),
}

const MAX_KEY_BYTES: usize = 32;
const SALT_BYTES: usize = 4;

impl<K: Key> OneTimeKeys<K> {
    pub(super) fn new() -> OneTimeKeys<K> {
        OneTimeKeys {
            len: 0,
            generation: 0,
            kinds: [OneTimeKind::Expanded(0); BATCH_PACKETS],
            is_spent: [true; BATCH_PACKETS],
            raw: Box::new(Wiped([[0; MAX_KEY_BYTES]; BATCH_PACKETS])),
            salts: [[0; SALT_BYTES]; BATCH_PACKETS],
            expanded: Vec::new(),
            raw_lengths: Lengths::of(
                Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128)),
                &NonceRule::Explicit,
            ),
        }
    }

    /// Adds a key; `expand` is for suites whose kernels take expanded ones.
    #[inline]
    pub(super) fn add(
        &mut self,
        suite: Suite,
        key: &[u8],
        integrity_key: &[u8],
        expand: impl FnOnce(KeyMaterial) -> Result<K, KeyError>,
    ) -> Result<KeyId, KeyError> {
        let index = self.len;
        if index == BATCH_PACKETS {
            return Err(KeyError::TooManyOneTimeKeys { max: BATCH_PACKETS });
        }
        self.kinds[index] = match suite {
            Suite::Aead(Aead::AesGcm16(size)) if integrity_key.is_empty() => {
                // Copies of constant lengths are instructions and no calls.
                let is_added = match size {
                    AesKeySize::Aes128 => self.add_raw::<16>(index, key),
                    AesKeySize::Aes192 => self.add_raw::<24>(index, key),
                    AesKeySize::Aes256 => self.add_raw::<32>(index, key),
                };
                is_added.ok_or(KeyError::CipherKey {
                    needed_bytes: size.key_bytes() + SALT_BYTES,
                    given_bytes: key.len(),
                })?;
                OneTimeKind::Raw(size)
            }
            _ => {
                let key = expand(KeyMaterial::new(suite, key, integrity_key)?)?;
                self.expanded.push(key);
                OneTimeKind::Expanded(self.expanded.len() - 1)
            }
        };
        self.is_spent[index] = false;
        self.len += 1;
        // At most 256.
        Ok(KeyId::one_time(index as u32, self.generation))
    }

    #[inline(always)]
    fn add_raw<const BYTES: usize>(&mut self, index: usize, key: &[u8]) -> Option<()> {
        let (raw, salt) = key.split_last_chunk::<SALT_BYTES>()?;
        let raw: &[u8; BYTES] = raw.try_into().ok()?;
        self.raw[index][..BYTES].copy_from_slice(raw);
        self.salts[index] = *salt;
        Some(())
    }

    /// Finds a key that has no packet yet.
    #[inline]
    pub(super) fn find(&self, id: KeyId) -> Result<OneTime<'_>, Refusal> {
        let index = KeyId::one_time_index(id.slot).ok_or(Refusal::NoKey)? as usize;
        if index >= self.len || id.generation() != self.generation {
            return Err(Refusal::NoKey);
        }
        if self.is_spent[index] {
            return Err(Refusal::KeySpent);
        }
        match self.kinds[index] {
            OneTimeKind::Raw(_) => Ok(OneTime {
                index,
                lengths: &self.raw_lengths,
                salt: self.salts[index],
                kind: Kind::Gcm,
            }),
            OneTimeKind::Expanded(at) => {
                let key = self.expanded.get(at).ok_or(Refusal::NoKey)?;
                Ok(OneTime {
                    index,
                    lengths: key.lengths(),
                    salt: key.salt(),
                    kind: key.kernel().kind(),
                })
            }
        }
    }

    /// The key has its packet.
    #[inline]
    pub(super) fn spend(&mut self, index: usize) {
        if let Some(is_spent) = self.is_spent.get_mut(index) {
            *is_spent = true;
        }
    }

    #[inline]
    pub(super) fn expanded(&self, index: usize) -> Option<&K> {
        self.expanded.get(index)
    }

    #[inline]
    pub(super) fn kind(&self, index: usize) -> Option<OneTimeKind> {
        self.kinds[..self.len].get(index).copied()
    }

    /// A raw key as kernels see it.
    #[inline]
    pub(super) fn view(&self, index: usize) -> Option<KeyView<'_>> {
        let OneTimeKind::Raw(size) = self.kind(index)? else {
            return None;
        };
        let key = self.raw[index].get(..size.key_bytes())?;
        Some((KeyForm::raw(size), key))
    }

    /// Wipes all keys. Their names name nothing from here on.
    #[inline]
    pub(super) fn clear(&mut self) {
        if self.len > 0 {
            wipe(&mut self.raw[..self.len]);
            self.expanded.clear();
            self.len = 0;
            self.generation = self.generation.wrapping_add(1);
        }
    }
}
