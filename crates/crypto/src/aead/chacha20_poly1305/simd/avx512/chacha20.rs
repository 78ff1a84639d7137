//! ChaCha20 (RFC 8439 section 2.3): 16 blocks side by side, each with a key, nonce and
//! counter of its own.
//!
//! ```text
//! vector   0 … 3       4 … 11   12        13 … 15
//! word     constants   key      counter   nonce      a block in each lane of 32 bits
//! ```

use std::arch::x86_64::*;

use weir_simd::Lanes;

use super::transpose;
use crate::cipher::Block;

/// Blocks that are computed together.
pub(super) const BLOCKS: usize = 16;

/// "expand 32-byte k".
const CONSTANTS: [i32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Four quarter rounds (RFC 8439 section 2.1), none of which waits for another. A macro, for
/// a function of that length would not be inlined, and states would go through memory.
macro_rules! quarter_rounds {
    ($v:ident, $([$a:literal, $b:literal, $c:literal, $d:literal]),*) => {
        $($v[$a] = _mm512_add_epi32($v[$a], $v[$b]);)*
        $($v[$d] = _mm512_rol_epi32::<16>(_mm512_xor_si512($v[$d], $v[$a]));)*
        $($v[$c] = _mm512_add_epi32($v[$c], $v[$d]);)*
        $($v[$b] = _mm512_rol_epi32::<12>(_mm512_xor_si512($v[$b], $v[$c]));)*
        $($v[$a] = _mm512_add_epi32($v[$a], $v[$b]);)*
        $($v[$d] = _mm512_rol_epi32::<8>(_mm512_xor_si512($v[$d], $v[$a]));)*
        $($v[$c] = _mm512_add_epi32($v[$c], $v[$d]);)*
        $($v[$b] = _mm512_rol_epi32::<7>(_mm512_xor_si512($v[$b], $v[$c]));)*
    };
}

/// A round of columns and one of diagonals.
macro_rules! double_round {
    ($v:ident) => {
        quarter_rounds!(
            $v,
            [0, 4, 8, 12],
            [1, 5, 9, 13],
            [2, 6, 10, 14],
            [3, 7, 11, 15]
        );
        quarter_rounds!(
            $v,
            [0, 5, 10, 15],
            [1, 6, 11, 12],
            [2, 7, 8, 13],
            [3, 4, 9, 14]
        );
    };
}

/// What the states of 16 blocks are made of.
pub(super) struct Blocks<'a> {
    keys: [&'a [u8; 32]; BLOCKS],
    /// Counter and nonce of each block, in the order in which they are transposed.
    ends: Lanes<[u8; 16], BLOCKS>,
}

impl<'a> Blocks<'a> {
    /// Blocks 0 under a key and a nonce of zeros.
    #[inline]
    pub(super) fn new(key: &'a [u8; 32]) -> Blocks<'a> {
        Blocks {
            keys: [key; BLOCKS],
            ends: Lanes::default(),
        }
    }

    /// Sets what a lane computes.
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, key: &'a [u8; 32], counter: u32, nonce: &Block) {
        let lane = lane % BLOCKS;
        self.keys[lane] = key;
        let end = u128::from_le_bytes(*nonce) << 32 | u128::from(counter);
        self.ends[4 * (lane % 4) + lane / 4] = end.to_le_bytes();
    }

    /// The states at the beginning.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn states(&self) -> [__m512i; 16] {
        let pair = |a: usize, b: usize| {
            let (a, b) = (self.keys[a], self.keys[b]);
            // SAFETY: 32 bytes of each are readable.
            unsafe {
                let a = _mm512_castsi256_si512(_mm256_loadu_si256(a.as_ptr().cast()));
                _mm512_inserti64x4::<1>(a, _mm256_loadu_si256(b.as_ptr().cast()))
            }
        };
        // Quarters of vector w: words w and 4 + w of the first four keys, then of the others.
        let low = transpose::words([pair(0, 4), pair(1, 5), pair(2, 6), pair(3, 7)]);
        let high = transpose::words([pair(8, 12), pair(9, 13), pair(10, 14), pair(11, 15)]);
        let end = |at: usize| {
            let four: &[[u8; 16]] = &self.ends[4 * at..4 * at + 4];
            // SAFETY: 64 bytes are readable.
            unsafe { _mm512_loadu_si512(four.as_ptr().cast()) }
        };
        let ends = transpose::words([end(0), end(1), end(2), end(3)]);
        let mut states = [_mm512_setzero_si512(); 16];
        for w in 0..4 {
            states[w] = _mm512_set1_epi32(CONSTANTS[w]);
            states[4 + w] = _mm512_shuffle_i32x4::<0x88>(low[w], high[w]);
            states[8 + w] = _mm512_shuffle_i32x4::<0xdd>(low[w], high[w]);
            states[12 + w] = ends[w];
        }
        states
    }

    /// The key streams, a vector for each word of the blocks. Calls `meanwhile` with numbers
    /// from 0 to 9, for work that rounds leave time for: they wait for each other, and leave
    /// half of the registers and all that is no vector unit.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn words(&self, mut meanwhile: impl FnMut(usize)) -> [__m512i; 16] {
        let first = self.states();
        let mut states = first;
        for number in 0..10 {
            double_round!(states);
            meanwhile(number);
        }
        for (state, first) in states.iter_mut().zip(first) {
            *state = _mm512_add_epi32(*state, first);
        }
        states
    }
}
