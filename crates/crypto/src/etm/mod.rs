//! Encrypt-then-MAC suites by the batch: a cipher, and HMAC over what it
//! produced (RFC 4303 section 3.3.2).
//!
//! Packets of one hash function, and for CBC of one key size, flow through
//! lanes that hand them on, so that a packet is hashed soon after it was
//! encrypted, while its bytes are in the nearest cache; and decrypted soon
//! after its tag was found right, not before.
//!
//! ```text
//! seal   longest first ──► CBC lanes ───────────────► HMAC lanes ──► tag
//!                     └──► CTR, 3DES, one by one ──┘
//! open   longest first ──► HMAC lanes ──► tags agree? ──► decrypted, one by one
//!                                                └─ no ─► zeros
//! ```

mod open;
mod seal;
#[cfg(test)]
mod tests;

use weir_simd::Tier;

use crate::digest::{Digest, Message, total_bytes};
use crate::frames;
use crate::kernel::InvalidLength;
use crate::keys::KeyMaterial;
use crate::mac::hmac::HmacKey;
use crate::mode::{AesRoundKeys, CbcCipher, CbcKey, Chained, CtrKey};
use crate::suite::{Cipher, Mac};

pub(crate) use open::open;
pub(crate) use seal::seal;

/// The expanded keys of a suite. `C` is the direction, as in
/// [`crate::kernel::Kernel`].
pub(crate) struct EtmKey<C> {
    /// Keys of one group share lanes.
    group: Group,
    cipher: EtmCipher<C>,
    mac: HmacKey,
}

/// A number below [`GROUPS`]: of the hash function and, where packets chain in
/// lanes, of the kind of key.
type Group = u8;

/// Hash functions, times the kinds of key that have lanes and one that has not.
const GROUPS: usize = Digest::ALL.len() * (AesRoundKeys::KINDS + 1);

enum EtmCipher<C> {
    Null,
    Ctr(Box<CtrKey>),
    Cbc(C),
}

impl<C: CbcKey> EtmKey<C> {
    pub(crate) fn new(
        material: &KeyMaterial,
        (cipher, mac): (Cipher, Mac),
        tier: Tier,
    ) -> Result<EtmKey<C>, InvalidLength> {
        let key = material.cipher_key();
        let cipher = || {
            Ok(match cipher {
                Cipher::Null => EtmCipher::Null,
                Cipher::AesCtr(size) => {
                    EtmCipher::Ctr(Box::new(CtrKey::new(size, tier, key, material.salt())?))
                }
                Cipher::AesCbc(size) => EtmCipher::Cbc(C::new(CbcCipher::Aes(size), tier, key)?),
                Cipher::TripleDesCbc => EtmCipher::Cbc(C::new(CbcCipher::TripleDes, tier, key)?),
            })
        };
        // What lies between the fields of the MAC's states is never wiped: none of it may be
        // what the cipher left.
        let cipher = frames::cleared(cipher)?;
        let mac = HmacKey::of_suite(mac, material.integrity_key());
        let lanes = match &cipher {
            EtmCipher::Cbc(key) => key.lanes_kind().map_or(0, |kind| 1 + kind),
            EtmCipher::Null | EtmCipher::Ctr(_) => 0,
        };
        Ok(EtmKey {
            group: lanes * Digest::ALL.len() as u8 + mac.digest() as u8,
            cipher,
            mac,
        })
    }
}

/// One packet.
pub(crate) struct EtmPacket<'a, C> {
    /// In the batch.
    pub(crate) index: usize,
    pub(crate) key: &'a EtmKey<C>,
    /// Authenticated, not encrypted.
    pub(crate) aad: &'a [u8],
    pub(crate) iv: &'a [u8],
    /// Encrypted or decrypted in place.
    pub(crate) payload: &'a mut [u8],
    /// Authenticated behind the payload, not sent: the high half of an extended sequence
    /// number (RFC 4303, section 2.2.1).
    pub(crate) trailing: &'a [u8],
    /// Written where packets are sealed, compared where they are opened.
    pub(crate) tag: &'a mut [u8],
    /// Whether the packet is encrypted and has its tag, or is authentic and decrypted.
    pub(crate) is_good: bool,
}

/// What the tag covers.
impl<C> Message for &mut EtmPacket<'_, C> {
    #[inline]
    fn parts(&self) -> [&[u8]; 4] {
        [self.aad, self.iv, self.payload, self.trailing]
    }

    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        match index {
            0 => self.aad,
            1 => self.iv,
            2 => self.payload,
            _ => self.trailing,
        }
    }
}

impl<C> Chained for &mut EtmPacket<'_, C> {
    #[inline]
    fn text(&mut self) -> &mut [u8] {
        self.payload
    }
}

/// The packets of a batch by group, and how many each has.
struct Groups {
    counts: [usize; GROUPS],
}

impl Groups {
    fn of<C>(packets: &[EtmPacket<'_, C>]) -> Groups {
        let mut counts = [0; GROUPS];
        for packet in packets {
            counts[usize::from(packet.key.group)] += 1;
        }
        Groups { counts }
    }

    /// Calls `each` with a group that has packets, one of their keys, and how
    /// many they are.
    fn for_each<'a, C>(
        &self,
        packets: &mut [EtmPacket<'a, C>],
        mut each: impl FnMut(&mut [EtmPacket<'a, C>], &'a EtmKey<C>, usize),
    ) {
        for (group, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let mut keys = packets.iter().map(|packet| packet.key);
            if let Some(key) = keys.find(|key| usize::from(key.group) == group) {
                each(packets, key, count);
            }
        }
    }
}

/// What the tag of a packet covers, in bytes, if it is of that group.
#[inline]
fn bytes_in_group<C>(packet: &EtmPacket<'_, C>, group: Group) -> Option<u64> {
    let parts = [packet.aad, packet.iv, packet.payload, packet.trailing];
    (packet.key.group == group).then(|| total_bytes(parts.map(<[u8]>::len)))
}
