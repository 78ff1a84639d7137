//! MMH-MAC, which the documentation of [`crate::mac`] defines: MMH32 in Toeplitz
//! keys, under a pad that is added.

mod key;
mod scalar;
mod simd;
#[cfg(test)]
mod tests;

use weir_simd::Tier;

pub(crate) use key::{MOST_BYTES, MmhKey};

use super::message::{LANES, Message};
use crate::tags::Tags;

/// Writes the tags of one to eight messages of at most `most` bytes, whose keys make
/// tags of one length. What is behind a tag has no meaning.
pub(crate) fn tag(
    tier: Tier,
    messages: &mut [Message<'_, MmhKey>],
    most: usize,
    tags: &mut Tags<LANES>,
) {
    if !simd::tag(tier, messages, most, tags) {
        for (lane, message) in messages.iter_mut().enumerate() {
            tags.set(lane, scalar::tag(tier, message));
        }
    }
}
