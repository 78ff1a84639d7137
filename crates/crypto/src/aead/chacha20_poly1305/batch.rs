//! The packets of a batch on their way to the kernels, and their tags back.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::{Packet, compute_tags};
use crate::aead::plan::MOST_PACKETS;
use crate::aead::{AeadKey, AeadPacket};
use crate::impossible::{Impossible, happens};
use crate::tags::Tags;

/// Seals or opens the ChaCha20-Poly1305 packets among up to [`MOST_PACKETS`] with the kernels
/// of `tier`.
pub(crate) fn process(tier: Tier, open: bool, packets: &mut [AeadPacket<'_>]) {
    let mut tags = Tags::new();
    let mut taken = ArrayVec::<_, MOST_PACKETS>::new();
    let mut indexes = ArrayVec::<usize, MOST_PACKETS>::new();
    for (index, packet) in packets.iter_mut().enumerate() {
        let nonce = packet.nonce();
        if let AeadKey::ChaCha20Poly1305(key) = packet.key
            && !happens(Impossible::CipherRefuses)
            && indexes.try_push(index).is_ok()
        {
            taken.push(Packet {
                key,
                nonce,
                associated: packet.associated,
                text: packet.text,
            });
        }
    }
    compute_tags(tier, open, &mut taken, &mut tags);
    drop(taken);
    for (number, index) in indexes.into_iter().enumerate() {
        if let (Some(tag), Some(packet)) = (tags.get(number), packets.get_mut(index)) {
            packet.finish(open, tag);
        }
    }
}
