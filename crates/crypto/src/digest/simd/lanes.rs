//! Lanes of vectors: one word of many messages in each.

use super::super::rounds::{Rounds, WordLanes};
use super::kernels::Lanes;
use super::{MOST_LANES, States, Streams, Word, Words};
use crate::simd::vector::{Isa, Vector, transpose_double_words, transpose_quads, transpose_words};

/// The rounds `R` in the lanes of the vectors of `I`.
#[derive(Clone, Copy)]
pub(super) struct InLanes<I, R> {
    isa: I,
    _rounds: R,
}

impl<I: Isa, R> InLanes<I, R> {
    #[inline(always)]
    pub(super) fn new(isa: I, rounds: R) -> InLanes<I, R> {
        InLanes {
            isa,
            _rounds: rounds,
        }
    }
}

/// Vectors whose lanes are words `W`.
pub(super) trait BlockLanes<W>: WordLanes<W> {
    /// The 16 words at byte `at` of every stream: word by word, lanes are
    /// streams.
    ///
    /// ```text
    /// stream 0   w0  w1  w2  …  w15          word  0   s0 s1 s2 … s15
    /// stream 1   w0  w1  w2  …  w15    →     word  1   s0 s1 s2 … s15
    ///    …                                      …
    /// ```
    ///
    /// # Safety
    /// The streams of all lanes go on for 16 words from there.
    unsafe fn load_block(
        isa: Self::Isa,
        streams: &Streams<'_>,
        at: usize,
        big_endian: bool,
    ) -> [Self; 16];
}

/// A vector of each of the first streams, from byte `at` on; the bytes of a quad in this order,
/// if they are to be in another.
///
/// # Safety
/// The streams of `lanes` lanes go on for a vector from there.
#[inline(always)]
unsafe fn load_rows<I: Isa, const ROWS: usize>(
    isa: I,
    streams: &Streams<'_>,
    lanes: usize,
    at: usize,
    order: Option<&[u8; 16]>,
) -> [I::Vector; ROWS] {
    let mut rows = [isa.zero(); ROWS];
    for (row, stream) in rows[..lanes].iter_mut().zip(streams) {
        // SAFETY: as the caller promises.
        *row = unsafe { isa.load_at(stream.as_ptr().add(at)) };
        if let Some(order) = order {
            *row = row.shuffle_bytes(isa.all_quads(order));
        }
    }
    rows
}

/// Big-endian words of each size.
const SWAP_32: [u8; 16] = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];
const SWAP_64: [u8; 16] = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8];

impl<V: Vector> BlockLanes<u32> for V {
    #[inline(always)]
    unsafe fn load_block(
        isa: V::Isa,
        streams: &Streams<'_>,
        at: usize,
        big_endian: bool,
    ) -> [V; 16] {
        let order = if big_endian { Some(&SWAP_32) } else { None };
        let lanes = 4 * V::QUADS;
        let mut words = [isa.zero(); 16];
        for first in (0..16).step_by(lanes) {
            // SAFETY: as the caller promises.
            let mut rows: [V; 16] =
                unsafe { load_rows(isa, streams, lanes, at + 4 * first, order) };
            for four in rows[..lanes].as_chunks_mut().0 {
                *four = transpose_words(*four);
            }
            for i in 0..4 {
                let turned = transpose_quads([rows[i], rows[4 + i], rows[8 + i], rows[12 + i]]);
                for quad in 0..V::QUADS {
                    words[first + 4 * quad + i] = turned[quad];
                }
            }
        }
        words
    }
}

impl<V: Vector> BlockLanes<u64> for V {
    #[inline(always)]
    unsafe fn load_block(
        isa: V::Isa,
        streams: &Streams<'_>,
        at: usize,
        big_endian: bool,
    ) -> [V; 16] {
        let order = if big_endian { Some(&SWAP_64) } else { None };
        let lanes = 2 * V::QUADS;
        let mut words = [isa.zero(); 16];
        for first in (0..16).step_by(lanes) {
            // SAFETY: as the caller promises.
            let rows = unsafe { load_rows(isa, streams, lanes, at + 8 * first, order) };
            words[first..first + lanes].copy_from_slice(&transpose_double_words(rows)[..lanes]);
        }
        words
    }
}

impl<W: Word, I: Isa, R: Rounds<W>> Lanes<W> for InLanes<I, R>
where
    I::Vector: BlockLanes<W>,
{
    type State = [I::Vector; 8];
    type Block = [I::Vector; 16];

    #[inline(always)]
    fn load_state(self, states: &States<W>) -> Self::State {
        let [first, ..] = &states.0;
        let mut state = [self.isa.load(first); 8];
        for (vector, row) in state[1..R::STATE_WORDS].iter_mut().zip(&states[1..]) {
            *vector = self.isa.load(row);
        }
        state
    }

    #[inline(always)]
    fn store_state(self, state: &Self::State, states: &mut States<W>) {
        for (vector, row) in state[..R::STATE_WORDS].iter().zip(&mut states.0) {
            vector.store(row);
        }
    }

    #[inline(always)]
    fn load_pads(self, pads: &[&[[W; 8]; 2]; MOST_LANES]) -> [Self::State; 2] {
        let mut streams = [&[][..]; MOST_LANES];
        for (stream, pads) in streams.iter_mut().zip(pads) {
            let bytes = size_of_val(*pads);
            // SAFETY: numbers are bytes.
            *stream = unsafe { std::slice::from_raw_parts(pads.as_ptr().cast(), bytes) };
        }
        // SAFETY: the states of two pads are 16 words.
        let words = unsafe { I::Vector::load_block(self.isa, &streams, 0, false) };
        let mut states = [[words[0]; 8]; 2];
        for (state, words) in states.iter_mut().zip(words.as_chunks().0) {
            *state = *words;
        }
        states
    }

    #[inline(always)]
    unsafe fn load_block(self, streams: &Streams<'_>, at: usize) -> Self::Block {
        // SAFETY: as the caller promises.
        unsafe { I::Vector::load_block(self.isa, streams, at, R::BIG_ENDIAN) }
    }

    #[inline(always)]
    fn block_of_words(self, words: &Words<W>) -> Self::Block {
        let mut block = [self.isa.zero(); 16];
        for (vector, row) in block.iter_mut().zip(words.iter()) {
            *vector = self.isa.load(row);
        }
        block
    }

    #[inline(always)]
    fn block_of_digest(
        self,
        state: &Self::State,
        digest_words: usize,
        padding: &Words<W>,
    ) -> Self::Block {
        let mut block = [state[0]; 16];
        for (index, (vector, padding)) in block.iter_mut().zip(padding.iter()).enumerate() {
            *vector = match state.get(index) {
                Some(word) if index < digest_words => *word,
                _ => self.isa.load(padding),
            };
        }
        block
    }

    #[inline(always)]
    fn compress(self, state: &mut Self::State, block: Self::Block) {
        R::compress(state, block);
    }
}
