//! Packets that are encrypted and tagged.

use std::fmt;

use weir_simd::Tier;

use super::core::{Core, Key};
use super::{Descriptor, Refusal, Verdicts};
use crate::etm::{self, EtmPacket};
use crate::kernel::Kernel;
use crate::keys::{IvSource, KeyError, KeyId, KeyMaterial, SealingKey};
use crate::limits::Lengths;
use crate::mode::{CbcEncryptKey, CbcIvSource};
use crate::suite::{Aead, Suite};

/// Keys that seal packets, and the memory of one batch at a time. See the
/// [module](crate::batch).
pub struct Sealer {
    core: Core<SealingKey>,
}

/// A batch of packets to seal, which lie in one buffer.
///
/// A batch that is dropped before it runs has sealed nothing; the numbers of its packets are
/// used up.
pub struct SealBatch<'b> {
    core: &'b mut Core<SealingKey>,
    buffer: &'b mut [u8],
}

impl Sealer {
    /// Without keys.
    pub fn new() -> Sealer {
        Sealer::at_tier(None)
    }

    /// For the kernels of `tier`; `None` for those that passed their self-test.
    pub(crate) fn at_tier(tier: Option<Tier>) -> Sealer {
        Sealer {
            core: Core::new(tier),
        }
    }

    /// Adds a key.
    ///
    /// # Panics
    /// There are 2³¹ keys.
    pub fn add(&mut self, mut key: SealingKey) -> KeyId {
        key.share_ivs(&mut self.core.ivs);
        self.core.table.add(key)
    }

    /// The key of this name.
    #[inline]
    pub fn key(&self, id: KeyId) -> Option<&SealingKey> {
        self.core.table.get(id)
    }

    /// The key of this name, for instance to reserve numbers.
    #[inline]
    pub fn key_mut(&mut self, id: KeyId) -> Option<&mut SealingKey> {
        self.core.table.get_mut(id)
    }

    /// Prefetches what pushing a packet under the key of this name reads of it.
    #[inline]
    pub fn prefetch(&self, id: KeyId) {
        self.core.table.prefetch(id);
    }

    /// Takes a key out.
    pub fn remove(&mut self, id: KeyId) -> Option<SealingKey> {
        self.core.table.remove(id)
    }

    /// Begins a batch of packets that lie in `buffer`.
    #[inline]
    pub fn batch<'b>(&'b mut self, buffer: &'b mut [u8]) -> SealBatch<'b> {
        SealBatch {
            core: &mut self.core,
            buffer,
        }
    }
}

