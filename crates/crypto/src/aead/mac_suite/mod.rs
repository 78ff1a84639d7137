//! Suites whose tag is one of [`crate::mac`]: AES-CTR and a universal-hash MAC under
//! keys that come from one, of private use, specified in `docs/mac-suites.md`; and
//! AES-GMAC, which has no cipher (RFC 4543).
//!
//! ```text
//! key (16 bytes) ─┬─ label "ctr-key " ─► key and salt of AES-CTR (RFC 3686)
//!                 └─ labels of the MAC ─► UMAC or MMH-MAC, nonce IV
//! tag = MAC(associated ‖ IV ‖ ciphertext), or GMAC(associated ‖ IV ‖ text)
//! ```
//!
//! Packets go through both eight at a time: as many as the MAC hashes side by
//! side, few enough that their bytes are in the nearest cache when it does.

mod key;
#[cfg(test)]
mod tests;

use arrayvec::ArrayVec;
use weir_simd::Tier;

pub(crate) use key::MacSuiteKey;

use super::{AeadJob, AeadKey, Parts};
use crate::cipher::Block;
use crate::engine::Family;
use crate::mac::{self, Authenticated, Kinds, MacKey};

/// Packets that are processed together.
const TOGETHER: usize = mac::LANES;

/// Most bytes of associated data in front of a text that AES-CTR encrypts: what ESP
/// has with extended sequence numbers. With them the longest IP packet still fits
/// what MMH-MAC hashes.
pub(crate) const MOST_ASSOCIATED_BYTES: usize = 12;

/// Bytes of an IV, which are hashed too.
pub(crate) const IV_BYTES: usize = 8;

/// Seals or opens the packets of such suites among `jobs` with the kernels of the
/// tiers that `tier` says.
pub(crate) fn process<J: AeadJob>(tier: impl Fn(Family) -> Tier, jobs: &mut [J]) {
    for jobs in jobs.chunks_mut(TOGETHER) {
        let mut packets = ArrayVec::<Packet<'_>, TOGETHER>::new();
        for (place, job) in jobs.iter_mut().enumerate() {
            if let Some(parts) = job.packet()
                && let AeadKey::MacSuite(key) = parts.key
            {
                packets.push(Packet {
                    place,
                    key,
                    parts,
                    is_refused: false,
                });
            }
        }
        if !J::OPEN {
            packets.retain(Packet::apply_cipher);
        }
        let tags = tags(&tier, &packets);
        if J::OPEN {
            packets.iter_mut().for_each(|packet| {
                packet.is_refused = !packet.apply_cipher();
            });
        }
        let outcomes: ArrayVec<(usize, Block), TOGETHER> = packets
            .into_iter()
            .zip(tags)
            .filter(|(packet, _)| !packet.is_refused)
            .filter_map(|(packet, tag)| Some((packet.place, tag?)))
            .collect();
        for (place, tag) in outcomes {
            if let Some(job) = jobs.get_mut(place) {
                job.finish(&tag);
            }
        }
    }
}

/// The tags of packets as they are sent, followed by zeros where they are short.
fn tags(tier: impl Fn(Family) -> Tier, packets: &[Packet<'_>]) -> [Option<Block>; TOGETHER] {
    let mut tags = [None; TOGETHER];
    let mut kinds = Kinds::default();
    let messages = packets.iter().zip(&mut tags).map(|(packet, tag)| {
        let key = packet.key.mac();
        kinds.add(key);
        let Parts { iv, associated, .. } = &packet.parts;
        Sent {
            key,
            nonce: u64::from_be_bytes(*iv),
            parts: [associated, iv, packet.parts.text, &[]],
            tag,
        }
    });
    let mut messages: ArrayVec<Sent<'_>, TOGETHER> = messages.collect();
    // The universal hashes were tested as parts of their suites.
    let tier = |family| match family {
        Family::Gmac => tier(Family::Gmac),
        _ => tier(Family::CtrMac),
    };
    mac::process(tier, kinds, &mut messages);
    drop(messages);
    tags
}

struct Packet<'a> {
    /// Which of the jobs it is.
    place: usize,
    key: &'a MacSuiteKey,
    parts: Parts<'a>,
    /// Whether the cipher gave it up.
    is_refused: bool,
}

impl Packet<'_> {
    /// Encrypts or decrypts, and says whether the cipher did.
    fn apply_cipher(&mut self) -> bool {
        self.key.apply(self.parts.iv, self.parts.text).is_ok()
    }
}

/// A packet as it is sent.
struct Sent<'a> {
    key: &'a MacKey,
    nonce: u64,
    parts: [&'a [u8]; 4],
    tag: &'a mut Option<Block>,
}

impl<'a> Authenticated<'a> for Sent<'a> {
    #[inline]
    fn key(&self) -> Option<&'a MacKey> {
        Some(self.key)
    }

    #[inline]
    fn nonce(&self) -> u64 {
        self.nonce
    }

    #[inline]
    fn parts(&self) -> &[&[u8]; 4] {
        &self.parts
    }

    #[inline]
    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        let tag = self.tag.insert([0; 16]);
        write(&mut tag[..self.key.algorithm().tag_bytes()]);
    }
}
