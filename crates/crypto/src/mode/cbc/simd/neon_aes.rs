//! AES instructions of Armv8: eight packets, or eight blocks of one packet, in
//! flight.

use std::arch::aarch64::*;

use super::{KeyRow, KeyTable, MOST_LANES, Text};
use crate::cipher::Block;
use crate::cipher::simd::neon_aes::{decrypt as decrypt_blocks, load, store};

/// Instructions that a unit has in flight until the first is done.
const LANES: usize = 8;

/// # Safety
/// The processor has NEON and FEAT_AES; each text has so many blocks, and no two
/// overlap.
#[target_feature(enable = "neon,aes")]
pub(super) unsafe fn encrypt(
    keys: &KeyTable,
    chains: &mut [Block; MOST_LANES],
    texts: &[Text; MOST_LANES],
    blocks: usize,
) {
    let [rows @ .., before_last, last] = &keys.rows[..=keys.rounds] else {
        return;
    };
    let mut states = [vdupq_n_u8(0); LANES];
    for (state, chain) in states.iter_mut().zip(&*chains) {
        *state = load(chain);
    }
    for block in 0..blocks {
        for (state, text) in states.iter_mut().zip(texts) {
            if let Some(text) = text {
                // SAFETY: the block lies within the text.
                let plain = unsafe { vld1q_u8(text.as_ptr().add(block * 16)) };
                *state = veorq_u8(*state, plain);
            }
        }
        for row in rows {
            for (lane, state) in states.iter_mut().enumerate() {
                *state = vaesmcq_u8(vaeseq_u8(*state, key(row, lane)));
            }
        }
        for (lane, state) in states.iter_mut().enumerate() {
            let substituted = vaeseq_u8(*state, key(before_last, lane));
            *state = veorq_u8(substituted, key(last, lane));
            if let Some(text) = texts[lane] {
                // SAFETY: the block lies within the text.
                unsafe { vst1q_u8(text.as_ptr().add(block * 16), *state) };
            }
        }
    }
    for (chain, state) in chains.iter_mut().zip(states) {
        store(chain, state);
    }
}

#[target_feature(enable = "neon,aes")]
pub(super) fn decrypt(round_keys: &[Block], iv: &Block, blocks: &mut [Block]) {
    let mut chain = load(iv);
    let (full, rest) = blocks.as_chunks_mut::<LANES>();
    for blocks in full {
        chain = decrypt_few(round_keys, chain, blocks);
    }
    for block in rest.as_chunks_mut::<1>().0 {
        chain = decrypt_few(round_keys, chain, block);
    }
}

/// Decrypts blocks after `chain` and returns the last of them, as it was.
#[inline]
#[target_feature(enable = "neon,aes")]
fn decrypt_few<const N: usize>(
    round_keys: &[Block],
    chain: uint8x16_t,
    blocks: &mut [Block; N],
) -> uint8x16_t {
    let mut sealed = [vdupq_n_u8(0); N];
    for (sealed, block) in sealed.iter_mut().zip(&*blocks) {
        *sealed = load(block);
    }
    let mut states = sealed;
    decrypt_blocks(round_keys, &mut states);
    let mut chain = chain;
    for ((state, sealed), block) in states.into_iter().zip(sealed).zip(blocks) {
        store(block, veorq_u8(state, chain));
        chain = sealed;
    }
    chain
}

#[target_feature(enable = "neon,aes")]
pub(super) fn invert(round_keys: &mut [Block]) {
    round_keys.reverse();
    if let [_, middle @ .., _] = round_keys {
        for key in middle {
            store(key, vaesimcq_u8(load(key)));
        }
    }
}

/// The round key of a lane.
#[inline]
#[target_feature(enable = "neon")]
fn key(row: &KeyRow, lane: usize) -> uint8x16_t {
    load(&row[lane].to_ne_bytes())
}
