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
use crate::cipher::Block;

/// Writes the tags of one to eight messages whose keys make tags of one length.
/// What is behind a tag has no meaning.
pub(crate) fn tag(tier: Tier, messages: &mut [Message<'_, MmhKey>], tags: &mut [Block; LANES]) {
    let most = messages.iter().map(|message| message.bytes).max();
    if !simd::tag(tier, messages, most.unwrap_or(0), tags) {
        for (message, tag) in messages.iter_mut().zip(tags) {
            *tag = scalar::tag(tier, message);
        }
    }
}
