//! AES instructions: a unit for each tier, and key expansion with it.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;
mod schedules;
mod unit;

use weir_simd::Tier;

use super::{Block, MOST_ROUND_KEYS};
use schedules::ExpandEach;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::{expand_128_lanes, expand_192_lanes, expand_256_lanes, next_128_lanes};
#[cfg(target_arch = "x86_64")]
pub(crate) use schedules::ROUND_CONSTANTS;
pub(crate) use schedules::expand;
pub(crate) use unit::{AesLanes, AesUnit, Kernel, decrypt, encrypt, has_unit, run, run_narrow};

/// Writes the round keys of keys of one length (16, 24 or 32 bytes) and returns true; or
/// returns false where `tier` has no kernel or the processor no `tier`.
pub(super) fn expand_each<'k>(
    tier: Tier,
    keys: &[&'k [u8]],
    round_keys: &mut [&'k mut [Block; MOST_ROUND_KEYS]],
) -> bool {
    let kernel = ExpandEach { keys, round_keys };
    let is_done = match keys.len() {
        1 => run_narrow(tier, kernel),
        _ => run(tier, kernel),
    };
    is_done.unwrap_or(false)
}
