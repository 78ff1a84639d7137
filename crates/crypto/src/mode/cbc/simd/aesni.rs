//! AES-NI: eight packets, or eight blocks of one packet, in flight.

use std::arch::x86_64::*;

use super::{KeyRow, KeyTable, MOST_LANES, Text};
use crate::cipher::Block;

/// Independent chains that hide the latency of an AES round.
const LANES: usize = 8;

/// # Safety
/// The processor has AES-NI and AVX; each text has at least `blocks` blocks,
/// and no two overlap.
#[target_feature(enable = "aes,avx")]
pub(super) unsafe fn encrypt(
    keys: &KeyTable,
    chains: &mut [Block; MOST_LANES],
    texts: &[Text; MOST_LANES],
    blocks: usize,
) {
    let [first, middle @ .., last] = &keys.rows[..=keys.rounds] else {
        return;
    };
    let mut states = [_mm_setzero_si128(); LANES];
    for (state, chain) in states.iter_mut().zip(&*chains) {
        *state = vector(chain);
    }
    for block in 0..blocks {
        for lane in 0..LANES {
            if let Some(text) = texts[lane] {
                // SAFETY: the block lies within the text.
                let plain = unsafe { _mm_loadu_si128(text.as_ptr().add(block * 16).cast()) };
                let whitened = _mm_xor_si128(plain, key(first, lane));
                states[lane] = _mm_xor_si128(states[lane], whitened);
            }
        }
        for row in middle {
            for (lane, state) in states.iter_mut().enumerate() {
                *state = _mm_aesenc_si128(*state, key(row, lane));
            }
        }
        for (lane, state) in states.iter_mut().enumerate() {
            *state = _mm_aesenclast_si128(*state, key(last, lane));
            if let Some(text) = texts[lane] {
                // SAFETY: the block lies within the text.
                unsafe { _mm_storeu_si128(text.as_ptr().add(block * 16).cast(), *state) };
            }
        }
    }
    for (chain, state) in chains.iter_mut().zip(states) {
        *chain = block_of(state);
    }
}

/// # Safety
/// The processor has AES-NI and AVX.
#[target_feature(enable = "aes,avx")]
pub(super) unsafe fn decrypt(round_keys: &[Block], iv: &Block, blocks: &mut [Block]) {
    let mut chain = vector(iv);
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
#[target_feature(enable = "aes,avx")]
fn decrypt_few<const N: usize>(
    round_keys: &[Block],
    chain: __m128i,
    blocks: &mut [Block; N],
) -> __m128i {
    let [first, middle @ .., last] = round_keys else {
        return chain;
    };
    // Closures would not be inlined: what they are passed to lacks AES-NI.
    let mut sealed = [_mm_setzero_si128(); N];
    let mut states = sealed;
    for ((state, sealed), block) in states.iter_mut().zip(&mut sealed).zip(&*blocks) {
        *sealed = vector(block);
        *state = _mm_xor_si128(*sealed, vector(first));
    }
    for key in middle {
        let key = vector(key);
        for state in &mut states {
            *state = _mm_aesdec_si128(*state, key);
        }
    }
    let last = vector(last);
    let mut chain = chain;
    for ((state, sealed), block) in states.into_iter().zip(sealed).zip(blocks) {
        let plain = _mm_aesdeclast_si128(state, _mm_xor_si128(last, chain));
        *block = block_of(plain);
        chain = sealed;
    }
    chain
}

/// # Safety
/// The processor has AES-NI and AVX.
#[target_feature(enable = "aes,avx")]
pub(super) unsafe fn invert(round_keys: &mut [Block]) {
    round_keys.reverse();
    if let [_, middle @ .., _] = round_keys {
        for key in middle {
            *key = block_of(_mm_aesimc_si128(vector(key)));
        }
    }
}

/// The round key of a lane.
#[inline]
#[target_feature(enable = "avx")]
fn key(row: &KeyRow, lane: usize) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128((&raw const row[lane]).cast()) }
}

#[inline]
#[target_feature(enable = "avx")]
fn vector(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx")]
fn block_of(vector: __m128i) -> Block {
    let mut block = [0; 16];
    // SAFETY: 16 bytes are writable; the store needs no alignment.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), vector) };
    block
}
