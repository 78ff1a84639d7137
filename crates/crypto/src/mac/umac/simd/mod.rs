//! UMAC with vectors: several messages side by side.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::UmacKey;
use crate::cipher::Block;
use crate::mac::message::{LANES, Message};

/// Writes the tags of one to eight messages of at most `most` bytes, whose keys make
/// tags of one length, and returns true; or returns false where `tier` has no kernel or the processor
/// no `tier`.
#[inline]
pub(super) fn tag(
    tier: Tier,
    messages: &mut [Message<'_, UmacKey>],
    most: usize,
    tags: &mut [Block; LANES],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: the tier, and with it every feature that the kernel enables,
        // is there.
        unsafe { avx512::tag(messages, most, tags) };
        return true;
    }
    let _ = (tier, messages, most, tags);
    false
}

/// A key of zeros, made where it stays.
pub(super) fn zeroed() -> Box<UmacKey> {
    // SAFETY: a key is made of numbers and of an enumeration that has a zero.
    unsafe { Box::new_zeroed().assume_init() }
}

/// Fills four keys, whose number of words is set, from 16 bytes each and returns
/// true; or returns false where `tier` has no kernel or the processor no `tier`.
pub(super) fn expand(tier: Tier, raw: &[Block; 4], keys: [&mut UmacKey; 4]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: the tier, and with it every feature that the kernel enables,
        // is there.
        unsafe { avx512::expand(raw, keys) };
        return true;
    }
    let _ = (tier, raw, keys);
    false
}
