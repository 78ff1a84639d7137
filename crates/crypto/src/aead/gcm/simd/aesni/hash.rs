//! GHASH alone: eight blocks and one reduction at a time.

use std::arch::x86_64::*;

use super::field::{Sums, reverse};
use crate::aead::gcm::key::POWERS;
use crate::cipher::Block;

/// Blocks that are hashed with one reduction.
const MOST_BLOCKS: usize = 8;

/// The hash of `blocks` after `sum`, under a full schedule.
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(in super::super) fn absorb(key: &[Block], sum: u128, blocks: &[Block]) -> u128 {
    // SAFETY: 16 bytes are readable.
    let mut sum = unsafe { _mm_loadu_si128((&raw const sum).cast()) };
    for blocks in blocks.chunks(MOST_BLOCKS) {
        let mut sums = Sums::zero();
        let mut carried = sum;
        let powers = &key[POWERS - blocks.len()..POWERS];
        for (block, power) in blocks.iter().zip(powers) {
            // SAFETY: a block and a power are readable.
            let (block, power) = unsafe {
                (
                    _mm_loadu_si128(block.as_ptr().cast()),
                    _mm_loadu_si128(power.as_ptr().cast()),
                )
            };
            sums.add(_mm_xor_si128(reverse(block), carried), power);
            carried = _mm_setzero_si128();
        }
        sum = sums.reduce();
    }
    u128::from_le_bytes(super::bytes(sum))
}
