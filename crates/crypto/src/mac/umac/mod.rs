//! UMAC (RFC 4418) over batches of messages, each under a key of its own.
//!
//! Three layers, once for each word of the tag ("stream"), then a pad:
//!
//! ```text
//! message ─ blocks of 1024 ─► L1: NH, + bits  ─► L2: polynomial modulo 2⁶⁴ - 59 ─► L3: 16-bit digits
//!                             64 bits a block    (one block: as it is)              times 36-bit keys
//! tag = L3 ⊕ L3's second key ⊕ AES of the nonce
//! ```
//!
//! Streams share their key of NH, 16 bytes apart (Toeplitz). Messages are at most
//! 16 MiB long, which is where the RFC goes over to a polynomial of 128 bits.

mod key;
mod scalar;
mod simd;
#[cfg(test)]
mod tests;

use weir_simd::Tier;

pub(crate) use key::{UmacKey, spend};

use super::message::{LANES, Message};
use crate::tags::Tags;

/// Writes the tags of one to eight messages of at most `most` bytes, whose keys make
/// tags of one length. What is behind a tag has no meaning.
pub(crate) fn tag(
    tier: Tier,
    messages: &mut [Message<'_, UmacKey>],
    most: usize,
    tags: &mut Tags<LANES>,
) {
    if !simd::tag(tier, messages, most, tags) {
        for (lane, message) in messages.iter_mut().enumerate() {
            tags.set(lane, scalar::tag(tier, message));
        }
    }
}
