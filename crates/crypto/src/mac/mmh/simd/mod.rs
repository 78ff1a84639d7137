//! MMH-MAC with vectors: several messages side by side with AVX-512, several words of
//! one with AVX2.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use weir_simd::Tier;

use super::MmhKey;
use super::key::KEY_WORDS;
use crate::mac::message::{LANES, Message};
use crate::mac::simd::by_avx512;
use crate::tags::Tags;

/// Writes the tags of one to eight messages of at most `most` bytes, whose keys make
/// tags of one length, and returns true; or returns false where `tier` has no such
/// kernel or the processor no `tier`.
#[inline]
pub(super) fn tag(
    tier: Tier,
    messages: &mut [Message<'_, MmhKey>],
    most: usize,
    tags: &mut Tags<LANES>,
) -> bool {
    by_avx512!(tier, tag(messages, most, tags))
}

/// The sums of products of words, at most as many as level 2 hashes, with a key from its
/// first four words on; none where `tier` has no such kernel or the processor no `tier`.
#[inline]
pub(super) fn sums(tier: Tier, key: &[u32; KEY_WORDS], words: &[u32]) -> Option<[u64; 4]> {
    #[cfg(target_arch = "x86_64")]
    if tier >= Tier::Aesni && tier.is_available() {
        // SAFETY: the tier, and with it AVX2, is there.
        return Some(unsafe { avx2::sums(key, words) });
    }
    let _ = (tier, key, words);
    None
}
