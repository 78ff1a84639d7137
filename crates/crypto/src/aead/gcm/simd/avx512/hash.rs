//! GHASH alone: sixteen blocks and one reduction at a time.

use std::arch::x86_64::*;

use super::field::{Sums, reverse};
use crate::aead::gcm::key::POWERS;
use crate::cipher::Block;

/// Blocks that are hashed with one reduction.
const MOST_BLOCKS: usize = 16;

/// The hash of `blocks` after `sum`, under a full schedule.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
pub(in super::super) fn absorb(key: &[Block], sum: u128, blocks: &[Block]) -> u128 {
    // Powers, and three blocks that a vector of powers may reach into.
    assert!(key.len() >= POWERS + 3);
    // SAFETY: 16 bytes are readable.
    let mut sum = unsafe { _mm_loadu_si128((&raw const sum).cast()) };
    let (full, rest) = blocks.as_chunks::<MOST_BLOCKS>();
    for blocks in full {
        sum = absorb_some(key, sum, blocks);
    }
    if !rest.is_empty() {
        sum = absorb_some(key, sum, rest);
    }
    u128::from_le_bytes(super::bytes(sum))
}

/// At most sixteen blocks, and of the key as much as [`absorb`] says.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
fn absorb_some(key: &[Block], sum: __m128i, blocks: &[Block]) -> __m128i {
    let mut sums = Sums::zero();
    let mut carried = _mm512_zextsi128_si512(sum);
    for (four, part) in blocks.chunks(4).enumerate() {
        let words = ((1u16 << (2 * part.len())) - 1) as __mmask8;
        let highest = blocks.len() - 4 * four;
        let powers = &key[POWERS - highest..][..4];
        // SAFETY: the mask covers the blocks; four powers are readable, of which
        // those behind the first are times zero.
        unsafe {
            let x = reverse(_mm512_maskz_loadu_epi64(words, part.as_ptr().cast()));
            let powers = _mm512_loadu_si512(powers.as_ptr().cast());
            sums.add(_mm512_xor_si512(x, carried), powers);
        }
        carried = _mm512_setzero_si512();
    }
    sums.reduce()
}