impl SealBatch<'_> {
    /// Takes a packet into the batch and returns its number, the next of its key and context.
    /// Nothing is written before [`SealBatch::run`]: AAD and payload may still change, for
    /// instance to write the number.
    ///
    /// # Errors
    /// Why the packet is not taken; no number was used then.
    #[inline(always)]
    pub fn push(&mut self, packet: Descriptor) -> Result<u64, Refusal> {
        self.core.push(self.buffer, packet, None, |key, _| {
            let number = key.numbers_mut(packet.context)?.draw()?;
            Ok((number, key.rule.nonce(key.salt, packet.context, number)))
        })
    }

    /// Takes a packet whose protocol numbers it into the batch. Numbers ascend within a key and
    /// context.
    ///
    /// # Errors
    /// As [`SealBatch::push`].
    #[inline(always)]
    pub fn push_numbered(&mut self, packet: Descriptor, number: u64) -> Result<(), Refusal> {
        let pushed = self.core.push(self.buffer, packet, Some(number), |key, _| {
            let end = key.rule.end();
            let numbers = key.numbers_mut(packet.context)?;
            if number >= end {
                return Err(Refusal::NumberTooLarge { number, end });
            }
            numbers.take(number)?;
            Ok((number, key.rule.nonce(key.salt, packet.context, number)))
        });
        pushed.map(drop)
    }

    /// Takes a packet into the batch under an IV of the caller's choice, as long as the suite's.
    pub(crate) fn push_with_iv(
        &mut self,
        packet: Descriptor,
        number: u64,
        iv: &[u8],
    ) -> Result<(), Refusal> {
        let counted = iv
            .first_chunk()
            .map_or(number, |iv| u64::from_be_bytes(*iv));
        self.core
            .push(self.buffer, packet, Some(counted), |key, _| {
                let nonce = match iv.as_array::<16>() {
                    Some(block) => *block,
                    None => key.rule.nonce(key.salt, packet.context, counted),
                };
                Ok((number, nonce))
            })?;
        self.core.give_iv();
        Ok(())
    }

    /// Takes a packet of a number that was used into the batch, which is to be what it was: a
    /// protocol sends it again. It is good only if all of it, headers too, is the same as when it
    /// had `tag`; else payload and tag are zeros, so that no two packets under one nonce leave.
    /// The suite is AES-GCM.
    ///
    /// # Errors
    /// [`Refusal::NotSealedBefore`], or why the packet is not taken.
    pub fn push_again(
        &mut self,
        packet: Descriptor,
        number: u64,
        tag: &[u8; 16],
    ) -> Result<(), Refusal> {
        self.core
            .push(self.buffer, packet, Some(number), |key, _| {
                let next = match key.suite() {
                    Suite::Aead(Aead::AesGcm16(_)) => key.numbers_mut(packet.context)?.next(),
                    _ => 0,
                };
                if number >= next {
                    return Err(Refusal::NotSealedBefore { number, next });
                }
                Ok((number, key.rule.nonce(key.salt, packet.context, number)))
            })?;
        self.core.expect_tag(tag);
        Ok(())
    }

    /// Adds a key for one packet of this batch: the cipher's key with its salt, and the
    /// integrity key, as in [`KeyMaterial::new`]. The packet gets the number that it is pushed
    /// with, or 0. Keys that come with their packets are cheapest so: those of AES-GCM and of
    /// encrypt-then-MAC are expanded in lanes, on the way, and those of ChaCha20-Poly1305 need no
    /// expansion. They are wiped when the batch has run.
    ///
    /// No key may come twice with one number: the caller has drawn it for this packet.
    ///
    /// # Errors
    /// As [`KeyMaterial::new`] and [`SealingKey::new`], or [`KeyError::TooManyOneTimeKeys`].
    #[inline]
    pub fn add_one_time_key(
        &mut self,
        suite: Suite,
        key: &[u8],
        integrity_key: &[u8],
    ) -> Result<KeyId, KeyError> {
        self.core.add_one_time(suite, key, integrity_key)
    }

    /// The buffer, in which AAD and payloads may still be written.
    #[inline]
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        self.buffer
    }

    /// Seals the packets. Those that are not good, which would be a defect of this crate, must
    /// not be sent: their payloads and tags are zeros.
    #[inline]
    pub fn run(self) -> Verdicts {
        let SealBatch { core, buffer } = &mut { self };
        core.run(buffer)
    }
}

impl Drop for SealBatch<'_> {
    fn drop(&mut self) {
        self.core.clear();
    }
}

impl Default for Sealer {
    fn default() -> Sealer {
        Sealer::new()
    }
}

impl Key for SealingKey {
    type Direction = CbcEncryptKey;

    const OPEN: bool = false;

    #[inline]
    fn kernel(&self) -> &Kernel<CbcEncryptKey> {
        &self.kernel
    }

    #[inline]
    fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    #[inline]
    fn salt(&self) -> [u8; 4] {
        self.salt
    }

    fn one_time(material: &KeyMaterial, tier: Tier) -> Result<SealingKey, KeyError> {
        SealingKey::at_tier(material, .., IvSource::Random, tier)
    }

    #[inline]
    fn ivs(&self) -> Option<&CbcIvSource> {
        self.ivs.as_ref()
    }

    fn process_etm(tier: Tier, packets: &mut [EtmPacket<'_, CbcEncryptKey>]) {
        etm::seal(tier, packets);
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}
