//! Texts: four blocks a vector, up to eight vectors in flight.
//!
//! ```text
//! lane               0        1          2        3
//! block              4q + 1   4q + 2     4q + 3   4q + 4
//! offset ⊕ before    L₀       L₀ ⊕ L₁    L₁       L₁ ⊕ L[ntz(4q + 4)]
//! ```
//!
//! where "before" is the offset of block 4q. A partial block takes the place of
//! the next whole one; its offset is that of the block before it and L⁎.

use std::arch::x86_64::*;

use super::super::super::packet::Packet;
use super::super::schedule::{Schedule, load};
use super::FLIGHT;
use crate::cipher::Block;

/// Bytes of a vector.
const VECTOR: usize = 64;

/// Vectors of a chunk of a long text.
const CHUNK: usize = 8;

/// Vectors that a text fills.
#[inline]
pub(super) fn vectors(packet: &Packet<'_>) -> usize {
    packet.text.len().div_ceil(VECTOR)
}

/// The offset of the partial block behind `blocks` whole ones.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn offset_of_partial(schedule: &Schedule<'_>, first: __m128i, blocks: usize) -> __m128i {
    let mut offset = _mm_xor_si128(first, schedule.l_star());
    // The sum over blocks 1 to m of L[ntz] is a Gray code's: see the module.
    let mut gray = blocks ^ blocks >> 1;
    while gray != 0 {
        offset = _mm_xor_si128(offset, schedule.l(gray.trailing_zeros()));
        gray &= gray - 1;
    }
    offset
}

/// The texts of packets in flight.
pub(super) struct Texts<'f> {
    pub(super) packets: &'f [&'f Packet<'f>; FLIGHT],
    pub(super) schedules: &'f [Schedule<'f>; FLIGHT],
    pub(super) first_offsets: &'f [__m128i; FLIGHT],
    /// What partial blocks are added to when they are opened.
    pub(super) pads: &'f [__m128i; FLIGHT],
}

impl Texts<'_> {
    /// What a tag is the encryption of.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn sum(&self, index: usize, checksum: __m512i) -> __m128i {
        let low = _mm512_castsi512_si256(checksum);
        let half = _mm256_xor_si256(low, _mm512_extracti64x4_epi64::<1>(checksum));
        let quarter = _mm256_extracti128_si256::<1>(half);
        let sum = _mm_xor_si128(_mm256_castsi256_si128(half), quarter);
        _mm_xor_si128(sum, self.schedules[index].l_dollar())
    }
}

/// How far a text has come.
#[derive(Clone, Copy)]
struct Progress {
    /// Chunks done.
    chunks: usize,
    /// The offset of the block before, in every lane.
    before: __m512i,
    /// Plaintext blocks summed up, lane by lane; at the end with the last
    /// offset.
    checksum: __m512i,
}

impl Progress {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(first_offset: __m128i) -> Progress {
        Progress {
            chunks: 0,
            before: _mm512_broadcast_i32x4(first_offset),
            checksum: _mm512_setzero_si512(),
        }
    }

    /// The offsets of the next vectors, and before the last of them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn offsets<const VECTORS: usize>(
        &mut self,
        schedule: &Schedule<'_>,
    ) -> ([__m512i; VECTORS], __m512i) {
        // SAFETY: every key has L⁎, L$, L₀ and L₁ in its first cache line.
        let line = unsafe { _mm512_load_si512(schedule.offsets.cast()) };
        let l_0 = _mm512_shuffle_i32x4::<0xaa>(line, line);
        let l_1 = _mm512_shuffle_i32x4::<0xff>(line, line);
        let lanes = _mm512_shuffle_i32x4::<0xfe>(line, line);
        let lanes = _mm512_mask_xor_epi64(lanes, 0b0000_1100, lanes, l_0);
        let mut offsets = [self.before; VECTORS];
        let mut before_last = self.before;
        for (vector, offset) in offsets.iter_mut().enumerate() {
            let l = match vector + 1 {
                CHUNK => schedule.l(5 + (self.chunks + 1).trailing_zeros()),
                number => schedule.l(2 + number.trailing_zeros()),
            };
            let l = _mm512_broadcast_i32x4(l);
            let in_last_lane = _mm512_maskz_mov_epi64(0b1100_0000, l);
            before_last = self.before;
            *offset = xor3(self.before, lanes, in_last_lane);
            self.before = xor3(self.before, l_1, l);
        }
        (offsets, before_last)
    }
}

