//! ChaCha20 (RFC 8439 section 2.3): eight blocks side by side, each with a key, nonce and
//! counter of its own.

use std::arch::x86_64::*;

use super::transpose;
use crate::cipher::Block;

/// Blocks that are computed together.
pub(super) const BLOCKS: usize = 8;

/// "expand 32-byte k".
const CONSTANTS: [i32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Rotations of each word by 16 and by 8 bits, as orders of bytes.
const ROTATIONS: [[i32; 4]; 2] = [
    [0x0100_0302, 0x0504_0706, 0x0908_0b0a, 0x0d0c_0f0e],
    [0x0201_0003, 0x0605_0407, 0x0a09_080b, 0x0e0d_0c0f],
];

/// Four quarter rounds (RFC 8439 section 2.1), none of which waits for another.
macro_rules! quarter_rounds {
    ($v:ident, $by_16:ident, $by_8:ident, $([$a:literal, $b:literal, $c:literal, $d:literal]),*) => {
        $($v[$a] = _mm256_add_epi32($v[$a], $v[$b]);)*
        $($v[$d] = _mm256_shuffle_epi8(_mm256_xor_si256($v[$d], $v[$a]), $by_16);)*
        $($v[$c] = _mm256_add_epi32($v[$c], $v[$d]);)*
        $($v[$b] = rotate::<12, 20>(_mm256_xor_si256($v[$b], $v[$c]));)*
        $($v[$a] = _mm256_add_epi32($v[$a], $v[$b]);)*
        $($v[$d] = _mm256_shuffle_epi8(_mm256_xor_si256($v[$d], $v[$a]), $by_8);)*
        $($v[$c] = _mm256_add_epi32($v[$c], $v[$d]);)*
        $($v[$b] = rotate::<7, 25>(_mm256_xor_si256($v[$b], $v[$c]));)*
    };
}

/// What the states of eight blocks are made of.
pub(super) struct Blocks<'a> {
    keys: [&'a [u8; 32]; BLOCKS],
    /// Counters, and the words of the nonces.
    ends: [[u32; BLOCKS]; 4],
}

impl<'a> Blocks<'a> {
    /// Blocks 0 under a key and a nonce of zeros.
    #[inline]
    pub(super) fn new(key: &'a [u8; 32]) -> Blocks<'a> {
        Blocks {
            keys: [key; BLOCKS],
            ends: [[0; BLOCKS]; 4],
        }
    }

    /// Sets what a lane computes.
    #[inline]
    pub(super) fn set(&mut self, lane: usize, key: &'a [u8; 32], counter: u32, nonce: &Block) {
        let lane = lane % BLOCKS;
        self.keys[lane] = key;
        let [counters, nonces @ ..] = &mut self.ends;
        counters[lane] = counter;
        for (words, bytes) in nonces.iter_mut().zip(nonce.as_chunks().0) {
            words[lane] = u32::from_le_bytes(*bytes);
        }
    }

    /// The states at the beginning.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn states(&self) -> [__m256i; 16] {
        // SAFETY: 32 bytes of each are readable.
        let load = |at: *const u8| unsafe { _mm256_loadu_si256(at.cast()) };
        let keys = transpose::words(self.keys.map(|key| load(key.as_ptr())));
        std::array::from_fn(|word| match word {
            0..4 => _mm256_set1_epi32(CONSTANTS[word]),
            4..12 => keys[word - 4],
            _ => load(self.ends[word - 12].as_ptr().cast()),
        })
    }

    /// The key streams, a vector for each word of the blocks.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn words(&self) -> [__m256i; 16] {
        let first = self.states();
        let [by_16, by_8] = ROTATIONS.map(|[a, b, c, d]| _mm256_setr_epi32(a, b, c, d, a, b, c, d));
        let mut v = first;
        for _ in 0..10 {
            quarter_rounds!(
                v,
                by_16,
                by_8,
                [0, 4, 8, 12],
                [1, 5, 9, 13],
                [2, 6, 10, 14],
                [3, 7, 11, 15]
            );
            quarter_rounds!(
                v,
                by_16,
                by_8,
                [0, 5, 10, 15],
                [1, 6, 11, 12],
                [2, 7, 8, 13],
                [3, 4, 9, 14]
            );
        }
        for (word, first) in v.iter_mut().zip(first) {
            *word = _mm256_add_epi32(*word, first);
        }
        v
    }

    /// The same, two vectors for each block: its first half and its second.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn streams(&self) -> [[__m256i; BLOCKS]; 2] {
        let words = self.words();
        let half = |at: usize| transpose::words(std::array::from_fn(|word| words[at + word]));
        [half(0), half(8)]
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const LEFT: i32, const RIGHT: i32>(x: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi32::<LEFT>(x), _mm256_srli_epi32::<RIGHT>(x))
}
