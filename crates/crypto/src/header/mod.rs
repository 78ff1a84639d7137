//! QUIC header protection by the batch: RFC 9001, section 5.4.
//!
//! QUIC encrypts the packet number and some bits of the first byte with a mask, which is made
//! from 16 bytes of the packet's ciphertext under a key of its own. The sender seals packets
//! first and masks their headers then; the receiver removes the masks, so that it knows the
//! packet numbers, and opens the packets then:
//!
//! ```text
//! first byte │ connection ID │ packet number │ ciphertext and tag
//!                            │ ◄── 4 bytes ──► ◄── sample, 16 bytes ──►
//! ```
//!
//! A [`HeaderProtector`] holds keys. [`HeaderProtector::batch`] begins a batch over the buffer
//! in which the packets lie, [`MaskBatch::push`] takes the sample of a packet, and
//! [`MaskBatch::run`] makes the masks of all of them. The samples of many packets, each under
//! its own key, go through the AES unit together. [`apply_mask`] and [`remove_mask`] XOR a mask
//! over a header.
//!
//! ```
//! use weir_crypto::Suite;
//! use weir_crypto::header::{HeaderKey, HeaderProtector, apply_mask, remove_mask};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let suite = Suite::parse("aes-128-gcm-16")?;
//! let mut protector = HeaderProtector::new();
//! let key = protector.add(HeaderKey::new(suite, &[0x9f; 16])?);
//!
//! // A short header: first byte, 8 bytes of connection ID, 2 bytes of packet number.
//! let mut packet = [0x41; 64];
//! let number_at = 9;
//! let mut batch = protector.batch(&packet);
//! batch.push(key, number_at + 4)?;
//! let mask = batch.run()[0];
//!
//! let (first_byte, rest) = packet.split_at_mut(1);
//! let number = &mut rest[number_at as usize - 1..];
//! apply_mask(&mut first_byte[0], &mut number[..2], &mask);
//! assert_eq!(remove_mask(&mut first_byte[0], number, &mask), 2);
//! assert_eq!(packet, [0x41; 64]);
//! # Ok(())
//! # }
//! ```
//!
//! DTLS 1.3 encrypts record numbers with the same masks (RFC 9147, section 4.2.3); its samples
//! are the first 16 bytes of the ciphertext.

mod chacha20;
mod kernel;
mod key;
mod known_answers;
mod mask;
mod scalar;
#[cfg(test)]
mod tests;

use std::{array, fmt};

use arrayvec::ArrayVec;
use weir_simd::Tier;

use crate::batch::{BATCH_PACKETS, Refusal};
use crate::cipher::{Block, simd};
use crate::engine::{Family, tier_in_use};
use crate::frames;
use crate::keys::{KeyId, Table};
use kernel::EncryptEach;
use key::KeyKind;

pub use key::HeaderKey;
pub(crate) use known_answers::passes;
pub use mask::{Mask, apply_mask, remove_mask};

/// Bytes of ciphertext that a mask is made from.
pub const SAMPLE_BYTES: usize = 16;

/// Keys of header protection, and the memory of one batch at a time. See the
/// [module](crate::header).
pub struct HeaderProtector {
    table: Table<HeaderKey>,
    pending: Box<Pending>,
    /// `None` for the tier that passed its self-test.
    tier: Option<Tier>,
}

/// Samples of packets that lie in one buffer.
pub struct MaskBatch<'p, 'b> {
    protector: &'p mut HeaderProtector,
    buffer: &'b [u8],
}

/// The packets of a batch.
struct Pending {
    slots: [u32; BATCH_PACKETS],
    /// Samples, which are encrypted in place.
    blocks: [Block; BATCH_PACKETS],
    masks: [Mask; BATCH_PACKETS],
    packets: usize,
}

/// The sample of a packet and the AES key that encrypts it.
struct Lane<'a, const ROUND_KEYS: usize> {
    round_keys: &'a [Block; ROUND_KEYS],
    block: &'a mut Block,
}

/// Samples under AES keys of one size.
type Lanes<'a, const ROUND_KEYS: usize> = ArrayVec<Lane<'a, ROUND_KEYS>, BATCH_PACKETS>;

impl HeaderProtector {
    /// Without keys.
    pub fn new() -> HeaderProtector {
        HeaderProtector::at_tier(None)
    }

    /// For the kernels of `tier`; `None` for those that passed their self-test.
    fn at_tier(tier: Option<Tier>) -> HeaderProtector {
        HeaderProtector {
            table: Table::new(),
            pending: Box::new(Pending {
                slots: [0; BATCH_PACKETS],
                blocks: [[0; SAMPLE_BYTES]; BATCH_PACKETS],
                masks: [[0; 5]; BATCH_PACKETS],
                packets: 0,
            }),
            tier,
        }
    }

