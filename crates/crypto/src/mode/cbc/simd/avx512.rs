//! VAES: sixteen packets side by side, two to a vector; or sixteen blocks of one
//! packet, four to a vector.

use std::arch::x86_64::*;

use super::{KeyRow, KeyTable, MOST_LANES, Text};
use crate::cipher::{Block, MOST_ROUND_KEYS};

/// Vectors of two packets each. The units do two of 256 bits in the time of one
/// of 512, and a pair of lanes is put together and taken apart at less cost than
/// four.
const PAIRS: usize = MOST_LANES / 2;

/// Vectors of 512 bits in flight: as many instructions as the units take up
/// until the first is done.
const VECTORS: usize = 4;

/// # Safety
/// The processor has AVX-512 F, BW and VL, and VAES; each text has so many
/// blocks, and no two overlap.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(super) unsafe fn encrypt(
    keys: &KeyTable,
    chains: &mut [Block; MOST_LANES],
    texts: &[Text; MOST_LANES],
    blocks: usize,
) {
    // SAFETY: as the caller promises.
    unsafe {
        match keys.rounds + 1 {
            11 => encrypt_by::<11>(keys, chains, texts, blocks),
            13 => encrypt_by::<13>(keys, chains, texts, blocks),
            _ => encrypt_by::<MOST_ROUND_KEYS>(keys, chains, texts, blocks),
        }
    }
}

/// # Safety
/// As for [`encrypt`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn encrypt_by<const KEYS: usize>(
    keys: &KeyTable,
    chains: &mut [Block; MOST_LANES],
    texts: &[Text; MOST_LANES],
    blocks: usize,
) {
    let Some(keys) = keys.rows.first_chunk::<KEYS>() else {
        return;
    };
    let mut states = [_mm256_setzero_si256(); PAIRS];
    for (state, chains) in states.iter_mut().zip(chains.as_chunks().0) {
        *state = load_pair(chains);
    }
    let all = texts.iter().all(Option::is_some);
    let mut at = 0;
    // SAFETY: the blocks lie within the texts, as the caller promises.
    unsafe {
        while at + 2 <= blocks {
            if all {
                encrypt_two::<true, KEYS>(keys, &mut states, texts, at);
            } else {
                encrypt_two::<false, KEYS>(keys, &mut states, texts, at);
            }
            at += 2;
        }
        if at < blocks {
            encrypt_one(keys, &mut states, texts, at);
        }
    }
    for (chains, state) in chains.as_chunks_mut().0.iter_mut().zip(states) {
        store_pair(chains, state);
    }
}

