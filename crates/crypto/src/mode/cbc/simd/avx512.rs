//! VAES: sixteen packets side by side, four to a vector; or sixteen blocks of
//! one packet.

use std::arch::x86_64::*;

use super::{KeyTable, MOST_LANES};
use crate::cipher::{Block, MOST_ROUND_KEYS};

/// Packets in a vector.
const QUARTERS: usize = 4;

/// Vectors in flight: as many instructions as a unit takes up until the first
/// is done.
const VECTORS: usize = MOST_LANES / QUARTERS;

/// # Safety
/// The processor has AVX-512 F, BW and VL, and VAES; each text has so many
/// blocks, and no two overlap.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(super) unsafe fn encrypt(
    keys: &KeyTable,
    chains: &mut [Block; MOST_LANES],
    texts: &[Option<*mut u8>; MOST_LANES],
    blocks: usize,
) {
    let mut states = load_rows(chains.as_flattened());
    let mut block = 0;
    // SAFETY: the blocks lie within the texts, as the caller promises.
    unsafe {
        while block + 4 <= blocks {
            encrypt_four(keys, &mut states, texts, block);
            block += 4;
        }
        while block < blocks {
            encrypt_one(keys, &mut states, texts, block);
            block += 1;
        }
    }
    for (chains, state) in chains.as_flattened_mut().chunks_exact_mut(64).zip(states) {
        store(chains, state);
    }
}

/// Four blocks of every text, from number `at`. A load takes four blocks of one
/// packet; they are turned so that a vector has one block of four packets.
///
/// # Safety
/// The blocks lie within the texts.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn encrypt_four(
    keys: &KeyTable,
    states: &mut [__m512i; VECTORS],
    texts: &[Option<*mut u8>; MOST_LANES],
    at: usize,
) {
    let mut blocks = [[_mm512_setzero_si512(); 4]; VECTORS];
    for (blocks, texts) in blocks.iter_mut().zip(texts.as_chunks::<QUARTERS>().0) {
        for (block, text) in blocks.iter_mut().zip(texts) {
            if let Some(text) = text {
                // SAFETY: four blocks are readable from there.
                *block = unsafe { _mm512_loadu_si512(text.add(at * 16).cast()) };
            }
        }
        *blocks = transpose(*blocks);
    }
    for i in 0..4 {
        encrypt_rows(keys, states, blocks.each_mut().map(|blocks| &mut blocks[i]));
    }
    for (blocks, texts) in blocks.into_iter().zip(texts.as_chunks::<QUARTERS>().0) {
        for (block, text) in transpose(blocks).into_iter().zip(texts) {
            if let Some(text) = text {
                // SAFETY: four blocks are writable from there.
                unsafe { _mm512_storeu_si512(text.add(at * 16).cast(), block) };
            }
        }
    }
}

/// Block `at` of every text.
///
/// # Safety
/// The block lies within the texts.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn encrypt_one(
    keys: &KeyTable,
    states: &mut [__m512i; VECTORS],
    texts: &[Option<*mut u8>; MOST_LANES],
    at: usize,
) {
    let mut bytes = [[0; 16]; MOST_LANES];
    for (bytes, text) in bytes.iter_mut().zip(texts) {
        if let Some(text) = text {
            // SAFETY: a block is readable from there.
            *bytes = unsafe { text.add(at * 16).cast::<Block>().read_unaligned() };
        }
    }
    let mut blocks = load_rows(bytes.as_flattened());
    encrypt_rows(keys, states, blocks.each_mut());
    for (bytes, block) in bytes.as_flattened_mut().chunks_exact_mut(64).zip(blocks) {
        store(bytes, block);
    }
    for (bytes, text) in bytes.iter().zip(texts) {
        if let Some(text) = text {
            // SAFETY: a block is writable from there.
            unsafe { text.add(at * 16).cast::<Block>().write_unaligned(*bytes) };
        }
    }
}

/// One block of every lane: chained, encrypted, and the next one's chain.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn encrypt_rows(
    keys: &KeyTable,
    states: &mut [__m512i; VECTORS],
    mut blocks: [&mut __m512i; VECTORS],
) {
    let [first, middle @ .., last] = &keys.rows[..=keys.rounds] else {
        return;
    };
    // What does not wait for the chain comes first.
    for (vector, block) in blocks.iter_mut().enumerate() {
        let whitened = _mm512_xor_si512(**block, key(first, vector));
        states[vector] = _mm512_xor_si512(states[vector], whitened);
    }
    for row in middle {
        for (vector, state) in states.iter_mut().enumerate() {
            *state = _mm512_aesenc_epi128(*state, key(row, vector));
        }
    }
    for (vector, (state, block)) in states.iter_mut().zip(blocks).enumerate() {
        *state = _mm512_aesenclast_epi128(*state, key(last, vector));
        *block = *state;
    }
}

