//! The SHA extensions: two messages interleaved, so that one computes while
//! the other waits for its last instruction.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::rounds::sha2_constants::SHA256;
use super::kernels::Lanes;
use super::{MOST_LANES, States, Streams, Words};

/// Messages in flight.
pub(super) const LANES: usize = 2;

/// Proof that the processor has SHA, SSSE3 and SSE4.1, for the function `R`.
#[derive(Clone, Copy)]
pub(super) struct Ni<R>(PhantomData<R>);

/// Two vectors of state of every lane.
type State = [[__m128i; LANES]; 2];

/// A block of every lane: four words a vector.
type Blocks = [[__m128i; 4]; LANES];

/// What SHA-1 and SHA-256 do not share.
pub(super) trait NiRounds: Copy {
    /// Words of the state that are used; the others are zeros.
    const STATE_WORDS: usize;
    /// Which words of the state each vector has, and which of four a vector of a block, from
    /// the high end down.
    const STATE: [[usize; 4]; 2];
    const BLOCK: [usize; 4];

    /// # Safety
    /// The processor has SHA, SSSE3 and SSE4.1.
    unsafe fn compress(state: &mut State, w: Blocks);
}

impl<R: NiRounds> Ni<R> {
    /// # Safety
    /// The processor has SHA, SSSE3 and SSE4.1.
    #[inline(always)]
    pub(super) unsafe fn new() -> Ni<R> {
        Ni(PhantomData)
    }

    /// A state from that of each lane.
    #[inline(always)]
    fn state_of(self, lanes: [[u32; 8]; LANES]) -> State {
        let mut state = [[self.vector_of([0; 4]); LANES]; 2];
        for (vectors, words) in state.iter_mut().zip(R::STATE) {
            for (vector, lane) in vectors.iter_mut().zip(&lanes) {
                *vector = self.vector_of(words.map(|word| match word < R::STATE_WORDS {
                    true => lane[word],
                    false => 0,
                }));
            }
        }
        state
    }

    /// The state of each lane.
    #[inline(always)]
    fn lanes_of(self, state: &State) -> [[u32; 8]; LANES] {
        let mut lanes = [[0; 8]; LANES];
        for (vectors, words) in state.iter().zip(R::STATE) {
            for (vector, lane) in vectors.iter().zip(&mut lanes) {
                for (word, value) in words.into_iter().zip(self.words_of(*vector)) {
                    lane[word] = value;
                }
            }
        }
        lanes
    }

    /// A block from the words of each lane.
    #[inline(always)]
    fn block_of(self, lanes: &[[u32; 16]; LANES]) -> Blocks {
        let mut blocks = [[self.vector_of([0; 4]); 4]; LANES];
        for (block, lane) in blocks.iter_mut().zip(lanes) {
            for (vector, words) in block.iter_mut().zip(lane.as_chunks::<4>().0) {
                *vector = self.vector_of(R::BLOCK.map(|word| words[word]));
            }
        }
        blocks
    }

    /// A vector of words, from its high end down.
    #[inline(always)]
    fn vector_of(self, [a, b, c, d]: [u32; 4]) -> __m128i {
        let [a, b, c, d] = [a, b, c, d].map(u32::cast_signed);
        // SAFETY: `self` proves SSE4.1.
        unsafe { _mm_set_epi32(a, b, c, d) }
    }

    /// The words of a vector from its high end down.
    #[inline(always)]
    fn words_of(self, vector: __m128i) -> [u32; 4] {
        // SAFETY: `self` proves SSE4.1.
        let words = unsafe {
            [
                _mm_extract_epi32::<3>(vector),
                _mm_extract_epi32::<2>(vector),
                _mm_extract_epi32::<1>(vector),
                _mm_extract_epi32::<0>(vector),
            ]
        };
        words.map(i32::cast_unsigned)
    }
}

impl<R: NiRounds> Lanes<u32> for Ni<R> {
    type State = State;
    type Block = Blocks;

    #[inline(always)]
    fn load_state(self, states: &States<u32>) -> State {
        let mut lanes = [[0; 8]; LANES];
        for (word, row) in states.iter().enumerate() {
            for (lane, value) in lanes.iter_mut().zip(row) {
                lane[word] = *value;
            }
        }
        self.state_of(lanes)
    }

    #[inline(always)]
    fn store_state(self, state: &State, states: &mut States<u32>) {
        let lanes = self.lanes_of(state);
        for (word, row) in states[..R::STATE_WORDS].iter_mut().enumerate() {
            for (value, lane) in row.iter_mut().zip(&lanes) {
                *value = lane[word];
            }
        }
    }

    #[inline(always)]
    fn load_pads(self, pads: &[&[[u32; 8]; 2]; MOST_LANES]) -> [State; 2] {
        let [first, second, ..] = pads;
        [
            self.state_of([first[0], second[0]]),
            self.state_of([first[1], second[1]]),
        ]
    }

    #[inline(always)]
    unsafe fn load_block(self, streams: &Streams<'_>, at: usize) -> Blocks {
        let mut blocks = [[self.vector_of([0; 4]); 4]; LANES];
        for (block, stream) in blocks.iter_mut().zip(streams) {
            for (i, vector) in block.iter_mut().enumerate() {
                // SAFETY: `self` proves SSSE3; the block is readable, as the caller promises, and
                // the load needs no alignment.
                *vector = unsafe {
                    let bytes = _mm_loadu_si128(stream.as_ptr().add(at + i * 16).cast());
                    let words = R::BLOCK.map(|word| 0x0001_0203 + 0x0404_0404 * word as u32);
                    _mm_shuffle_epi8(bytes, self.vector_of(words))
                };
            }
        }
        blocks
    }

