//! MMH-MAC, which the documentation of [`crate::mac`] defines: MMH32 in Toeplitz
//! keys, under a pad that is added.

mod key;
mod scalar;
#[cfg(test)]
mod tests;

use weir_simd::Tier;

pub(crate) use key::{MOST_BYTES, MmhKey};

use super::message::{LANES, Message};
use crate::cipher::Block;

/// Writes the tags of up to eight messages whose keys make tags of one length,
/// and zeros behind them.
pub(crate) fn tag(tier: Tier, messages: &mut [Message<'_, MmhKey>], tags: &mut [Block; LANES]) {
    for (message, tag) in messages.iter_mut().zip(tags) {
        *tag = scalar::tag(tier, message);
    }
}
