//! 16 bytes per vector, one after the other in the head, then four side by side.
//!
//! As in the wider kernel, zeros are thought in front of a message, up to a multiple of 16 bytes.

use std::arch::x86_64::*;

use super::super::fold::{Pair, Polynomial};
use super::super::head::Head;

const VECTOR_BYTES: usize = 16;

/// Moves the first bytes of a vector to its end: read from the place that is their number.
static TO_END: [u8; 2 * VECTOR_BYTES] = {
    let mut table = [0x80; 2 * VECTOR_BYTES];
    let mut at = 0;
    while at < VECTOR_BYTES {
        table[VECTOR_BYTES + at] = at as u8;
        at += 1;
    }
    table
};

/// `bytes` are at least 16.
#[target_feature(enable = "avx2,pclmulqdq,sse4.1")]
pub(super) fn remainder(polynomial: &Polynomial, head: &Head, bytes: &[u8]) -> u32 {
    // From 1 to 16.
    let first_bytes = (bytes.len() - 1) % VECTOR_BYTES + 1;
    let first = load_head(head, bytes, 0);
    let to_end = TO_END[first_bytes..].first_chunk();
    let mut sum = to_end.map_or(first, |to_end| _mm_shuffle_epi8(first, load(to_end)));
    let over_16 = pair(&polynomial.over_16);
    let mut at = first_bytes;
    let is_single = |at: usize| at < Head::BYTES || !(bytes.len() - at).is_multiple_of(64);
    while at < bytes.len() && is_single(at) {
        sum = _mm_xor_si128(product(sum, over_16), load_head(head, bytes, at));
        at += VECTOR_BYTES;
    }
    let (vectors, _) = bytes[at..].as_chunks::<VECTOR_BYTES>();
    let (blocks, _) = vectors.as_chunks::<4>();
    if let Some((first, blocks)) = blocks.split_first() {
        let over_64 = pair(&polynomial.over_64);
        let mut sums = first.each_ref().map(|bytes| load(bytes));
        sums[0] = _mm_xor_si128(product(sum, over_16), sums[0]);
        for block in blocks {
            for (sum, bytes) in sums.iter_mut().zip(block) {
                *sum = _mm_xor_si128(product(*sum, over_64), load(bytes));
            }
        }
        sum = sums[0];
        for next in &sums[1..] {
            sum = _mm_xor_si128(product(sum, over_16), *next);
        }
    }
    let [.., to_end] = &polynomial.to_end;
    reduce(polynomial, product(sum, pair(to_end)))
}

/// What is left of a sum of 96 bits: the division.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn reduce(polynomial: &Polynomial, sum: __m128i) -> u32 {
    let over_word = _mm_cvtsi64_si128(polynomial.over_word as i64);
    // Its first 32 bits over the 64 behind them.
    let sum = _mm_xor_si128(_mm_clmulepi64_si128::<0x00>(sum, over_word), sum);
    let word = _mm_srli_si128::<8>(sum);
    let by = _mm_set_epi64x(polynomial.divisor as i64, polynomial.quotient as i64);
    let low = _mm_cvtsi32_si128(-1);
    let quotient = _mm_clmulepi64_si128::<0x00>(_mm_and_si128(word, low), by);
    let multiple = _mm_clmulepi64_si128::<0x10>(_mm_and_si128(quotient, low), by);
    _mm_extract_epi32::<1>(_mm_xor_si128(word, multiple)) as u32
}

/// 16 bytes from `at` on, with what the head does to them.
#[inline]
#[target_feature(enable = "avx2")]
fn load_head(head: &Head, bytes: &[u8], at: usize) -> __m128i {
    let chunk = |bytes: &[u8]| match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(chunk) => load(chunk),
        None => _mm_setzero_si128(),
    };
    let vector = _mm_or_si128(chunk(bytes), chunk(&head.ones));
    _mm_xor_si128(vector, chunk(&head.begin))
}

/// Both halves times their number, added.
#[inline]
#[target_feature(enable = "pclmulqdq")]
fn product(part: __m128i, by: __m128i) -> __m128i {
    _mm_xor_si128(
        _mm_clmulepi64_si128::<0x00>(part, by),
        _mm_clmulepi64_si128::<0x11>(part, by),
    )
}

#[inline]
#[target_feature(enable = "sse2")]
fn pair(pair: &Pair) -> __m128i {
    _mm_set_epi64x(pair[1] as i64, pair[0] as i64)
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; VECTOR_BYTES]) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
