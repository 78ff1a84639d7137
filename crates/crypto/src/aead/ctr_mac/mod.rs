//! AES-CTR and a universal-hash MAC under keys that come from one: suites of
//! private use, specified in `docs/mac-suites.md`.
//!
//! ```text
//! key (16 bytes) ─┬─ label "ctr-key " ─► key and salt of AES-CTR (RFC 3686)
//!                 └─ labels of the MAC ─► UMAC or MMH-MAC, nonce IV
//! tag = MAC(associated ‖ IV ‖ ciphertext)
//! ```
//!
//! Packets go through both eight at a time: as many as the MAC hashes side by
//! side, few enough that their bytes are in the nearest cache when it does.

mod key;
#[cfg(test)]
mod tests;

use arrayvec::ArrayVec;
use weir_simd::Tier;

pub(crate) use key::CtrMacKey;

use super::{AeadJob, AeadKey, Parts};
use crate::cipher::Block;
use crate::mac::{self, Authenticated, MacKey};

/// Packets that are processed together.
const TOGETHER: usize = 8;

/// Most bytes of associated data: what ESP has with extended sequence numbers.
/// With them the longest IP packet still fits what MMH-MAC hashes.
pub(crate) const MOST_ASSOCIATED_BYTES: usize = 12;

/// Bytes of an IV, which are hashed too.
pub(crate) const IV_BYTES: usize = 8;

/// Seals or opens the packets of such suites among `jobs` with the kernels of
/// `tier`.
pub(crate) fn process<J: AeadJob>(tier: Tier, jobs: &mut [J]) {
    for jobs in jobs.chunks_mut(TOGETHER) {
        let mut packets = ArrayVec::<Packet<'_>, TOGETHER>::new();
        for (place, job) in jobs.iter_mut().enumerate() {
            if let Some(parts) = job.packet()
                && let AeadKey::CtrMac(key) = parts.key
            {
                packets.push(Packet {
                    place,
                    key,
                    parts,
                    tag: [0; 16],
                });
            }
        }
        if !J::OPEN {
            packets.iter_mut().for_each(Packet::apply_cipher);
        }
        mac::process(|_| tier, &mut packets);
        if J::OPEN {
            packets.iter_mut().for_each(Packet::apply_cipher);
        }
        let tags = packets.into_iter().map(|packet| (packet.place, packet.tag));
        for (place, tag) in tags.collect::<ArrayVec<(usize, Block), TOGETHER>>() {
            jobs[place].finish(&tag);
        }
    }
}

struct Packet<'a> {
    /// Which of the jobs it is.
    place: usize,
    key: &'a CtrMacKey,
    parts: Parts<'a>,
    /// The suite's tag, and zeros.
    tag: Block,
}

impl Packet<'_> {
    /// Encrypts or decrypts.
    fn apply_cipher(&mut self) {
        self.key.apply(self.parts.iv, self.parts.text);
    }
}

impl<'a> Authenticated<'a> for Packet<'a> {
    #[inline]
    fn key(&self) -> Option<&'a MacKey> {
        Some(self.key.mac())
    }

    #[inline]
    fn nonce(&self) -> u64 {
        u64::from_be_bytes(self.parts.iv)
    }

    #[inline]
    fn parts(&self) -> [&[u8]; 4] {
        let Parts {
            iv,
            associated,
            text,
            ..
        } = &self.parts;
        [associated, iv, text, &[]]
    }

    #[inline]
    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        write(&mut self.tag[..self.key.mac().algorithm().tag_bytes()]);
    }
}
