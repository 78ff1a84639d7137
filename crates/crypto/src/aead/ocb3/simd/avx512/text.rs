//! Texts: four blocks a vector, up to eight vectors in an unroll group.
//!
//! ```text
//! lane               0        1          2        3
//! block              4q + 1   4q + 2     4q + 3   4q + 4
//! offset ⊕ before    L₀       L₀ ⊕ L₁    L₁       L₁ ⊕ L[ntz(4q + 4)]
//! ```
//!
//! where "before" is the offset of block 4q. A partial block takes the place of
//! the next whole one; its offset is that of the block before it and L⁎.
//!
//! When a text is encrypted, its tag's block is known before the last vectors
//! are, and goes through the rounds with them.

use std::arch::x86_64::*;

use super::super::super::packet::Packet;
use super::super::schedule::{Schedule, load};
use super::begin::Beginning;
use crate::cipher::Block;

/// Bytes of a vector.
pub(super) const VECTOR: usize = 64;

/// Vectors of a chunk of a long text.
const CHUNK: usize = 8;

/// A text, and how far it has come.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    /// What is left of it.
    at: *mut u8,
    bytes: usize,
    schedule: Schedule<'a>,
    /// Chunks done.
    chunks: usize,
    /// The offset of the block before, in every lane.
    before: __m512i,
    /// Plaintext blocks summed up, lane by lane; at the end with the last
    /// offset.
    checksum: __m512i,
    /// What a partial block is added to when it is opened.
    pad: __m128i,
    /// Whether it is there only to fill a group, and is not written.
    is_repeated: bool,
}