    /// Adds a key.
    ///
    /// # Panics
    /// There are 2³¹ keys.
    pub fn add(&mut self, key: HeaderKey) -> KeyId {
        self.table.add(key)
    }

    /// Takes a key out.
    pub fn remove(&mut self, id: KeyId) -> Option<HeaderKey> {
        self.table.remove(id)
    }

    /// Begins a batch of packets that lie in `buffer`.
    #[inline]
    pub fn batch<'p, 'b>(&'p mut self, buffer: &'b [u8]) -> MaskBatch<'p, 'b> {
        self.pending.packets = 0;
        MaskBatch {
            protector: self,
            buffer,
        }
    }
}

impl<'p> MaskBatch<'p, '_> {
    /// Takes the sample of [`SAMPLE_BYTES`] bytes at `sample_offset` in the buffer: 4 bytes
    /// behind the start of the packet number, however long that is. Samples may overlap.
    ///
    /// # Errors
    /// [`Refusal::NoKey`], [`Refusal::BatchFull`], or [`Refusal::OutOfBuffer`], for instance
    /// because the packet is too short to have a sample: a receiver drops it. The batch goes on
    /// without the packet.
    #[inline]
    pub fn push(&mut self, key: KeyId, sample_offset: u32) -> Result<(), Refusal> {
        let HeaderProtector { table, pending, .. } = &mut *self.protector;
        let Pending {
            slots,
            blocks,
            packets,
            ..
        } = &mut **pending;
        table.get(key).ok_or(Refusal::NoKey)?;
        let (Some(slot), Some(block)) = (slots.get_mut(*packets), blocks.get_mut(*packets)) else {
            return Err(Refusal::BatchFull);
        };
        let sample = self.buffer.get(sample_offset as usize..);
        *block = *sample
            .and_then(|sample| sample.first_chunk())
            .ok_or(Refusal::OutOfBuffer {
                end: u64::from(sample_offset) + SAMPLE_BYTES as u64,
                buffer_bytes: self.buffer.len() as u64,
            })?;
        *slot = key.slot;
        *packets += 1;
        Ok(())
    }

    /// Makes the masks, in the order in which the samples were taken. The buffer is free again:
    /// the masks can be applied in it.
    pub fn run(self) -> &'p [Mask] {
        let HeaderProtector {
            table,
            pending,
            tier,
        } = self.protector;
        let Pending {
            slots,
            blocks,
            masks,
            packets,
        } = &mut **pending;
        let tier = tier.unwrap_or_else(|| tier_in_use(Family::HeaderProtection));
        encrypt(tier, table, &slots[..*packets], &mut blocks[..*packets]);
        for (mask, block) in masks.iter_mut().zip(&blocks[..*packets]) {
            *mask = array::from_fn(|byte| block[byte]);
        }
        &masks[..*packets]
    }
}

/// What is cleared of the stack: the kernels of a single block have small frames, and a batch of
/// few packets takes as long as its clearing.
const FRAME_BYTES: usize = 4 * 1024;

/// Turns each sample into a block whose head is the mask.
fn encrypt(tier: Tier, table: &Table<HeaderKey>, slots: &[u32], blocks: &mut [Block]) {
    let mut aes_128 = Lanes::<11>::new();
    let mut aes_256 = Lanes::<15>::new();
    let mut chacha20 = ArrayVec::<(&[u8; 32], &mut Block), BATCH_PACKETS>::new();
    for (slot, block) in slots.iter().zip(blocks) {
        match table.at(*slot).map(HeaderKey::kind) {
            Some(KeyKind::Aes128(round_keys)) => aes_128.push(Lane { round_keys, block }),
            Some(KeyKind::Aes256(round_keys)) => aes_256.push(Lane { round_keys, block }),
            Some(KeyKind::ChaCha20(key)) => chacha20.push((key, block)),
            // The batch holds the table, whose keys it has seen.
            None => {}
        }
    }
    frames::cleared_of::<FRAME_BYTES, _>(|| {
        encrypt_aes(tier, &mut aes_128);
        encrypt_aes(tier, &mut aes_256);
        for (key, block) in &mut chacha20 {
            chacha20::encrypt(key, block);
        }
    });
}

fn encrypt_aes<const ROUND_KEYS: usize>(tier: Tier, lanes: &mut [Lane<'_, ROUND_KEYS>]) {
    // Wider vectors would gain nothing: each block has round keys of its own, which would have
    // to be brought together first.
    if simd::run_narrow(tier, EncryptEach(&mut *lanes)).is_none() {
        scalar::encrypt(lanes);
    }
}

impl Default for HeaderProtector {
    fn default() -> HeaderProtector {
        HeaderProtector::new()
    }
}

impl fmt::Debug for HeaderProtector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderProtector").finish_non_exhaustive()
    }
}