/// Encrypts or decrypts the texts from `first` on, of `VECTORS` vectors each and
/// at most eight together, writes what their tags are encryptions of, and
/// returns how many they are.
///
/// # Safety
/// The texts are of that length, in bounds and no two the same; their schedules
/// have so many rounds.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
pub(super) unsafe fn short<const TEXTS: usize, const VECTORS: usize, const OPEN: bool>(
    rounds: usize,
    texts: &Texts<'_>,
    first: usize,
    sums: &mut [__m128i; FLIGHT],
) -> usize {
    let mut progress = [Progress::new(texts.first_offsets[first]); TEXTS];
    for (progress, index) in progress.iter_mut().zip(first..) {
        progress.before = _mm512_broadcast_i32x4(texts.first_offsets[index]);
    }
    // SAFETY: the caller's.
    unsafe { vectors_of::<TEXTS, VECTORS, true, OPEN>(rounds, texts, first, &mut progress) };
    for (progress, index) in progress.iter().zip(first..) {
        sums[index] = texts.sum(index, progress.checksum);
    }
    TEXTS
}

/// Encrypts or decrypts the text at `first`, of any length, writes what its tag
/// is the encryption of, and returns 1.
///
/// # Safety
/// The text is in bounds, and its schedule has so many rounds.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
pub(super) unsafe fn long<const OPEN: bool>(
    rounds: usize,
    texts: &Texts<'_>,
    first: usize,
    sums: &mut [__m128i; FLIGHT],
) -> usize {
    let first_offset = texts.first_offsets[first];
    let mut progress = [Progress::new(first_offset)];
    let mut bytes = texts.packets[first].text.len();
    // SAFETY: the caller's; vectors are as many as are left.
    unsafe {
        while bytes > CHUNK * VECTOR {
            vectors_of::<1, CHUNK, false, OPEN>(rounds, texts, first, &mut progress);
            bytes -= CHUNK * VECTOR;
        }
        match bytes.div_ceil(VECTOR) {
            0 => progress[0].checksum = _mm512_zextsi128_si512(first_offset),
            1 => vectors_of::<1, 1, true, OPEN>(rounds, texts, first, &mut progress),
            2 => vectors_of::<1, 2, true, OPEN>(rounds, texts, first, &mut progress),
            3 => vectors_of::<1, 3, true, OPEN>(rounds, texts, first, &mut progress),
            4 => vectors_of::<1, 4, true, OPEN>(rounds, texts, first, &mut progress),
            5 => vectors_of::<1, 5, true, OPEN>(rounds, texts, first, &mut progress),
            6 => vectors_of::<1, 6, true, OPEN>(rounds, texts, first, &mut progress),
            7 => vectors_of::<1, 7, true, OPEN>(rounds, texts, first, &mut progress),
            _ => vectors_of::<1, 8, true, OPEN>(rounds, texts, first, &mut progress),
        }
    }
    sums[first] = texts.sum(first, progress[0].checksum);
    1
}

/// The next vectors of each text from `first` on; if `LAST`, all that are left, of which the
/// last may not be full.
///
/// # Safety
/// As for [`short`]; so many vectors are left.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
unsafe fn vectors_of<
    const TEXTS: usize,
    const VECTORS: usize,
    const LAST: bool,
    const OPEN: bool,
