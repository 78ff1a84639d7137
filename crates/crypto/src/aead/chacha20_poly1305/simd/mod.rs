//! ChaCha20-Poly1305 of several packets side by side.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod chacha20;
#[cfg(target_arch = "x86_64")]
mod group;
#[cfg(target_arch = "x86_64")]
mod kernels;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod parts;
#[cfg(target_arch = "x86_64")]
mod pieces;
#[cfg(target_arch = "x86_64")]
mod poly1305;

use weir_simd::Tier;

use super::packet::Task;
#[cfg(target_arch = "x86_64")]
use crate::frames;

/// More than the frames of kernels, which have key streams and one-time keys of 16 packets.
#[cfg(target_arch = "x86_64")]
const FRAMES_BYTES: usize = 16 * 1024;

/// Processes the packets of a task and returns true; or returns false where `tier` has no kernel
/// or the processor no `tier`.
pub(super) fn run(tier: Tier, task: &mut Task<'_, '_>) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() && matches!(tier, Tier::Avx512 | Tier::Aesni) {
        frames::cleared_of::<FRAMES_BYTES, _>(|| match (tier, task.open) {
            // SAFETY: the tier, and with it every feature that its kernels enable, is
            // there.
            (Tier::Avx512, false) => unsafe { kernels::avx512::run::<false>(task) },
            // SAFETY: as above.
            (Tier::Avx512, true) => unsafe { kernels::avx512::run::<true>(task) },
            // SAFETY: as above.
            (_, false) => unsafe { kernels::avx2::run::<false>(task) },
            // SAFETY: as above.
            (_, true) => unsafe { kernels::avx2::run::<true>(task) },
        });
        return true;
    }
    let _ = (tier, task);
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
            Tier::Avx512 => return Some(unsafe { kernels::avx512::poly1305(keys, messages) }),
            // SAFETY: as above.
            Tier::Aesni => return Some(unsafe { kernels::avx2::poly1305(keys, messages) }),
            Tier::Scalar | Tier::NeonAes => {}
        }
    }
    let _ = (tier, keys, messages);
    None
}
