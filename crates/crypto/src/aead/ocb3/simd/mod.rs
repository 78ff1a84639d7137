//! OCB3 with AES instructions.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod schedule;

use weir_simd::Tier;

#[cfg(target_arch = "x86_64")]
use super::packet::Packet;
use super::packet::Task;

/// Processes the packets of a task and returns true; or returns false where
/// `tier` has no kernel or the processor no `tier`.
pub(super) fn run(tier: Tier, task: &mut Task<'_, '_>) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() && task.packets.iter().all(|packet| is_as_said(task, packet)) {
        match (tier, task.open) {
            // SAFETY: the tier, and with it every feature that its kernels
            // enable, is there; keys are what the task says.
            (Tier::Avx512, false) => unsafe { avx512::run::<false>(task) },
            // SAFETY: the tier is available, and keys can open, as the check says.
            (Tier::Avx512, true) => unsafe { avx512::run::<true>(task) },
            // SAFETY: the tier is available, and keys are of the task's size.
            (Tier::Aesni, false) => unsafe { aesni::run::<false>(task) },
            // SAFETY: the tier is available, and keys can open, as the check says.
            (Tier::Aesni, true) => unsafe { aesni::run::<true>(task) },
            (Tier::Scalar | Tier::NeonAes, _) => return false,
        }
        return true;
    }
    let _ = (tier, task);
    false
}

/// Whether a packet's key has what the task's kernel will load.
#[cfg(target_arch = "x86_64")]
#[inline]
fn is_as_said(task: &Task<'_, '_>, packet: &Packet<'_>) -> bool {
    packet.key.size() == task.kind && (!task.open || packet.key.opens())
}
