//! UMAC with vectors: several messages side by side with AVX-512, several words of one
//! with AVX2.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::UmacKey;
use super::key::TOGETHER;
use crate::cipher::Block;
use crate::mac::algorithm::TagWords;
use crate::mac::message::{LANES, Message};
use crate::mac::simd::by_avx512;
use crate::tags::Tags;

/// Writes the tags of one to eight messages of at most `most` bytes, whose keys make
/// tags of one length, and returns true; or returns false where `tier` has no such
/// kernel or the processor no `tier`.
#[inline]
pub(super) fn tag(
    tier: Tier,
    messages: &mut [Message<'_, UmacKey>],
    most: usize,
    tags: &mut Tags<LANES>,
) -> bool {
    by_avx512!(tier, tag(messages, most, tags))
}

/// NH of at most 1024 bytes without their length, of the streams that the key has;
/// none where `tier` has no such kernel or the processor no `tier`.
#[inline]
pub(super) fn nh(tier: Tier, key: &UmacKey, block: &[u8]) -> Option<[u64; 4]> {
    #[cfg(target_arch = "x86_64")]
    if tier >= Tier::Aesni && tier.is_available() {
        // SAFETY: the tier, and with it AVX2, is there.
        return Some(unsafe { avx2::nh(key, block) });
    }
    let _ = (tier, key, block);
    None
}

// Bits of zero are a number of words.
const _: () = assert!(size_of::<TagWords>() == 1 && TagWords::One as u8 == 0);

/// A key of zeros, made where it stays.
pub(super) fn zeroed() -> Box<UmacKey> {
    // SAFETY: a key is made of numbers and of an enumeration whose representation is a
    // byte, one variant of which is zero.
    unsafe { Box::new_zeroed().assume_init() }
}

/// Fills keys, whose number of words is set, from 16 bytes each and returns true; or
/// returns false where `tier` has no kernel or the processor no `tier`.
pub(super) fn expand(tier: Tier, raw: &[Block; TOGETHER], keys: &mut [Box<UmacKey>]) -> bool {
    by_avx512!(tier, expand(raw, keys))
}
