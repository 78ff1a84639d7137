//! The SHA extensions: two messages interleaved, so that one computes while
//! the other waits for its last instruction.

use std::arch::x86_64::*;

use super::super::rounds::sha2_constants::SHA256;
use super::{States, Streams};

/// Messages in flight.
pub(super) const LANES: usize = 2;

/// # Safety
/// The processor has SHA, SSSE3 and SSE4.1; the streams of all lanes have so
/// many blocks.
#[target_feature(enable = "sha,ssse3,sse4.1")]
pub(super) unsafe fn sha256(states: &mut States<u32>, streams: &Streams<'_>, blocks: usize) {
    let swap = _mm_set_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
    let row = |states: &States<u32>, lane: usize, words: [usize; 4]| {
        let [a, b, c, d] = words.map(|word| states[word][lane].cast_signed());
        _mm_set_epi32(a, b, c, d)
    };
    const ABEF: [usize; 4] = [0, 1, 4, 5];
    const CDGH: [usize; 4] = [2, 3, 6, 7];
    let mut abef: [__m128i; LANES] = std::array::from_fn(|lane| row(states, lane, ABEF));
    let mut cdgh: [__m128i; LANES] = std::array::from_fn(|lane| row(states, lane, CDGH));

    for block in 0..blocks {
        let before = (abef, cdgh);
        let mut w = [[_mm_setzero_si128(); 4]; LANES];
        for (w, stream) in w.iter_mut().zip(streams) {
            for (i, w) in w.iter_mut().enumerate() {
                // SAFETY: the block lies within the stream, as the caller
                // promises; the load needs no alignment.
                let bytes =
                    unsafe { _mm_loadu_si128(stream.as_ptr().add(block * 64 + i * 16).cast()) };
                *w = _mm_shuffle_epi8(bytes, swap);
            }
        }
        /// Four steps of every lane, with words `4 i` to `4 i + 3`.
        macro_rules! four_steps {
            ($k:expr, $i:literal) => {
                let [k0, k1, k2, k3] = [0, 1, 2, 3].map(|j| $k[4 * $i + j].cast_signed());
                let k = _mm_set_epi32(k3, k2, k1, k0);
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
                    let [w1, w2, w3] = [1, 2, 3].map(|j| w[($i + j) % 4]);
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
            abef[lane] = _mm_add_epi32(abef[lane], before.0[lane]);
            cdgh[lane] = _mm_add_epi32(cdgh[lane], before.1[lane]);
        }
    }

    for lane in 0..LANES {
        for (vector, words) in [(abef[lane], ABEF), (cdgh[lane], CDGH)] {
            let [a, b, c, d] = words_of(vector);
            for (word, value) in words.into_iter().zip([a, b, c, d]) {
                states[word][lane] = value;
            }
        }
    }
}

/// # Safety
/// The processor has SHA, SSSE3 and SSE4.1; the streams of all lanes have so
/// many blocks.
#[target_feature(enable = "sha,ssse3,sse4.1")]
pub(super) unsafe fn sha1(states: &mut States<u32>, streams: &Streams<'_>, blocks: usize) {
    let swap = _mm_set_epi32(0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f);
    let mut abcd: [__m128i; LANES] = std::array::from_fn(|lane| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|word| states[word][lane].cast_signed());
        _mm_set_epi32(a, b, c, d)
    });
    let mut e: [__m128i; LANES] =
        std::array::from_fn(|lane| _mm_set_epi32(states[4][lane].cast_signed(), 0, 0, 0));

    for block in 0..blocks {
        let before = (abcd, e);
        let mut w = [[_mm_setzero_si128(); 4]; LANES];
        for (w, stream) in w.iter_mut().zip(streams) {
            for (i, w) in w.iter_mut().enumerate() {
                // SAFETY: the block lies within the stream, as the caller
                // promises; the load needs no alignment.
                let bytes =
                    unsafe { _mm_loadu_si128(stream.as_ptr().add(block * 64 + i * 16).cast()) };
                *w = _mm_shuffle_epi8(bytes, swap);
            }
        }
        // `previous` is what e is made of: a, four steps ago.
        let mut previous = abcd;
        for lane in 0..LANES {
            let with_e = _mm_add_epi32(e[lane], w[lane][0]);
            abcd[lane] = _mm_sha1rnds4_epu32::<0>(abcd[lane], with_e);
        }
        /// Four steps of every lane with function `f`, after word `4 i` of the
        /// schedule has been made where it was not given.
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
            abcd[lane] = _mm_add_epi32(abcd[lane], before.0[lane]);
            e[lane] = _mm_sha1nexte_epu32(previous[lane], before.1[lane]);
        }
    }

    for lane in 0..LANES {
        for (word, value) in words_of(abcd[lane]).into_iter().enumerate() {
            states[word][lane] = value;
        }
        [states[4][lane], ..] = words_of(e[lane]);
    }
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
