//! Tags of many messages, each under its own key.

use weir_simd::Tier;

use super::key::{HmacKey, PadStates, PadWord, Pads};
use super::lanes::{HmacLanes, HmacRoom};
use crate::digest::{Digest, Message, longest_first, total_bytes};
use crate::mac::MacPacket;
use crate::mac::keys::Expanded;

/// Writes or verifies the tags of the packets of HMAC with the kernels of `tier`.
pub(in crate::mac) fn process(tier: Tier, packets: &mut [MacPacket<'_>]) {
    for digest in Digest::ALL {
        let mut keys = packets.iter().filter_map(key_of);
        match keys.find(|key| key.digest() == digest).map(HmacKey::pads) {
            None => {}
            Some(Pads::Narrow(pads)) => process_digest(digest, pads, tier, packets),
            Some(Pads::Wide(pads)) => process_digest(digest, pads, tier, packets),
        }
    }
}

/// The packets whose hash function is `digest`, with states such as `like`'s.
fn process_digest<W: PadWord>(
    digest: Digest,
    like: &PadStates<W>,
    tier: Tier,
    packets: &mut [MacPacket<'_>],
) {
    let key = |packet: &MacPacket<'_>| key_of(packet).is_some_and(|key| key.digest() == digest);
    let count = packets.iter().filter(|packet| key(packet)).count();
    let mut room = HmacRoom::new(like);
    let mut lanes = HmacLanes::new(like.of, tier, count, &mut room);
    let mut done = |packet: &mut MacPacket<'_>, state| {
        packet.finish(|tag| like.of.write(&state, tag));
    };
    let bytes = |packet: &MacPacket<'_>| total_bytes(packet.parts.map(<[u8]>::len));
    longest_first(
        packets,
        |packet| key(packet).then(|| bytes(packet)),
        |_, packet| {
            if let Some(pads) = key_of(packet).and_then(W::pads) {
                lanes.submit(packet, pads, &mut done);
            }
        },
    );
    lanes.finish(&mut done);
}

/// The packet's key, if it is of HMAC.
#[inline]
fn key_of<'a>(packet: &MacPacket<'a>) -> Option<&'a HmacKey> {
    match &packet.key.expanded {
        Expanded::Hmac(key) => Some(key),
        _ => None,
    }
}

impl Message for &mut MacPacket<'_> {
    #[inline]
    fn parts(&self) -> [&[u8]; 4] {
        self.parts
    }

    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        self.parts.get(index).copied().unwrap_or(&[])
    }
}
