//! ChaCha20 (RFC 8439 section 2.3): a block in each lane of 32 bits, each with a key, nonce and
//! counter of its own.
//!
//! ```text
//! vector   0 … 3       4 … 11   12        13 … 15
//! word     constants   key      counter   nonce
//! ```

use weir_simd::Lanes;

use crate::cipher::Block;
use crate::simd::vector::{Isa, Vector, transpose_words};

/// Blocks of the widest vectors that are computed together.
pub(super) const MOST_BLOCKS: usize = 16;

/// The key streams of as many blocks as a vector has lanes, a vector for each word.
pub(super) type Words<I> = [<I as Isa>::Vector; 16];

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Four quarter rounds (RFC 8439 section 2.1), none of which waits for another.
macro_rules! quarter_rounds {
    ($v:ident, $([$a:literal, $b:literal, $c:literal, $d:literal]),*) => {
        $($v[$a] = $v[$a].add_32($v[$b]);)*
        $($v[$d] = $v[$d].xor($v[$a]).rotate_right_32::<16>();)*
        $($v[$c] = $v[$c].add_32($v[$d]);)*
        $($v[$b] = $v[$b].xor($v[$c]).rotate_right_32::<20>();)*
        $($v[$a] = $v[$a].add_32($v[$b]);)*
        $($v[$d] = $v[$d].xor($v[$a]).rotate_right_32::<24>();)*
        $($v[$c] = $v[$c].add_32($v[$d]);)*
        $($v[$b] = $v[$b].xor($v[$c]).rotate_right_32::<25>();)*
    };
}

/// Double rounds of a block.
pub(super) const DOUBLE_ROUNDS: usize = 10;

/// A round of columns and one of diagonals.
#[inline(always)]
pub(super) fn double_round<V: Vector>(v: &mut [V; 16]) {
    quarter_rounds!(
        v,
        [0, 4, 8, 12],
        [1, 5, 9, 13],
        [2, 6, 10, 14],
        [3, 7, 11, 15]
    );
    quarter_rounds!(
        v,
        [0, 5, 10, 15],
        [1, 6, 11, 12],
        [2, 7, 8, 13],
        [3, 4, 9, 14]
    );
}

/// Adds the states at the beginning, behind the last round.
#[inline(always)]
pub(super) fn add_first<V: Vector>(v: &mut [V; 16], first: &[V; 16]) {
    for (word, first) in v.iter_mut().zip(first) {
        *word = word.add_32(*first);
    }
}

/// What the states of as many blocks as a vector has lanes are made of.
pub(super) struct Blocks<'a, I> {
    isa: I,
    keys: [&'a [u8; 32]; MOST_BLOCKS],
    /// Counter and nonce of each block, in the order in which they are transposed.
    ends: Lanes<[u8; 16], MOST_BLOCKS>,
}

impl<'a, I: Isa> Blocks<'a, I> {
    /// Blocks that are computed together.
    pub(super) const BLOCKS: usize = 4 * I::Vector::QUADS;

    /// Blocks 0 under a key and a nonce of zeros.
    #[inline(always)]
    pub(super) fn new(isa: I, key: &'a [u8; 32]) -> Blocks<'a, I> {
        Blocks {
            isa,
            keys: [key; MOST_BLOCKS],
            ends: Lanes::default(),
        }
    }

    /// Sets what a lane computes.
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, key: &'a [u8; 32], counter: u32, nonce: &Block) {
        let lane = lane % Self::BLOCKS;
        self.keys[lane] = key;
        let end = u128::from_le_bytes(*nonce) << 32 | u128::from(counter);
        self.ends[I::Vector::QUADS * (lane % 4) + lane / 4] = end.to_le_bytes();
    }

    /// The states at the beginning.
    #[inline(always)]
    pub(super) fn first(&self) -> Words<I> {
        // Quads of vector w of the first half: words w and 4 + w of the first four keys, and then
        // of the next ones; of the second half, those of the other keys.
        let low = transpose_words(self.four_keys(0));
        let high = transpose_words(self.four_keys(Self::BLOCKS / 2));
        let mut ends = [self.isa.zero(); 4];
        for (row, end) in ends.iter_mut().enumerate() {
            let quads = &self.ends[I::Vector::QUADS * row..][..I::Vector::QUADS];
            // SAFETY: a vector has as many quads.
            *end = unsafe { self.isa.load_at(quads.as_ptr().cast()) };
        }
        let ends = transpose_words(ends);
        let mut states = [self.isa.zero(); 16];
        for word in 0..4 {
            states[word] = self.isa.all_32(CONSTANTS[word]);
            states[4 + word] = low[word].even_quads(high[word]);
            states[8 + word] = low[word].odd_quads(high[word]);
            states[12 + word] = ends[word];
        }
        states
    }

    /// Four keys from number `begin` on, with the four behind them where a vector has two.
    #[inline(always)]
    fn four_keys(&self, begin: usize) -> [I::Vector; 4] {
        let mut vectors = [self.isa.zero(); 4];
        for (index, vector) in vectors.iter_mut().enumerate() {
            *vector = self
                .isa
                .load_pair(self.keys[begin + index], self.keys[begin + index + 4]);
        }
        vectors
    }
}