impl<'a> Text<'a> {
    /// A packet's text, of which nothing is done; Offset₀ in every lane, and what
    /// a partial block is added to when it is opened.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(
        packet: &Packet<'a>,
        schedule: Schedule<'a>,
        first_offset: __m512i,
        pad: __m128i,
        is_repeated: bool,
    ) -> Text<'a> {
        Text {
            at: packet.text.as_ptr().cast::<u8>().cast_mut(),
            bytes: packet.text.len(),
            schedule,
            chunks: 0,
            before: first_offset,
            checksum: _mm512_setzero_si512(),
            pad,
            is_repeated,
        }
    }

    /// The tag of no text.
    ///
    /// # Safety
    /// As for [`vectors`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
    unsafe fn empty<const OPEN: bool>(&mut self, tag: &mut __m128i) {
        let first_offset = _mm512_castsi512_si128(self.before);
        *tag = _mm_xor_si128(first_offset, self.schedule.l_dollar());
        if !OPEN {
            let rounds = self.schedule.rounds;
            // SAFETY: the schedule has its round keys.
            let key = |round| unsafe { load(self.schedule.round_keys().add(round)) };
            *tag = _mm_xor_si128(*tag, key(0));
            for round in 1..rounds {
                *tag = _mm_aesenc_si128(*tag, key(round));
            }
            *tag = _mm_aesenclast_si128(*tag, key(rounds));
        }
    }

    /// The offsets of the next vectors, and before the last of them.
    ///
    /// # Safety
    /// The caller has the features of [`super::run`].
    #[inline(always)]
    unsafe fn offsets<const VECTORS: usize>(&mut self) -> ([__m512i; VECTORS], __m512i) {
        let schedule = self.schedule;
        // SAFETY: the caller's; every key has L⁎, L$, L₀ and L₁ in its first cache
        // line.
        unsafe {
            let line = _mm512_load_si512(schedule.blocks.cast());
            let l_0 = _mm512_shuffle_i32x4::<0xaa>(line, line);
            let l_1 = _mm512_shuffle_i32x4::<0xff>(line, line);
            let lanes = _mm512_shuffle_i32x4::<0xfe>(line, line);
            let lanes = _mm512_mask_xor_epi64(lanes, 0b0000_1100, lanes, l_0);
            let mut offsets = [self.before; VECTORS];
            let mut before_last = self.before;
            for (vector, offset) in offsets.iter_mut().enumerate() {
                let l = match vector + 1 {
                    CHUNK => schedule.l(5 + (self.chunks + 1).trailing_zeros()),
                    number => schedule.l_in_memory(2 + number.trailing_zeros()),
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

    /// What the tag is the encryption of.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn sum(&self) -> __m128i {
        let low = _mm512_castsi512_si256(self.checksum);
        let half = _mm256_xor_si256(low, _mm512_extracti64x4_epi64::<1>(self.checksum));
        let quarter = _mm256_extracti128_si256::<1>(half);
        let sum = _mm_xor_si128(_mm256_castsi256_si128(half), quarter);
        _mm_xor_si128(sum, self.schedule.l_dollar())
    }
}

/// Encrypts or decrypts a packet's text, whatever its length, and returns what
/// [`vectors`] leaves of the tag; Offset₀ in every lane, and what a partial block
/// is added to when it is opened. A call for each text: it has vectors enough,
/// and the call keeps where it lies in registers.
///
/// # Safety
/// The schedule is the packet's, and can open if `OPEN` says so.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
pub(super) unsafe fn process<const OPEN: bool>(
    packet: &Packet<'_>,
    schedule: Schedule<'_>,
    first_offset: &__m512i,
    pad: __m128i,
) -> __m128i {
    let texts = &mut [Text::new(packet, schedule, *first_offset, pad, false)];
    let mut tag = [_mm_setzero_si128()];
    // SAFETY: the caller's; `vectors` is what is left of the text.
    unsafe {
        while texts[0].bytes > CHUNK * VECTOR {
            vectors::<1, CHUNK, MIDDLE, OPEN>(texts, &mut tag, None);
        }
        match texts[0].bytes.div_ceil(VECTOR) {
            0 => texts[0].empty::<OPEN>(&mut tag[0]),
            1 => vectors::<1, 1, RAGGED, OPEN>(texts, &mut tag, None),
            2 => vectors::<1, 2, RAGGED, OPEN>(texts, &mut tag, None),
            3 => vectors::<1, 3, RAGGED, OPEN>(texts, &mut tag, None),
            4 => vectors::<1, 4, RAGGED, OPEN>(texts, &mut tag, None),
            5 => vectors::<1, 5, RAGGED, OPEN>(texts, &mut tag, None),
            6 => vectors::<1, 6, RAGGED, OPEN>(texts, &mut tag, None),
            7 => vectors::<1, 7, RAGGED, OPEN>(texts, &mut tag, None),
            _ => vectors::<1, 8, RAGGED, OPEN>(texts, &mut tag, None),
        }
    }
    tag[0]
}

/// Vectors with more behind them.
const MIDDLE: u8 = 0;
/// The last vectors of a text, full ones.
pub(super) const WHOLE: u8 = 1;
/// The last vectors of a text, of which the last may not be full.
pub(super) const RAGGED: u8 = 2;

/// Encrypts or decrypts the next `VECTORS` vectors of texts, at most eight
/// together; `END` says what lies behind them. With the last ones, `tags` become the tags
/// but for the hash of the associated data, or when texts are decrypted what these are
/// encryptions of. Rounds are interleaved with those of the group that is `beginning`.
///
/// # Safety
/// The caller has the features of [`super::run`]; so much is left of the texts;
/// schedules are of the same size, and can open if `OPEN` says so.
#[inline(always)]
pub(super) unsafe fn vectors<
    const TEXTS: usize,
    const VECTORS: usize,
    const END: u8,
    const OPEN: bool,
>(
    texts: &mut [Text<'_>; TEXTS],
    tags: &mut [__m128i; TEXTS],
    mut beginning: Option<&mut Beginning<'_>>,
) {
    // SAFETY: the caller's; masks cover the text.
    unsafe {
        let zero = _mm512_setzero_si512();
        let rounds = texts[0].schedule.rounds;
        let mut states = [[zero; VECTORS]; TEXTS];
        // What is added behind the cipher: the offset, or to a partial block its
        // text.
        let mut behind = [[zero; VECTORS]; TEXTS];
        let mut ends = [End::of(VECTOR); TEXTS];
        if END == RAGGED {
            for (end, text) in ends.iter_mut().zip(&*texts) {
                *end = End::of(text.bytes - VECTOR * (VECTORS - 1));
            }
        }
        for (index, text) in texts.iter_mut().enumerate() {
            let end = ends[index];
            let key = broadcast(text.schedule.text_keys::<OPEN>());
            let (offsets, before_last) = text.offsets::<VECTORS>();
            for vector in 0..VECTORS {
                let at = text.at.add(VECTOR * vector);
                let mut offset = offsets[vector];
                if END == RAGGED && vector + 1 == VECTORS {
                    let input = _mm512_maskz_loadu_epi8(end.bytes, at.cast());
                    // The offset of the block before each.
                    let shifted = _mm512_alignr_epi64::<6>(offset, before_last);
                    let l_star = broadcast(text.schedule.blocks);
                    offset = _mm512_mask_xor_epi64(offset, end.partial, shifted, l_star);
                    behind[index][vector] = _mm512_mask_mov_epi64(offset, end.partial, input);
                    let whole = _mm512_maskz_mov_epi64(!end.partial, input);
                    states[index][vector] = xor3(whole, offset, key);
                    if !OPEN {
                        text.checksum = _mm512_xor_si512(text.checksum, end.padded(input));
                    }
                } else {
                    let input = _mm512_loadu_si512(at.cast());
                    states[index][vector] = xor3(input, offset, key);
                    behind[index][vector] = offset;
                    if !OPEN {
                        text.checksum = _mm512_xor_si512(text.checksum, input);
                    }
                }
                if END != MIDDLE && vector + 1 == VECTORS {
                    // The last offset goes into the sum.
                    let sum = text.checksum;
                    text.checksum = _mm512_mask_xor_epi64(sum, end.last, sum, offset);
                }
            }
            if END != MIDDLE && !OPEN {
                tags[index] = _mm_xor_si128(text.sum(), _mm512_castsi512_si128(key));
            }
        }
        for round in 1..rounds {
            for (index, text) in texts.iter().enumerate() {
                let key = broadcast(text.schedule.text_keys::<OPEN>().add(round));
                for state in &mut states[index] {
                    *state = match OPEN {
                        true => _mm512_aesdec_epi128(*state, key),
                        false => _mm512_aesenc_epi128(*state, key),
                    };
                }
                if END != MIDDLE && !OPEN {
                    tags[index] = _mm_aesenc_si128(tags[index], _mm512_castsi512_si128(key));
                }
            }
            if let Some(beginning) = &mut beginning {
                beginning.round(round);
            }
        }
        for (index, text) in texts.iter_mut().enumerate() {
            let end = ends[index];
            let key = broadcast(text.schedule.text_keys::<OPEN>().add(rounds));
            for vector in 0..VECTORS {
                let at = text.at.add(VECTOR * vector);
                let last = _mm512_xor_si512(key, behind[index][vector]);
                let state = states[index][vector];
                let mut output = match OPEN {
                    true => _mm512_aesdeclast_epi128(state, last),
                    false => _mm512_aesenclast_epi128(state, last),
                };
                if END == RAGGED && vector + 1 == VECTORS {
                    if OPEN {
                        let pad = _mm512_broadcast_i32x4(text.pad);
                        let input = behind[index][vector];
                        output = _mm512_mask_xor_epi64(output, end.partial, input, pad);
                        let plain = end.padded(_mm512_maskz_mov_epi8(end.bytes, output));
                        text.checksum = _mm512_xor_si512(text.checksum, plain);
                    }
                    if !text.is_repeated {
                        _mm512_mask_storeu_epi8(at.cast(), end.bytes, output);
                    }
                } else {
                    if OPEN {
                        text.checksum = _mm512_xor_si512(text.checksum, output);
                    }
                    if !text.is_repeated {
                        _mm512_storeu_si512(at.cast(), output);
                    }
                }
            }
            match (END, OPEN) {
                (MIDDLE, _) => {
                    text.at = text.at.add(VECTOR * VECTORS);
                    text.bytes -= VECTOR * VECTORS;
                    text.chunks += 1;
                }
                (_, true) => tags[index] = text.sum(),
                (_, false) => {
                    let key = _mm512_castsi512_si128(key);
                    tags[index] = _mm_aesenclast_si128(tags[index], key);
                }
            }
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
