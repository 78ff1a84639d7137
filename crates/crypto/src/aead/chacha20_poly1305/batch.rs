//! The packets of a batch on their way to the kernels, and their tags back.

use weir_simd::Tier;

use super::{scalar, simd};
use crate::aead::AeadPacket;
use crate::aead::plan::MOST_PACKETS;
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::tags::Tags;

/// Seals or opens the ChaCha20-Poly1305 packets among up to [`MOST_PACKETS`] with the kernels
/// of `tier`.
pub(crate) fn process(tier: Tier, open: bool, packets: &mut [AeadPacket<'_>]) {
    let mut tags = Tags::new();
    compute_tags(tier, open, packets, &mut tags);
    for (place, packet) in packets.iter_mut().enumerate() {
        if let Some(tag) = tags.get(place) {
            packet.finish(open, tag);
        }
    }
}

/// Encrypts the texts of ChaCha20-Poly1305's packets, or decrypts them where `open`, and writes
/// their tags in the order of the packets. A packet beyond the last possible one gets no tag.
///
/// Branches and addresses depend on lengths alone.
pub(super) fn compute_tags(
    tier: Tier,
    open: bool,
    packets: &mut [AeadPacket<'_>],
    tags: &mut Tags<MOST_PACKETS>,
) {
    if happens(Impossible::KernelReturns) {
        return;
    }
    if !simd::run(tier, open, packets, tags) {
        frames::cleared(|| scalar::run(open, packets, tags));
    }
}
