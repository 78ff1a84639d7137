//! 64 bytes per vector, one vector or four side by side.
//!
//! Zeros in front of a message change nothing. So a message is taken as if as many stood there as make
//! whole vectors of it, and nothing is left over at its end.

use std::arch::x86_64::*;

use super::super::fold::{Pair, Polynomial};
use super::super::head::Head;
use super::pclmul::reduce;

const VECTOR_BYTES: usize = 64;

/// From here on four vectors side by side are faster, as none of their products waits for another's.
const WIDE_BYTES: usize = 384;

/// `bytes` are not empty.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn remainder(polynomial: &Polynomial, head: &Head, bytes: &[u8]) -> u32 {
    let sum = match bytes.len() {
        ..WIDE_BYTES => fold::<1>(polynomial, &polynomial.over_64, head, bytes),
        _ => fold::<4>(polynomial, &polynomial.over_256, head, bytes),
    };
    let half = _mm256_xor_si256(
        _mm512_castsi512_si256(sum),
        _mm512_extracti64x4_epi64::<1>(sum),
    );
    let sum = _mm_xor_si128(
        _mm256_castsi256_si128(half),
        _mm256_extracti128_si256::<1>(half),
    );
    reduce(polynomial, sum)
}

/// The sum of what each part of a vector counts for at the end, in each of four parts.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn fold<const VECTORS: usize>(
    polynomial: &Polynomial,
    over: &Pair,
    head: &Head,
    bytes: &[u8],
) -> __m512i {
    let block_bytes = VECTORS * VECTOR_BYTES;
    // Of zeros, fewer than a block.
    let front_bytes = bytes.len().wrapping_neg() % block_bytes;
    let mut sums = [_mm512_setzero_si512(); VECTORS];
    for (at, sum) in sums.iter_mut().enumerate() {
        let position = (at * VECTOR_BYTES) as isize - front_bytes as isize;
        *sum = load_head(head, bytes, position);
    }
    let over = pair(over);
    let mut at = block_bytes - front_bytes;
    if at < Head::BYTES && at < bytes.len() {
        // The head goes on.
        for (vector, sum) in sums.iter_mut().enumerate() {
            let position = (at + vector * VECTOR_BYTES) as isize;
            *sum = _mm512_xor_si512(product(*sum, over), load_head(head, bytes, position));
        }
        at += block_bytes;
    }
    let (blocks, _) = bytes[at.min(bytes.len())..].as_chunks::<VECTOR_BYTES>();
    let (blocks, _) = blocks.as_chunks::<VECTORS>();
    for block in blocks {
        for (sum, bytes) in sums.iter_mut().zip(block) {
            // SAFETY: 64 bytes are readable; the load needs no alignment.
            let next = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
            *sum = _mm512_xor_si512(product(*sum, over), next);
        }
    }
    let (to_end, _) = polynomial.to_end[16 - 4 * VECTORS..].as_chunks::<4>();
    let mut total = _mm512_setzero_si512();
    for (sum, to_end) in sums.into_iter().zip(to_end) {
        // SAFETY: 64 bytes are readable; the load needs no alignment.
        let to_end = unsafe { _mm512_loadu_si512(to_end.as_ptr().cast()) };
        total = _mm512_xor_si512(total, product(sum, to_end));
    }
    total
}

/// The vector at `position` of the message, zeros in front of it, with what the head does to it. It ends
/// inside the message, and begins less than 64 bytes behind its start or is left as it is.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_head(head: &Head, bytes: &[u8], position: isize) -> __m512i {
    debug_assert!(position + VECTOR_BYTES as isize <= bytes.len() as isize);
    let front = position.min(0).unsigned_abs();
    let mask: __mmask64 = match front {
        0..VECTOR_BYTES => !0 << front,
        _ => return _mm512_setzero_si512(),
    };
    let pointer = bytes.as_ptr().wrapping_offset(position);
    // SAFETY: of the 64 bytes only those behind `front` are read, which lie in `bytes`: they begin at 0
    // or `position`, and end at `position` + 64.
    let vector = unsafe { _mm512_maskz_loadu_epi8(mask, pointer.cast()) };
    if position >= Head::BYTES as isize {
        return vector;
    }
    let ones = head.ones.as_ptr().wrapping_offset(position);
    let begin = head.begin.as_ptr().wrapping_offset(position);
    // SAFETY: both tables have 128 bytes, of which those behind `front` are read, up to `position` + 64,
    // which is less than 128.
    let (ones, begin) = unsafe {
        (
            _mm512_maskz_loadu_epi8(mask, ones.cast()),
            _mm512_maskz_loadu_epi8(mask, begin.cast()),
        )
    };
    _mm512_xor_si512(_mm512_or_si512(vector, ones), begin)
}

/// Both halves of each part times their number, added.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn product(parts: __m512i, by: __m512i) -> __m512i {
    _mm512_xor_si512(
        _mm512_clmulepi64_epi128::<0x00>(parts, by),
        _mm512_clmulepi64_epi128::<0x11>(parts, by),
    )
}

#[inline]
#[target_feature(enable = "avx512f")]
fn pair(pair: &Pair) -> __m512i {
    _mm512_broadcast_i32x4(_mm_set_epi64x(pair[1] as i64, pair[0] as i64))
}
