//! MMH32 of one message: eight words at a time, each view of the key loaded.

use std::arch::x86_64::*;

use super::super::key::{KEY_WORDS, LEVEL_2_WORDS};

/// Words of a vector.
const WORDS: usize = 8;

const _: () = assert!(LEVEL_2_WORDS.next_multiple_of(WORDS) + 4 <= KEY_WORDS);

/// The sums of products of words, at most as many as level 2 hashes, with a key from its
/// first four words on.
#[target_feature(enable = "avx2")]
pub(super) fn sums(key: &[u32; KEY_WORDS], words: &[u32]) -> [u64; 4] {
    let words = &words[..words.len().min(LEVEL_2_WORDS)];
    let mut sums = [_mm256_setzero_si256(); 4];
    let (vectors, rest) = words.as_chunks();
    for (index, words) in vectors.iter().enumerate() {
        step(&mut sums, words, &key[WORDS * index..]);
    }
    if !rest.is_empty() {
        let mut padded = [0; WORDS];
        padded[..rest.len()].copy_from_slice(rest);
        step(&mut sums, &padded, &key[WORDS * vectors.len()..]);
    }
    sums.map(|sum| {
        let mut parts = [0u64; 4];
        // SAFETY: 32 bytes are writable.
        unsafe { _mm256_storeu_si256(parts.as_mut_ptr().cast(), sum) };
        parts.into_iter().fold(0, u64::wrapping_add)
    })
}

/// Adds the products of eight words: even words with the key from word t on, odd ones
/// with that from word t + 1 on.
#[inline]
#[target_feature(enable = "avx2")]
fn step(sums: &mut [__m256i; 4], words: &[u32; WORDS], key: &[u32]) {
    let view = |from: usize| {
        let words = &key[from..][..WORDS];
        // SAFETY: eight words are readable.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    };
    // SAFETY: eight words are readable.
    let even = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
    let odd = _mm256_srli_epi64::<32>(even);
    for (t, sum) in sums.iter_mut().enumerate() {
        let products = _mm256_add_epi64(
            _mm256_mul_epu32(even, view(t)),
            _mm256_mul_epu32(odd, view(t + 1)),
        );
        *sum = _mm256_add_epi64(*sum, products);
    }
}
