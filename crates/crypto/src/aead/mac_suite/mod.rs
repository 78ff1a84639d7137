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

use super::{AeadKey, AeadPacket};
use crate::cipher::Block;
use crate::engine::Family;
use crate::mac::{self, MacPacket};

/// Packets that are processed together.
const TOGETHER: usize = mac::LANES;

/// Most bytes of associated data in front of a text that AES-CTR encrypts: what ESP
/// has with extended sequence numbers. With them the longest IP packet still fits
/// what MMH-MAC hashes.
pub(crate) const MOST_ASSOCIATED_BYTES: usize = 12;

/// Bytes of an IV, which are hashed too.
pub(crate) const IV_BYTES: usize = 8;

/// Seals or opens the packets of such suites with the kernels of the tiers that `tier` says.
pub(crate) fn process(tier: impl Fn(Family) -> Tier, open: bool, packets: &mut [AeadPacket<'_>]) {
    // The universal hashes were tested as parts of their suites.
    let tier = |family| match family {
        Family::Gmac => tier(Family::Gmac),
        _ => tier(Family::CtrMac),
    };
    for packets in packets.chunks_mut(TOGETHER) {
        if !open {
            packets
                .iter_mut()
                .for_each(|packet| packet.is_good = apply_cipher(packet));
        }
        let tags = tags(tier, open, packets);
        for (packet, tag) in packets.iter_mut().zip(tags) {
            if !matches!(packet.key, AeadKey::MacSuite(_)) {
                continue;
            }
            let is_enciphered = match open {
                true => apply_cipher(packet),
                false => packet.is_good,
            };
            packet.is_good = false;
            if let Some(tag) = tag.filter(|_| is_enciphered) {
                packet.finish(open, &tag);
            }
        }
    }
}

/// Encrypts or decrypts the payload of a packet of such a suite, and says whether the cipher
/// did.
fn apply_cipher(packet: &mut AeadPacket<'_>) -> bool {
    match packet.key {
        AeadKey::MacSuite(key) => key.apply(packet.iv(), packet.text).is_ok(),
        _ => packet.is_good,
    }
}

/// The tags of packets as they are sent, followed by zeros where they are short.
fn tags(
    tier: impl Fn(Family) -> Tier,
    open: bool,
    packets: &[AeadPacket<'_>],
) -> [Option<Block>; TOGETHER] {
    let mut tags = [[0; 16]; TOGETHER];
    let mut is_made = [None; TOGETHER];
    let ivs: ArrayVec<[u8; IV_BYTES], TOGETHER> = packets.iter().map(AeadPacket::iv).collect();
    let mut messages = ArrayVec::<MacPacket<'_>, TOGETHER>::new();
    for (index, ((packet, iv), tag)) in packets.iter().zip(&ivs).zip(&mut tags).enumerate() {
        if let AeadKey::MacSuite(key) = packet.key
            && (open || packet.is_good)
        {
            messages.push(MacPacket {
                index,
                key: key.mac(),
                nonce: u64::from_be_bytes(*iv),
                parts: [packet.associated, iv, packet.text, &[]],
                tag: &mut tag[..key.mac().tag_bytes()],
                is_verified: false,
                is_good: false,
            });
        }
    }
    mac::process(tier, &mut messages);
    for message in messages {
        is_made[message.index] = message.is_good.then_some(());
    }
    std::array::from_fn(|index| is_made[index].map(|()| tags[index]))
}
