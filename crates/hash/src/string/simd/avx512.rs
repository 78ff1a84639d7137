//! Tabulation by a table that is kept in sixteen registers.
//!
//! ```text
//!  byte     7 6 5 | 4 3 2 1 0
//!           choose  place in a pair of registers: one VPERMI2D for 16 bytes
//!           a pair
//! ```
//!
//! For 16 states 8 VPERMI2D, 7 blends and 3 tests: no load but those of states
//! and bytes.

use std::arch::x86_64::*;

const LANES: usize = 16;

/// [`super::look_up`], 16 states at once.
#[target_feature(enable = "avx512f")]
pub(super) fn look_up(table: &[u32; 256], states: &mut [u32], bytes: &[u8]) -> usize {
    let (rows, _) = table.as_chunks::<LANES>();
    let rows: [__m512i; 16] = std::array::from_fn(|row| {
        // SAFETY: a row is 64 bytes.
        unsafe { _mm512_loadu_si512(rows[row].as_ptr().cast()) }
    });
    let (states, _) = states.as_chunks_mut::<LANES>();
    let (bytes, _) = bytes.as_chunks::<LANES>();
    for (states, bytes) in states.iter_mut().zip(bytes) {
        // SAFETY: there are 16 bytes, and 64 bytes of states.
        let (bytes, before) = unsafe {
            (
                _mm_loadu_si128(bytes.as_ptr().cast()),
                _mm512_loadu_si512(states.as_ptr().cast()),
            )
        };
        let bytes = _mm512_cvtepu8_epi32(bytes);
        let found = look_up_16(&rows, bytes);
        let after = _mm512_xor_si512(before, found);
        // SAFETY: there are 64 bytes of states.
        unsafe { _mm512_storeu_si512(states.as_mut_ptr().cast(), after) };
    }
    states.len().min(bytes.len()) * LANES
}

/// The words of 16 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn look_up_16(rows: &[__m512i; 16], bytes: __m512i) -> __m512i {
    let bit = |bit: i32| _mm512_test_epi32_mask(bytes, _mm512_set1_epi32(1 << bit));
    let (five, six, seven) = (bit(5), bit(6), bit(7));
    let pair = |pair: usize| _mm512_permutex2var_epi32(rows[2 * pair], bytes, rows[2 * pair + 1]);
    let two = |first: usize| _mm512_mask_blend_epi32(five, pair(first), pair(first + 1));
    let four = |first: usize| _mm512_mask_blend_epi32(six, two(first), two(first + 2));
    _mm512_mask_blend_epi32(seven, four(0), four(4))
}
