//! The SHA extensions: two messages interleaved, so that one computes while
//! the other waits for its last instruction.

use std::arch::x86_64::*;

use super::super::rounds::sha2_constants::SHA256;
use super::{States, Streams, Words};

/// Messages in flight.
pub(super) const LANES: usize = 2;

/// A block of every lane: four words a vector.
type Blocks = [[__m128i; 4]; LANES];

/// SHA-1 in two lanes.
pub(super) mod sha1 {
    use super::*;

    /// # Safety
    /// The processor has SHA, SSSE3 and SSE4.1; the streams of all lanes have
    /// at least `blocks` blocks.
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    pub(in super::super) unsafe fn advance(
        states: &mut States<u32>,
        streams: &Streams<'_>,
        blocks: usize,
    ) {
        let mut state = State::load(states);
        let reversed = _mm_set_epi32(0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f);
        for block in 0..blocks {
            // SAFETY: the block lies within the streams, as the caller promises.
            state.compress(unsafe { load_block(streams, block, reversed) });
        }
        state.store(states);
    }

    /// # Safety
    /// The processor has SHA, SSSE3 and SSE4.1.
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    pub(in super::super) unsafe fn take_words(states: &mut States<u32>, words: &Words<u32>) {
        let mut state = State::load(states);
        let mut blocks = [[_mm_setzero_si128(); 4]; LANES];
        for (lane, block) in blocks.iter_mut().enumerate() {
            for (i, vector) in block.iter_mut().enumerate() {
                *vector = vector_of(&words.0, lane, [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3]);
            }
        }
        state.compress(blocks);
        state.store(states);
    }

    struct State {
        abcd: [__m128i; LANES],
        e: [__m128i; LANES],
    }

    impl State {
        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn load(states: &States<u32>) -> State {
            let mut abcd = [_mm_setzero_si128(); LANES];
            let mut e = abcd;
            for lane in 0..LANES {
                abcd[lane] = vector_of(&states.0, lane, [0, 1, 2, 3]);
                e[lane] = _mm_set_epi32(states[4][lane].cast_signed(), 0, 0, 0);
            }
            State { abcd, e }
        }

        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn store(self, states: &mut States<u32>) {
            for lane in 0..LANES {
                for (word, value) in words_of(self.abcd[lane]).into_iter().enumerate() {
                    states[word][lane] = value;
                }
                [states[4][lane], ..] = words_of(self.e[lane]);
            }
        }

        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn compress(&mut self, mut w: Blocks) {
            let State { mut abcd, e } = *self;
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
            for lane in 0..LANES {
                self.abcd[lane] = _mm_add_epi32(abcd[lane], self.abcd[lane]);
                self.e[lane] = _mm_sha1nexte_epu32(previous[lane], self.e[lane]);
            }
        }
    }
}

/// SHA-256 in two lanes.
pub(super) mod sha256 {
    use super::*;

    /// # Safety
    /// The processor has SHA, SSSE3 and SSE4.1; the streams of all lanes have
    /// the blocks of `row`.
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    pub(in super::super) unsafe fn advance(
        states: &mut States<u32>,
        streams: &Streams<'_>,
        blocks: usize,
    ) {
        let mut state = State::load(states);
        let swapped = _mm_set_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
        for block in 0..blocks {
            // SAFETY: the block lies within the streams, as the caller promises.
            state.compress(unsafe { load_block(streams, block, swapped) });
        }
        state.store(states);
    }

    /// # Safety
    /// The processor has SHA, SSSE3 and SSE4.1.
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    pub(in super::super) unsafe fn take_words(states: &mut States<u32>, words: &Words<u32>) {
        let mut state = State::load(states);
        let mut blocks = [[_mm_setzero_si128(); 4]; LANES];
        for (lane, block) in blocks.iter_mut().enumerate() {
            for (i, vector) in block.iter_mut().enumerate() {
                *vector = vector_of(&words.0, lane, [4 * i + 3, 4 * i + 2, 4 * i + 1, 4 * i]);
            }
        }
        state.compress(blocks);
        state.store(states);
    }

    struct State {
        abef: [__m128i; LANES],
        cdgh: [__m128i; LANES],
    }

    const ABEF: [usize; 4] = [0, 1, 4, 5];
    const CDGH: [usize; 4] = [2, 3, 6, 7];

    impl State {
        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn load(states: &States<u32>) -> State {
            let mut abef = [_mm_setzero_si128(); LANES];
            let mut cdgh = abef;
            for lane in 0..LANES {
                abef[lane] = vector_of(&states.0, lane, ABEF);
                cdgh[lane] = vector_of(&states.0, lane, CDGH);
            }
            State { abef, cdgh }
        }

        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn store(self, states: &mut States<u32>) {
            for lane in 0..LANES {
                for (vector, words) in [(self.abef[lane], ABEF), (self.cdgh[lane], CDGH)] {
                    for (word, value) in words.into_iter().zip(words_of(vector)) {
                        states[word][lane] = value;
                    }
                }
            }
        }

        #[inline]
        #[target_feature(enable = "sha,ssse3,sse4.1")]
        fn compress(&mut self, mut w: Blocks) {
            let State { mut abef, mut cdgh } = *self;
            /// Four steps of every lane, with words `4 i` to `4 i + 3`.
            macro_rules! four_steps {
                ($k:expr, $i:literal) => {
                    let k = &$k.as_chunks::<4>().0[$i];
                    // SAFETY: four words are readable; the load needs no alignment.
                    let k = unsafe { _mm_loadu_si128(k.as_ptr().cast()) };
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
            for lane in 0..LANES {
                self.abef[lane] = _mm_add_epi32(abef[lane], self.abef[lane]);
                self.cdgh[lane] = _mm_add_epi32(cdgh[lane], self.cdgh[lane]);
            }
        }
    }
}

/// Block `number` of every stream, its bytes in `order`.
///
/// # Safety
/// The streams of all lanes have that block.
#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn load_block(streams: &Streams<'_>, number: usize, order: __m128i) -> Blocks {
    let mut blocks = [[_mm_setzero_si128(); 4]; LANES];
    for (block, stream) in blocks.iter_mut().zip(streams) {
        for (i, vector) in block.iter_mut().enumerate() {
            // SAFETY: as the caller promises; the load needs no alignment.
            let bytes =
                unsafe { _mm_loadu_si128(stream.as_ptr().add(number * 64 + i * 16).cast()) };
            *vector = _mm_shuffle_epi8(bytes, order);
        }
    }
    blocks
}

/// Words of a lane, from the vector's high end down.
#[inline]
#[target_feature(enable = "sse4.1")]
fn vector_of(rows: &[[u32; super::MOST_LANES]], lane: usize, [a, b, c, d]: [usize; 4]) -> __m128i {
    _mm_set_epi32(
        rows[a][lane].cast_signed(),
        rows[b][lane].cast_signed(),
        rows[c][lane].cast_signed(),
        rows[d][lane].cast_signed(),
    )
}

/// The words of a vector from its high end down.
#[inline]
#[target_feature(enable = "sse4.1")]
fn words_of(vector: __m128i) -> [u32; 4] {
    [
        _mm_extract_epi32::<3>(vector).cast_unsigned(),
        _mm_extract_epi32::<2>(vector).cast_unsigned(),
        _mm_extract_epi32::<1>(vector).cast_unsigned(),
        _mm_extract_epi32::<0>(vector).cast_unsigned(),
    ]
}
