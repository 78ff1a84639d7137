//! Packets that are verified and decrypted.

use std::fmt;

use weir_simd::Tier;

use super::core::{Core, Key};
use super::{Descriptor, Refusal, Verdicts, WholeTags};
use crate::etm::{self, EtmPacket};
use crate::kernel::Kernel;
use crate::keys::{KeyError, KeyId, KeyMaterial, OpeningKey};
use crate::limits::Lengths;
use crate::mode::{CbcDecryptKey, CbcIvSource};
use crate::suite::Suite;

/// Keys that open packets, and the memory of one batch at a time. See the
/// [module](crate::batch).
pub struct Opener {
    core: Core<OpeningKey>,
}

/// A batch of packets to open, which lie in one buffer.
///
/// A batch that is dropped before it runs has decrypted nothing.
pub struct OpenBatch<'b> {
    core: &'b mut Core<OpeningKey>,
    buffer: &'b mut [u8],
}

impl Opener {
    /// Without keys.
    pub fn new() -> Opener {
        Opener::at_tier(None)
    }

    /// For the kernels of `tier`; `None` for those that passed their self-test.
    pub(crate) fn at_tier(tier: Option<Tier>) -> Opener {
        Opener {
            core: Core::new(tier),
        }
    }

    /// Adds a key.
    ///
    /// # Panics
    /// There are 2³¹ keys.
    pub fn add(&mut self, key: OpeningKey) -> KeyId {
        self.core.table.add(key)
    }

    /// The key of this name.
    #[inline]
    pub fn key(&self, id: KeyId) -> Option<&OpeningKey> {
        self.core.table.get(id)
    }

    /// Prefetches what pushing a packet under the key of this name reads of it.
    #[inline]
    pub fn prefetch(&self, id: KeyId) {
        self.core.table.prefetch(id);
    }

    /// Takes a key out.
    pub fn remove(&mut self, id: KeyId) -> Option<OpeningKey> {
        self.core.table.remove(id)
    }

    /// Begins a batch of packets that lie in `buffer`.
    #[inline]
    pub fn batch<'b>(&'b mut self, buffer: &'b mut [u8]) -> OpenBatch<'b> {
        OpenBatch {
            core: &mut self.core,
            buffer,
        }
    }
}

impl OpenBatch<'_> {
    /// Takes a packet that carries its IV into the batch, or one of a MAC without nonces.
    /// Nothing is written before [`OpenBatch::run`].
    ///
    /// # Errors
    /// Why the packet is not taken: [`Refusal::NoNumber`] where [`OpenBatch::push_numbered`] is
    /// needed.
    #[inline(always)]
    pub fn push(&mut self, packet: Descriptor) -> Result<(), Refusal> {
        if packet.layout.esn {
            return Err(Refusal::NoNumber);
        }
        self.push_any(packet, None)
    }

    /// Takes a packet into the batch whose number the protocol knows: it makes the nonce, or
    /// where the packet carries an IV, it is what ESP with extended sequence numbers
    /// authenticates. Whether a number may come again is for the caller to say (anti-replay).
    ///
    /// # Errors
    /// Why the packet is not taken.
    #[inline(always)]
    pub fn push_numbered(&mut self, packet: Descriptor, number: u64) -> Result<(), Refusal> {
        self.push_any(packet, Some(number))
    }

    #[inline]
    fn push_any(&mut self, packet: Descriptor, number: Option<u64>) -> Result<(), Refusal> {
        let pushed = self.core.push(self.buffer, packet, number, |key, iv| {
            if key.rule.is_explicit() {
                let Some(iv) = iv.first_chunk::<8>() else {
                    // A MAC alone, or a cipher that takes no IV.
                    let is_needed = matches!(key.suite(), Suite::Mac(mac) if mac.has_nonce());
                    let number = match number {
                        None if is_needed => return Err(Refusal::NoNumber),
                        number => number.unwrap_or(0),
                    };
                    return Ok((number, key.rule.nonce(key.salt, 0, number)));
                };
                let counted = u64::from_be_bytes(*iv);
                let nonce = key.rule.nonce(key.salt, 0, counted);
                return Ok((number.unwrap_or(counted), nonce));
            }
            let number = number.ok_or(Refusal::NoNumber)?;
            let end = key.rule.end();
            if number >= end {
                return Err(Refusal::NumberTooLarge { number, end });
            }
            Ok((number, key.rule.nonce(key.salt, packet.context, number)))
        });
        pushed.map(drop)
    }

    /// Adds a key for one packet of this batch, as
    /// [`SealBatch::add_one_time_key`](crate::SealBatch::add_one_time_key) does.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn add_one_time_key(
        &mut self,
        suite: Suite,
        key: &[u8],
        integrity_key: &[u8],
    ) -> Result<KeyId, KeyError> {
        self.core.add_one_time(suite, key, integrity_key)
    }

    /// The buffer.
    #[inline]
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        self.buffer
    }

    /// Verifies the packets and decrypts those that are authentic. Tags are compared in
    /// constant time. The payload of a packet that is not good is zeros, except that of a MAC
    /// alone, which is left as it was.
    #[inline]
    pub fn run(self) -> Verdicts {
        let OpenBatch { core, buffer } = &mut { self };
        core.run(buffer)
    }

    /// As [`OpenBatch::run`], and writes the whole tags of good packets that carry a part of
    /// theirs ([`OpeningKey::with_cut_tags`]).
    pub fn run_with_tags(self, tags: &mut WholeTags) -> Verdicts {
        let OpenBatch { core, buffer } = &mut { self };
        core.run_with_tags(buffer, tags)
    }
}

impl Drop for OpenBatch<'_> {
    fn drop(&mut self) {
        self.core.clear();
    }
}

impl Default for Opener {
    fn default() -> Opener {
        Opener::new()
    }
}

impl Key for OpeningKey {
    type Direction = CbcDecryptKey;

    const OPEN: bool = true;

    #[inline]
    fn kernel(&self) -> &Kernel<CbcDecryptKey> {
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

    fn one_time(material: &KeyMaterial, tier: Tier) -> Result<OpeningKey, KeyError> {
        OpeningKey::at_tier(material, tier)
    }

    #[inline]
    fn ivs(&self) -> Option<&CbcIvSource> {
        None
    }

    fn process_etm(tier: Tier, packets: &mut [EtmPacket<'_, CbcDecryptKey>]) {
        etm::open(tier, packets);
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}