>(
    rounds: usize,
    texts: &Texts<'_>,
    first: usize,
    progress: &mut [Progress; TEXTS],
) {
    let zero = _mm512_setzero_si512();
    let mut states = [[zero; VECTORS]; TEXTS];
    // What is added behind the cipher: the offset, or to a partial block its
    // text.
    let mut behind = [[zero; VECTORS]; TEXTS];
    let mut ends = [End::of(VECTOR); TEXTS];
    // SAFETY: the caller's; masks cover the text.
    unsafe {
        for index in 0..TEXTS {
            let text = texts.packets[first + index].text;
            let schedule = texts.schedules[first + index];
            let done = CHUNK * VECTOR * progress[index].chunks;
            let key = broadcast(schedule.text_keys::<OPEN>(rounds));
            let (offsets, before_last) = progress[index].offsets::<VECTORS>(&schedule);
            let mut checksum = progress[index].checksum;
            for vector in 0..VECTORS {
                let at = text.as_ptr().cast::<u8>().add(done + VECTOR * vector);
                let mut offset = offsets[vector];
                if LAST && vector + 1 == VECTORS {
                    let end = End::of(text.len() - done - VECTOR * vector);
                    ends[index] = end;
                    let input = _mm512_maskz_loadu_epi8(end.bytes, at.cast());
                    // The offset of the block before each.
                    let shifted = _mm512_alignr_epi64::<6>(offset, before_last);
                    let l_star = broadcast(schedule.offsets);
                    offset = _mm512_mask_xor_epi64(offset, end.partial, shifted, l_star);
                    behind[index][vector] = _mm512_mask_mov_epi64(offset, end.partial, input);
                    let whole = _mm512_maskz_mov_epi64(!end.partial, input);
                    states[index][vector] = xor3(whole, offset, key);
                    // The last offset goes into the sum.
                    checksum = _mm512_mask_xor_epi64(checksum, end.last, checksum, offset);
                    if !OPEN {
                        checksum = _mm512_xor_si512(checksum, end.padded(input));
                    }
                } else {
                    let input = _mm512_loadu_si512(at.cast());
                    states[index][vector] = xor3(input, offset, key);
                    behind[index][vector] = offset;
                    if !OPEN {
                        checksum = _mm512_xor_si512(checksum, input);
                    }
                }
            }
            progress[index].checksum = checksum;
        }
        for round in 1..rounds {
            for (states, index) in states.iter_mut().zip(first..) {
                let keys = texts.schedules[index].text_keys::<OPEN>(rounds);
                let key = broadcast(keys.add(round));
                for state in states {
                    *state = match OPEN {
                        true => _mm512_aesdec_epi128(*state, key),
                        false => _mm512_aesenc_epi128(*state, key),
                    };
                }
            }
        }
        for index in 0..TEXTS {
            let text = texts.packets[first + index].text;
            let done = CHUNK * VECTOR * progress[index].chunks;
            let keys = texts.schedules[first + index].text_keys::<OPEN>(rounds);
            let key = broadcast(keys.add(rounds));
            let mut checksum = progress[index].checksum;
            for vector in 0..VECTORS {
                let at = text.as_ptr().cast::<u8>().cast_mut();
                let at = at.add(done + VECTOR * vector);
                let last = _mm512_xor_si512(key, behind[index][vector]);
                let state = states[index][vector];
                let mut output = match OPEN {
                    true => _mm512_aesdeclast_epi128(state, last),
                    false => _mm512_aesenclast_epi128(state, last),
                };
                if LAST && vector + 1 == VECTORS {
                    let end = ends[index];
                    if OPEN {
                        let pad = _mm512_broadcast_i32x4(texts.pads[first + index]);
                        let input = behind[index][vector];
                        output = _mm512_mask_xor_epi64(output, end.partial, input, pad);
                        let plain = end.padded(_mm512_maskz_mov_epi8(end.bytes, output));
                        checksum = _mm512_xor_si512(checksum, plain);
                    }
                    _mm512_mask_storeu_epi8(at.cast(), end.bytes, output);
                } else {
                    if OPEN {
                        checksum = _mm512_xor_si512(checksum, output);
                    }
                    _mm512_storeu_si512(at.cast(), output);
                }
            }
            progress[index].checksum = checksum;
            progress[index].chunks += 1;
        }
    }
}

/// What the last vector of a text holds; words are of 64 bits.
#[derive(Clone, Copy)]
struct End {
    bytes: __mmask64,
    /// The byte behind a partial block.
    behind: __mmask64,
    /// The words of the partial block, and of the last block, whole or partial.
    partial: __mmask8,
    last: __mmask8,
}

impl End {
    /// Of 1 to 64 bytes.
    #[inline]
    fn of(bytes: usize) -> End {
        let is_partial = !bytes.is_multiple_of(16);
        let last = (0b11u32 << (2 * (bytes.wrapping_sub(1) / 16 % 4))) as __mmask8;
        let behind = (u64::from(is_partial)).wrapping_shl(bytes as u32);
        End {
            bytes: u64::MAX >> (VECTOR.wrapping_sub(bytes) % VECTOR),
            behind,
            partial: if is_partial { last } else { 0 },
            last,
        }
    }

    /// The text with a one bit behind its partial block.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn padded(&self, text: __m512i) -> __m512i {
        _mm512_mask_mov_epi8(text, self.behind, _mm512_set1_epi8(0x80u8 as i8))
    }
}

/// A block in every lane.
///
/// # Safety
/// A block is readable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn broadcast(block: *const Block) -> __m512i {
    // SAFETY: the caller's.
    _mm512_broadcast_i32x4(unsafe { load(block) })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}