    #[inline(always)]
    fn block_of_words(self, words: &Words<u32>) -> Blocks {
        let mut lanes = [[0; 16]; LANES];
        for (word, row) in words.iter().enumerate() {
            for (lane, value) in lanes.iter_mut().zip(row) {
                lane[word] = *value;
            }
        }
        self.block_of(&lanes)
    }

    #[inline(always)]
    fn block_of_digest(self, state: &State, digest_words: usize, padding: &Words<u32>) -> Blocks {
        let mut lanes = [[0; 16]; LANES];
        for (number, (lane, digest)) in lanes.iter_mut().zip(self.lanes_of(state)).enumerate() {
            for (index, (word, padding)) in lane.iter_mut().zip(padding.iter()).enumerate() {
                *word = match digest.get(index) {
                    Some(word) if index < digest_words => *word,
                    _ => padding[number],
                };
            }
        }
        self.block_of(&lanes)
    }

    #[inline(always)]
    fn compress(self, state: &mut State, block: Blocks) {
        // SAFETY: `self` proves SHA, SSSE3 and SSE4.1.
        unsafe { R::compress(state, block) }
    }
}

/// SHA-1: a, b, c, d in one vector and e at the high end of the other.
#[derive(Clone, Copy)]
pub(super) struct NiSha1;

impl NiRounds for NiSha1 {
    const STATE_WORDS: usize = 5;
    const STATE: [[usize; 4]; 2] = [[0, 1, 2, 3], [4, 5, 6, 7]];
    const BLOCK: [usize; 4] = [0, 1, 2, 3];

    #[inline(always)]
    unsafe fn compress(state: &mut State, mut w: Blocks) {
        // SAFETY: the instructions are the caller's.
        unsafe {
            let [mut abcd, e] = *state;
            // What e is made of: a, four steps ago.
            let mut previous = abcd;
            for lane in 0..LANES {
                let with_e = _mm_add_epi32(e[lane], w[lane][0]);
                abcd[lane] = _mm_sha1rnds4_epu32::<0>(abcd[lane], with_e);
            }
            /// Four steps of every lane with function `f`, after words `4 i` to
            /// `4 i + 3` of the schedule have been made where they are not given.
            macro_rules! four_steps {
                ($f:literal, $($i:literal),*) => {$(
                    for lane in 0..LANES {
                        let w = &mut w[lane];
                        if $i >= 4 {
                            let sum = _mm_sha1msg1_epu32(w[$i % 4], w[($i + 1) % 4]);
                            let sum = _mm_xor_si128(sum, w[($i + 2) % 4]);
                            w[$i % 4] = _mm_sha1msg2_epu32(sum, w[($i + 3) % 4]);
                        }
                        let with_e = _mm_sha1nexte_epu32(previous[lane], w[$i % 4]);
                        previous[lane] = abcd[lane];
                        abcd[lane] = _mm_sha1rnds4_epu32::<$f>(abcd[lane], with_e);
                    }
                )*};
            }
            four_steps!(0, 1, 2, 3, 4);
            four_steps!(1, 5, 6, 7, 8, 9);
            four_steps!(2, 10, 11, 12, 13, 14);
            four_steps!(3, 15, 16, 17, 18, 19);
            let [to_abcd, to_e] = state;
            for lane in 0..LANES {
                to_abcd[lane] = _mm_add_epi32(abcd[lane], to_abcd[lane]);
                to_e[lane] = _mm_sha1nexte_epu32(previous[lane], to_e[lane]);
            }
        }
    }
}

/// SHA-256.
#[derive(Clone, Copy)]
pub(super) struct NiSha256;

impl NiRounds for NiSha256 {
    const STATE_WORDS: usize = 8;
    const STATE: [[usize; 4]; 2] = [[0, 1, 4, 5], [2, 3, 6, 7]];
    const BLOCK: [usize; 4] = [3, 2, 1, 0];

    #[inline(always)]
    unsafe fn compress(state: &mut State, mut w: Blocks) {
        // SAFETY: the instructions are the caller's; four words are readable of each load, which
        // needs no alignment.
        unsafe {
            let [mut abef, mut cdgh] = *state;
            /// Four steps of every lane, with words `4 i` to `4 i + 3`.
            macro_rules! four_steps {
                ($k:expr, $i:literal) => {
                    let k = &$k.as_chunks::<4>().0[$i];
                    let k = _mm_loadu_si128(k.as_ptr().cast());
                    for lane in 0..LANES {
                        let wk = _mm_add_epi32(w[lane][$i], k);
                        cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], wk);
                        let wk = _mm_shuffle_epi32::<0x0e>(wk);
                        abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], wk);
                    }
                };
            }
            /// Words `4 i` to `4 i + 3` of the next row of the schedule.
            macro_rules! schedule {
                ($i:literal) => {
                    for w in &mut w {
                        let (w1, w2, w3) = (w[($i + 1) % 4], w[($i + 2) % 4], w[($i + 3) % 4]);
                        let sum = _mm_sha256msg1_epu32(w[$i], w1);
                        let sum = _mm_add_epi32(sum, _mm_alignr_epi8::<4>(w3, w2));
                        w[$i] = _mm_sha256msg2_epu32(sum, w3);
                    }
                };
            }
            let [first, others @ ..] = &SHA256;
            four_steps!(first, 0);
            four_steps!(first, 1);
            four_steps!(first, 2);
            four_steps!(first, 3);
            for k in others {
                schedule!(0);
                four_steps!(k, 0);
                schedule!(1);
                four_steps!(k, 1);
                schedule!(2);
                four_steps!(k, 2);
                schedule!(3);
                four_steps!(k, 3);
            }
            for (to, from) in state.iter_mut().zip([abef, cdgh]) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = _mm_add_epi32(from, *to);
                }
            }
        }
    }
}
