//! ChaCha20-Poly1305 of several packets side by side.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod parts;
#[cfg(target_arch = "x86_64")]
mod pieces;

use weir_simd::Tier;

#[cfg(target_arch = "x86_64")]
use super::packet::in_order;
use crate::aead::AeadPacket;
use crate::aead::plan::MOST_PACKETS;
#[cfg(target_arch = "x86_64")]
use crate::frames;
use crate::tags::Tags;

/// More than the frames of kernels, which have key streams and one-time keys of 16 packets.
#[cfg(target_arch = "x86_64")]
const FRAMES_BYTES: usize = 16 * 1024;

/// Processes packets and returns true; or returns false where `tier` has no kernel or
/// the processor no `tier`.
pub(super) fn run(
    tier: Tier,
    open: bool,
    packets: &mut [AeadPacket<'_>],
    tags: &mut Tags<MOST_PACKETS>,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match (tier, open) {
            // SAFETY: the tier, and with it every feature that its kernels enable, is
            // there.
            (Tier::Avx512, false) => in_order(packets, tags, |task| {
                frames::cleared_of::<FRAMES_BYTES, _>(|| unsafe { avx512::run::<false>(task) });
            }),
            // SAFETY: as above.
            (Tier::Avx512, true) => in_order(packets, tags, |task| {
                frames::cleared_of::<FRAMES_BYTES, _>(|| unsafe { avx512::run::<true>(task) });
            }),
            // SAFETY: as above.
            (Tier::Aesni, false) => in_order(packets, tags, |task| {
                frames::cleared_of::<FRAMES_BYTES, _>(|| unsafe { avx2::run::<false>(task) });
            }),
            // SAFETY: as above.
            (Tier::Aesni, true) => in_order(packets, tags, |task| {
                frames::cleared_of::<FRAMES_BYTES, _>(|| unsafe { avx2::run::<true>(task) });
            }),
            (Tier::Scalar | Tier::NeonAes, _) => return false,
        }
        return true;
    }
    let _ = (tier, open, packets, tags);
    false
}

/// Poly1305 under keys of 32 bytes, of messages that are padded to whole blocks, by the
/// kernel of `tier`; none where it has no such kernel or the processor no `tier`.
#[cfg(test)]
pub(super) fn poly1305(
    tier: Tier,
    keys: &[[u8; 32]; 8],
    messages: &[Vec<u8>; 8],
) -> Option<[crate::cipher::Block; 8]> {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it every feature that its kernels enable, is there.
            Tier::Avx512 => return Some(unsafe { avx512::poly1305_of(keys, messages) }),
            // SAFETY: as above.
            Tier::Aesni => return Some(unsafe { avx2::poly1305_of(keys, messages) }),
            Tier::Scalar | Tier::NeonAes => {}
        }
    }
    let _ = (tier, keys, messages);
    None
}
