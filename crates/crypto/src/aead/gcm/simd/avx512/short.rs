//! Short packets, one in all lanes of its vectors, four packets in flight: a
//! packet of up to sixteen slots keeps the AES unit busy for no longer than its
//! results take to come back, so that four packets take turns.
//!
//! Each packet is laid out as in [`super::wide`]. The vectors are as many as
//! the longest of the four needs, the last of them only half as wide if two
//! slots suffice: a half vector costs half as much of the AES unit. The hashes
//! of the four packets are reduced together, one per lane.

use std::arch::x86_64::*;

use super::field::{Sums, reverse, reverse_one};
use super::schedules::join;
use super::wide::{SLOT_0, Stream, VECTOR, mask_of};
use crate::cipher::Block;

/// Packets in flight.
pub(super) const SHORT: usize = 4;

/// Encrypts or decrypts the texts and returns the tags.
///
/// # Safety
/// As for [`Stream::process`], of every packet; each takes at most sixteen
/// slots and has at most 16 bytes of associated data.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) unsafe fn process(open: bool, streams: &[Option<Stream<'_>>; SHORT]) -> [Block; SHORT] {
    let mut tags = [[0; 16]; SHORT];
    let Some(any) = streams.iter().flatten().next() else {
        return tags;
    };
    // A missing packet is one without text under another's key.
    let empty = Stream::empty(any);
    let mut four = [&empty; SHORT];
    let mut most_bytes = 0;
    for (place, stream) in four.iter_mut().zip(streams) {
        if let Some(stream) = stream {
            *place = stream;
            most_bytes = most_bytes.max(stream.bytes);
        }
    }
    // SAFETY: the caller's.
    let blocks = unsafe {
        match most_bytes.div_ceil(VECTOR / 2) {
            0 | 1 => four_packets::<0, true>(open, four),
            2 => four_packets::<1, false>(open, four),
            3 => four_packets::<1, true>(open, four),
            4 => four_packets::<2, false>(open, four),
            5 => four_packets::<2, true>(open, four),
            6 => four_packets::<3, false>(open, four),
            7 => four_packets::<3, true>(open, four),
            _ => four_packets::<4, false>(open, four),
        }
    };
    // SAFETY: four blocks are writable; the store needs no alignment.
    unsafe { _mm512_storeu_si512(tags.as_mut_ptr().cast(), blocks) };
    tags
}

/// Counters 1, 2, 3, …, one per lane, as the last word of a block.
#[repr(C, align(64))]
struct Counters([[u32; 4]; 16]);

static COUNTERS: Counters = {
    let mut blocks = [[0; 4]; 16];
    let mut slot = 0;
    while slot < 16 {
        blocks[slot][3] = (slot as u32 + 1).swap_bytes();
        slot += 1;
    }
    Counters(blocks)
};

/// Packets whose slots fit `FULL` vectors and, if `HALF`, half a vector more.
///
/// # Safety
/// As for [`process`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
unsafe fn four_packets<const FULL: usize, const HALF: bool>(
    open: bool,
    streams: [&Stream<'_>; SHORT],
) -> __m512i {
    // SAFETY: all accesses are to the schedules and, under masks, to the texts.
    unsafe {
        let mut states = [[_mm512_setzero_si512(); FULL]; SHORT];
        let mut halves = [_mm256_setzero_si256(); SHORT];
        let counters: *const u8 = (&raw const COUNTERS).cast();
        for ((states, half), stream) in states.iter_mut().zip(&mut halves).zip(streams) {
            let nonce = _mm512_broadcast_i32x4(stream.nonce);
            let start = _mm512_xor_si512(nonce, stream.schedule.round_key(0));
            for (vector, state) in states.iter_mut().enumerate() {
                let counters = _mm512_load_si512(counters.add(VECTOR * vector).cast());
                *state = _mm512_xor_si512(start, counters);
            }
            if HALF {
                let counters = _mm256_load_si256(counters.add(VECTOR * FULL).cast());
                *half = _mm256_xor_si256(_mm512_castsi512_si256(start), counters);
            }
        }
        let rounds = streams[0].schedule.rounds;
        for round in 1..rounds {
            for ((states, half), stream) in states.iter_mut().zip(&mut halves).zip(streams) {
                let key = stream.schedule.round_key(round);
                for state in states {
                    *state = _mm512_aesenc_epi128(*state, key);
                }
                if HALF {
                    *half = _mm256_aesenc_epi128(*half, _mm512_castsi512_si256(key));
                }
            }
        }
        for ((states, half), stream) in states.iter_mut().zip(&mut halves).zip(streams) {
            let key = stream.schedule.round_key(rounds);
            for state in states {
                *state = _mm512_aesenclast_epi128(*state, key);
            }
            if HALF {
                *half = _mm256_aesenclast_epi128(*half, _mm512_castsi512_si256(key));
            }
        }

        let mut tag_pads = [_mm_setzero_si128(); SHORT];
        let mut sums = [Sums::zero(); SHORT];
        for at in 0..SHORT {
            let stream = streams[at];
            let slots = stream.bytes.div_ceil(16);
            tag_pads[at] = match FULL {
                0 => _mm256_castsi256_si128(halves[at]),
                _ => _mm512_castsi512_si128(states[at][0]),
            };
            for vector in 0..FULL + HALF as usize {
                let state = match vector < FULL {
                    true => states[at][vector],
                    false => _mm512_zextsi256_si512(halves[at]),
                };
                let text = stream.slots.wrapping_add(VECTOR * vector);
                let mut mask = mask_of(stream.bytes.saturating_sub(VECTOR * vector));
                if vector == 0 {
                    mask &= !SLOT_0;
                }
                let input = _mm512_maskz_loadu_epi8(mask, text.cast());
                let output = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(input, state));
                _mm512_mask_storeu_epi8(text.cast(), mask, output);
                let mut x = reverse(if open { input } else { output });
                if vector == 0 {
                    let last = stream.associated.len().min(16);
                    let mask = ((1u32 << last) - 1) as __mmask16;
                    let head = _mm_maskz_loadu_epi8(mask, stream.associated.as_ptr().cast());
                    x = _mm512_xor_si512(x, _mm512_zextsi128_si512(reverse_one(head)));
                }
                // The slot of the lengths, if it is in this vector.
                let lanes = 0xf_u64.wrapping_shl(4 * slots as u32) >> (16 * vector);
                let lanes = if slots < 16 { lanes as __mmask16 } else { 0 };
                x = _mm512_mask_broadcast_i32x4(x, lanes, stream.lengths);
                let highest = (slots + 1).saturating_sub(4 * vector).max(1);
                sums[at].add(x, stream.schedule.powers(highest));
            }
            if slots == 4 * (FULL + HALF as usize) {
                let lengths = _mm512_zextsi128_si512(stream.lengths);
                sums[at].add(lengths, stream.schedule.powers(1));
            }
        }
        let hashes = Sums::add_up(sums).reduce_lanes();
        _mm512_xor_si512(reverse(hashes), join(tag_pads))
    }
}
