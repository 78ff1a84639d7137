//! GCM with AES and carry-less multiply instructions.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::batch::Task;
use super::key::{GcmKey, Line};
use super::narrow::{Absorb, FillPowers, Process};
use crate::cipher::Block;
use crate::cipher::simd;
use crate::mac::{LANES, Message};
use crate::tags::Tags;

/// The longest texts that share vectors with others, one packet per lane.
/// Beyond them, one packet in all lanes takes less time.
#[derive(Clone, Copy)]
pub(super) struct LaneLimits {
    /// Where each packet's key is expanded on the way.
    pub(super) raw_text_bytes: usize,
    /// Where keys are taken raw though they are expanded, in batches of packets that are all
    /// alike, and how many packets such a batch has at least.
    pub(super) alike_text_bytes: usize,
    pub(super) alike_packets: usize,
}

impl LaneLimits {
    pub(super) fn of(tier: Tier) -> LaneLimits {
        match tier {
            Tier::Scalar | Tier::NeonAes | Tier::Aesni => NO_LANES,
            Tier::Avx512 => AVX512_LANES,
        }
    }
}

const NO_LANES: LaneLimits = LaneLimits {
    raw_text_bytes: 0,
    alike_text_bytes: 0,
    alike_packets: usize::MAX,
};

const AVX512_LANES: LaneLimits = LaneLimits {
    raw_text_bytes: 3072,
    alike_text_bytes: 640,
    alike_packets: 8,
};

/// Lanes count their blocks, the first of which is number 2, in one byte.
const _: () = assert!(AVX512_LANES.raw_text_bytes < 16 * 253);

/// Processes the packets of a task and returns true; or returns false where
/// `tier` has no kernel or the processor no `tier`.
pub(super) fn run(tier: Tier, task: &mut Task<'_, '_>) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: the tier, and with it every feature that its kernels enable, is there.
        unsafe { avx512::run(task) };
        return true;
    }
    simd::run_narrow(tier, Process(task)).is_some()
}

/// Fills `table` with the powers of the hash key that belongs to `round_keys`,
/// highest first, and returns true; or returns false as [`run`] does.
pub(super) fn hash_key_powers(tier: Tier, round_keys: &[Block], table: &mut [Block]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: as in `run`.
        unsafe { avx512::hash_key_powers(round_keys, table) };
        return true;
    }
    simd::run_narrow(tier, FillPowers { round_keys, table }).is_some()
}

/// Writes the tags of GMAC of one to eight messages whose keys are of one size and
/// have full schedules, and returns true; or returns false as [`run`] does.
pub(super) fn gmac(
    tier: Tier,
    messages: &mut [Message<'_, GcmKey>],
    tags: &mut Tags<LANES>,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: as in `run`.
        unsafe { avx512::gmac::tag(messages, tags) };
        return true;
    }
    let _ = (tier, messages, tags);
    false
}

/// Makes of `sum` the GHASH of `blocks` after it, under a full schedule, and returns true; or
/// returns false as [`run`] does.
pub(super) fn absorb(tier: Tier, schedule: &[Block], sum: &mut Block, blocks: &[Block]) -> bool {
    let kernel = Absorb {
        schedule,
        sum,
        blocks,
    };
    simd::run_narrow(tier, kernel).is_some()
}

/// The bytes of cache lines.
#[inline]
pub(super) fn bytes_of(lines: &[Line]) -> &[u8] {
    // SAFETY: a line is 64 initialized bytes without padding, and the result
    // borrows what `lines` borrows.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), size_of_val(lines)) }
}