/// Two blocks of every text, from number `at`. Lanes may lack a text unless
/// `ALL` is set. A load takes two blocks of one packet; they are turned so that
/// a vector has one block of two packets.
///
/// # Safety
/// The blocks lie within the texts, and `ALL` is set only if all lanes have
/// one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn encrypt_two<const ALL: bool, const KEYS: usize>(
    keys: &[KeyRow; KEYS],
    states: &mut [__m256i; PAIRS],
    texts: &[Text; MOST_LANES],
    at: usize,
) {
    let (texts, _) = texts.as_chunks::<2>();
    let mut blocks = [[_mm256_setzero_si256(); PAIRS]; 2];
    for (pair, texts) in texts.iter().enumerate() {
        let mut rows = [_mm256_setzero_si256(); 2];
        for (row, text) in rows.iter_mut().zip(texts) {
            if ALL || text.is_some() {
                // SAFETY: there is a text, and two blocks are readable.
                unsafe {
                    let from = text.unwrap_unchecked().as_ptr().add(at * 16);
                    *row = _mm256_loadu_si256(from.cast());
                }
            }
        }
        blocks[0][pair] = _mm256_permute2x128_si256::<0x20>(rows[0], rows[1]);
        blocks[1][pair] = _mm256_permute2x128_si256::<0x31>(rows[0], rows[1]);
    }
    encrypt_row(keys, states, &mut blocks[0]);
    encrypt_row(keys, states, &mut blocks[1]);
    for (pair, texts) in texts.iter().enumerate() {
        let (first, second) = (blocks[0][pair], blocks[1][pair]);
        let rows = [
            _mm256_permute2x128_si256::<0x20>(first, second),
            _mm256_permute2x128_si256::<0x31>(first, second),
        ];
        for (row, text) in rows.into_iter().zip(texts) {
            if ALL || text.is_some() {
                // SAFETY: there is a text, and two blocks are writable.
                unsafe {
                    let to = text.unwrap_unchecked().as_ptr().add(at * 16);
                    _mm256_storeu_si256(to.cast(), row);
                }
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
unsafe fn encrypt_one<const KEYS: usize>(
    keys: &[KeyRow; KEYS],
    states: &mut [__m256i; PAIRS],
    texts: &[Text; MOST_LANES],
    at: usize,
) {
    let mut bytes = [[0; 16]; MOST_LANES];
    for (bytes, text) in bytes.iter_mut().zip(texts) {
        if let Some(text) = text {
            // SAFETY: a block is readable from there.
            *bytes = unsafe { text.add(at * 16).cast::<Block>().read_unaligned() };
        }
    }
    let mut blocks = [_mm256_setzero_si256(); PAIRS];
    for (block, bytes) in blocks.iter_mut().zip(bytes.as_chunks().0) {
        *block = load_pair(bytes);
    }
    encrypt_row(keys, states, &mut blocks);
    for (bytes, block) in bytes.as_chunks_mut().0.iter_mut().zip(blocks) {
        store_pair(bytes, block);
    }
    for (bytes, text) in bytes.iter().zip(texts) {
        if let Some(text) = text {
            // SAFETY: a block is writable from there.
            unsafe { text.add(at * 16).cast::<Block>().write_unaligned(*bytes) };
        }
    }
}

/// A block of every lane: chained, encrypted, and the next one's chain.
///
/// Loops here and elsewhere do without closures: what a closure of a function
/// with these features is passed to, lacks them and cannot inline it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn encrypt_row<const KEYS: usize>(
    keys: &[KeyRow; KEYS],
    states: &mut [__m256i; PAIRS],
    blocks: &mut [__m256i; PAIRS],
) {
    // The keys of all lanes are more than the registers hold. Loaded anew for
    // each block they are operands of the instructions that use them; known to
    // be the same, they would be loaded, spilled and loaded again.
    let keys = std::hint::black_box(keys);
    // What does not wait for the chain comes first.
    for (pair, state) in states.iter_mut().enumerate() {
        let whitened = _mm256_xor_si256(blocks[pair], load_keys(&keys[0], pair));
        *state = _mm256_xor_si256(*state, whitened);
    }
    for row in &keys[1..KEYS - 1] {
        for (pair, state) in states.iter_mut().enumerate() {
            *state = _mm256_aesenc_epi128(*state, load_keys(row, pair));
        }
    }
    for (pair, state) in states.iter_mut().enumerate() {
        *state = _mm256_aesenclast_epi128(*state, load_keys(&keys[KEYS - 1], pair));
        blocks[pair] = *state;
    }
}

/// The round keys of a pair of lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_keys(row: &KeyRow, pair: usize) -> __m256i {
    let keys = &row.as_chunks::<2>().0[pair];
    // SAFETY: 32 bytes are readable; the load needs no alignment.
    unsafe { _mm256_loadu_si256(keys.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_pair(blocks: &[Block; 2]) -> __m256i {
    // SAFETY: 32 bytes are readable; the load needs no alignment.
    unsafe { _mm256_loadu_si256(blocks.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_pair(blocks: &mut [Block; 2], vector: __m256i) {
    // SAFETY: 32 bytes are writable; the store needs no alignment.
    unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast(), vector) };
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
    let mut states = sealed;
    for state in &mut states {
        *state = _mm512_xor_si512(*state, keys[0]);
    }
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

/// Sixteen blocks, four a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_rows(bytes: &[u8]) -> [__m512i; VECTORS] {
    let (rows, []) = bytes.as_chunks::<64>() else {
        return [_mm512_setzero_si512(); VECTORS];
    };
    let mut vectors = [_mm512_setzero_si512(); VECTORS];
    for (vector, row) in vectors.iter_mut().zip(rows) {
        // SAFETY: 64 bytes are readable; the load needs no alignment.
        *vector = unsafe { _mm512_loadu_si512(row.as_ptr().cast()) };
    }
    vectors
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
