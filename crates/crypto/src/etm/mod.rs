//! Encrypt-then-MAC suites by the batch: a cipher, and HMAC over what it
//! produced (RFC 4303 section 3.3.2); and HMAC alone, which has no cipher.
//!
//! Packets of one hash function, and of one cipher and key size where these have lanes, flow
//! through lanes that hand them on, so that a packet is hashed soon after it was
//! encrypted, while its bytes are in the nearest cache; and decrypted soon
//! after its tag was found right, not before.
//!
//! ```text
//! seal   longest first ──► CBC lanes ─────────────► HMAC lanes ──► tag
//!                     ├──► CTR, sixteen packets ──┤
//!                     └──► 3DES, one by one ──────┘
//! open   longest first ──► HMAC lanes ──► tags agree? ──► decrypted, one by one
//!                                                └─ no ─► zeros
//! ```

#[cfg(test)]
mod hmac_tests;
mod key;
mod one_time;
mod open;
mod seal;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::digest::{Message, PARTS, total_bytes};
use crate::mode::Chained;

pub(crate) use key::{EtmKey, EtmSecret};
use key::{GROUPS, Group};
pub(crate) use one_time::OneTimeEtmKeys;
pub(crate) use open::open;
pub(crate) use seal::seal;

/// One packet.
pub(crate) struct EtmPacket<'a, C> {
    /// In the batch.
    pub(crate) index: usize,
    pub(crate) key: &'a EtmKey<C>,
    /// The packet, from its AAD to its tag.
    pub(crate) bytes: &'a mut [u8],
    /// Where its parts lie.
    pub(crate) layout: EtmLayout,
    /// Authenticated behind the payload, not sent: the high half of an extended sequence
    /// number (RFC 4303, section 2.2.1).
    pub(crate) trailing: &'a [u8],
    /// Whether the packet is encrypted and has its tag, or is authentic and decrypted.
    pub(crate) is_good: bool,
}

/// Where the parts of a packet lie in its bytes, of which AAD are the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EtmLayout {
    pub(crate) aad_bytes: usize,
    /// Where the IV begins, perhaps behind a gap.
    pub(crate) iv: usize,
    pub(crate) payload: usize,
    pub(crate) tag: usize,
}

impl<C> EtmPacket<'_, C> {
    #[inline]
    fn part(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// The AAD, where a gap lies behind them.
    #[inline]
    fn head(&self) -> &[u8] {
        match self.layout.aad_bytes == self.layout.iv {
            true => &[],
            false => self.part(0..self.layout.aad_bytes),
        }
    }

    /// What the tag covers in one piece: IV and payload, and AAD where no gap lies behind
    /// them.
    #[inline]
    fn body(&self) -> &[u8] {
        let start = match self.layout.aad_bytes == self.layout.iv {
            true => 0,
            false => self.layout.iv,
        };
        self.part(start..self.layout.tag)
    }

    #[inline]
    fn iv(&self) -> &[u8] {
        self.part(self.layout.iv..self.layout.payload)
    }

    /// IV and payload.
    #[inline]
    fn iv_and_payload(&mut self) -> (&[u8], &mut [u8]) {
        let EtmLayout {
            iv, payload, tag, ..
        } = self.layout;
        let bytes = self.bytes.get_mut(iv..tag).unwrap_or_default();
        let (iv, payload) = bytes.split_at_mut_checked(payload - iv).unwrap_or_default();
        (iv, payload)
    }

    #[inline]
    fn tag(&self) -> &[u8] {
        self.bytes.get(self.layout.tag..).unwrap_or_default()
    }

    #[inline]
    fn tag_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.layout.tag..).unwrap_or_default()
    }
}

/// What the tag covers.
impl<C> Message for &mut EtmPacket<'_, C> {
    #[inline]
    fn parts(&self) -> [&[u8]; PARTS] {
        [self.head(), self.body(), self.trailing]
    }

    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        match index {
            0 => self.head(),
            1 => self.body(),
            _ => self.trailing,
        }
    }
}

impl<C> Chained for &mut EtmPacket<'_, C> {
    #[inline]
    fn text(&mut self) -> &mut [u8] {
        self.iv_and_payload().1
    }
}

/// The packets of a batch by group, and how many each has.
struct Groups {
    counts: [usize; GROUPS],
    /// Whether all packets have one group and one layout.
    are_alike: bool,
}

impl Groups {
    fn of<C>(packets: &[EtmPacket<'_, C>]) -> Groups {
        let mut counts = [0; GROUPS];
        let mut are_alike = true;
        for packet in packets {
            counts[usize::from(packet.key.group)] += 1;
            are_alike &= packet.layout == packets[0].layout;
        }
        are_alike &= counts.contains(&packets.len());
        Groups { counts, are_alike }
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

/// The packets of a group in the order in which they take lanes: those of one layout as they
/// come.
fn in_order<'p, 'a, C>(
    are_alike: bool,
    group: Group,
    packets: &'p mut [EtmPacket<'a, C>],
    mut each: impl FnMut(&'p mut EtmPacket<'a, C>),
) {
    if are_alike {
        packets.iter_mut().for_each(each);
    } else {
        let bytes = |packet: &EtmPacket<'_, C>| {
            let parts = [packet.head(), packet.body(), packet.trailing];
            (packet.key.group == group).then(|| total_bytes(parts.map(<[u8]>::len)))
        };
        crate::digest::longest_first(packets, bytes, |_, packet| each(packet));
    }
}