/// The round keys of the four lanes of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn key(row: &[u128; MOST_LANES], vector: usize) -> __m512i {
    let lanes = &row.as_chunks::<QUARTERS>().0[vector];
    // SAFETY: 64 bytes are readable; the load needs no alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

/// # Safety
/// The processor has AVX-512 F, BW and VL, and VAES.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(super) unsafe fn decrypt(round_keys: &[Block], iv: &Block, blocks: &mut [Block]) {
    match round_keys.len() {
        11 => decrypt_by::<11>(round_keys, iv, blocks),
        13 => decrypt_by::<13>(round_keys, iv, blocks),
        _ => decrypt_by::<MOST_ROUND_KEYS>(round_keys, iv, blocks),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn decrypt_by<const KEYS: usize>(round_keys: &[Block], iv: &Block, blocks: &mut [Block]) {
    let mut keys = [_mm512_setzero_si512(); KEYS];
    for (key, bytes) in keys.iter_mut().zip(round_keys) {
        *key = _mm512_broadcast_i32x4(load_block(bytes));
    }
    // The block before comes from the top quarter.
    let mut before = _mm512_broadcast_i32x4(load_block(iv));
    let (full, rest) = blocks
        .as_flattened_mut()
        .as_chunks_mut::<{ 64 * VECTORS }>();
    for bytes in full {
        let sealed: [__m512i; VECTORS] = load_rows(bytes);
        let plain = decrypt_rows(&keys, &mut before, sealed);
        for (bytes, plain) in bytes.chunks_exact_mut(64).zip(plain) {
            store(bytes, plain);
        }
    }
    for bytes in rest.chunks_mut(64) {
        // Two words of 64 bits are a block.
        let mask = ((1u16 << (bytes.len() / 8)) - 1) as __mmask8;
        // SAFETY: the mask covers what is readable and writable, no more.
        unsafe {
            let sealed = _mm512_maskz_loadu_epi64(mask, bytes.as_ptr().cast());
            let [plain] = decrypt_rows(&keys, &mut before, [sealed]);
            _mm512_mask_storeu_epi64(bytes.as_mut_ptr().cast(), mask, plain);
        }
    }
}

/// Decrypts four blocks a vector. `before` is the vector that came before the
/// first, and becomes the last.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn decrypt_rows<const N: usize, const KEYS: usize>(
    keys: &[__m512i; KEYS],
    before: &mut __m512i,
    sealed: [__m512i; N],
) -> [__m512i; N] {
    let mut states = sealed.map(|sealed| _mm512_xor_si512(sealed, keys[0]));
    for key in &keys[1..KEYS - 1] {
        for state in &mut states {
            *state = _mm512_aesdec_epi128(*state, *key);
        }
    }
    for (state, sealed) in states.iter_mut().zip(sealed) {
        let chain = _mm512_alignr_epi64::<6>(sealed, *before);
        let last = _mm512_xor_si512(chain, keys[KEYS - 1]);
        *state = _mm512_aesdeclast_epi128(*state, last);
        *before = sealed;
    }
    states
}

/// Turns four vectors of four blocks about the diagonal.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let ab_low = _mm512_shuffle_i32x4::<0x44>(a, b);
    let ab_high = _mm512_shuffle_i32x4::<0xee>(a, b);
    let cd_low = _mm512_shuffle_i32x4::<0x44>(c, d);
    let cd_high = _mm512_shuffle_i32x4::<0xee>(c, d);
    [
        _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
    ]
}

/// Sixteen blocks, four a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_rows(bytes: &[u8]) -> [__m512i; VECTORS] {
    let (rows, []) = bytes.as_chunks::<64>() else {
        return [_mm512_setzero_si512(); VECTORS];
    };
    std::array::from_fn(|i| {
        let row: &[u8; 64] = &rows[i];
        // SAFETY: 64 bytes are readable; the load needs no alignment.
        unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
    })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(bytes: &mut [u8], vector: __m512i) {
    assert!(bytes.len() == 64);
    // SAFETY: 64 bytes are writable; the store needs no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) };
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_block(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}
