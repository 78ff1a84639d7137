//! AES instructions of Armv8, one block per vector.
//!
//! AESE adds the round key first, then substitutes and shifts; AESMC mixes
//! columns. A round of FIPS 197 adds its key last, so that the rounds are cut
//! differently here: the last AESE has no AESMC, and a round key is left to add.

use std::arch::aarch64::*;

use super::super::schedule::expand_words;
use super::super::{Block, MOST_ROUND_KEYS};

/// Writes the round keys of a key of 16, 24 or 32 bytes and returns true.
#[target_feature(enable = "neon,aes")]
pub(super) fn expand(key: &[u8], round_keys: &mut [Block; MOST_ROUND_KEYS]) -> bool {
    let blocks = match key.len() {
        16 => 11,
        24 => 13,
        32 => 15,
        _ => return false,
    };
    let schedule = round_keys[..blocks].as_flattened_mut();
    expand_words(key, schedule, |word| substitute_word(word));
    true
}

/// SubWord of FIPS 197 section 5.2: where all columns are equal, ShiftRows does
/// nothing.
#[inline]
#[target_feature(enable = "neon,aes")]
fn substitute_word(word: u32) -> u32 {
    let columns = vreinterpretq_u8_u32(vdupq_n_u32(word));
    vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vaeseq_u8(columns, vdupq_n_u8(0))))
}

/// Encrypts blocks side by side, enough of them to hide the latency of AES.
#[inline]
#[target_feature(enable = "neon,aes")]
pub(crate) fn encrypt<const BLOCKS: usize>(
    round_keys: &[Block],
    states: &mut [uint8x16_t; BLOCKS],
) {
    let [keys @ .., before_last, last] = round_keys else {
        return;
    };
    for key in keys {
        let key = load(key);
        for state in states.iter_mut() {
            *state = vaesmcq_u8(vaeseq_u8(*state, key));
        }
    }
    let (before_last, last) = (load(before_last), load(last));
    for state in states {
        *state = veorq_u8(vaeseq_u8(*state, before_last), last);
    }
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn load(block: &Block) -> uint8x16_t {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { vld1q_u8(block.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn store(at: &mut Block, block: uint8x16_t) {
    // SAFETY: 16 bytes are writable; the store needs no alignment.
    unsafe { vst1q_u8(at.as_mut_ptr(), block) };
}
