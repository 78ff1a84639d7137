//! Short packets, one in all lanes of its vectors, four packets in flight: a
//! packet of up to sixteen slots keeps the AES unit busy for no longer than its
//! results take to come back, so that four packets take turns.
//!
//! Each packet is laid out as in [`super::wide`]. The four fill as many half
//! vectors, so that only the last vector of each is masked; it is only half as
//! wide if two slots are left for it, which costs half as much of the AES unit.
//! The hashes of the four are reduced together, one per lane.

use std::arch::x86_64::*;

use super::super::super::packet::Packet;
use super::field::{Sums, reverse, reverse_one};
use super::nonce;
use super::schedules::join;
use super::wide::{SLOT_0, Schedule, VECTOR, mask_of};
use crate::cipher::Block;

/// Packets in flight.
pub(super) const SHORT: usize = 4;

/// Half vectors that a packet's slots fill: what four packets must agree in.
#[inline]
pub(super) fn halves(packet: &Packet<'_>) -> usize {
    (16 + packet.text.len()).div_ceil(VECTOR / 2)
}

/// Encrypts or decrypts the texts and returns the tags.
///
/// # Safety
/// The schedules are readable as their fields say, up to power 17. The packets
/// fill the same number of half vectors, at most eight, and have at most 16
/// bytes of associated data.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) unsafe fn process<const OPEN: bool>(
    rounds: usize,
    packets: [&Packet<'_>; SHORT],
    schedules: [Schedule<'_>; SHORT],
) -> [Block; SHORT] {
    // SAFETY: the caller's.
    let blocks = unsafe {
        match halves(packets[0]) {
            1 => four_packets::<0, true, OPEN>(rounds, packets, schedules),
            2 => four_packets::<1, false, OPEN>(rounds, packets, schedules),
            3 => four_packets::<1, true, OPEN>(rounds, packets, schedules),
            4 => four_packets::<2, false, OPEN>(rounds, packets, schedules),
            5 => four_packets::<2, true, OPEN>(rounds, packets, schedules),
            6 => four_packets::<3, false, OPEN>(rounds, packets, schedules),
            7 => four_packets::<3, true, OPEN>(rounds, packets, schedules),
            _ => four_packets::<4, false, OPEN>(rounds, packets, schedules),
        }
    };
    let mut tags = [[0; 16]; SHORT];
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

/// Packets whose slots fill `FULL` vectors and, if `HALF`, half a vector more.
///
/// # Safety
/// As for [`process`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
unsafe fn four_packets<const FULL: usize, const HALF: bool, const OPEN: bool>(
    rounds: usize,
    packets: [&Packet<'_>; SHORT],
    schedules: [Schedule<'_>; SHORT],
) -> __m512i {
    let [a, b, c, d] = packets;
    let [a_key, b_key, c_key, d_key] = schedules;
    // SAFETY: the caller's.
    unsafe {
        let mut a_states = States::<FULL, HALF>::new(a, &a_key);
        let mut b_states = States::<FULL, HALF>::new(b, &b_key);
        let mut c_states = States::<FULL, HALF>::new(c, &c_key);
        let mut d_states = States::<FULL, HALF>::new(d, &d_key);
        for round in 1..rounds {
            a_states.round(a_key.round_key(round));
            b_states.round(b_key.round_key(round));
            c_states.round(c_key.round_key(round));
            d_states.round(d_key.round_key(round));
        }
        a_states.last_round(a_key.round_key(rounds));
        b_states.last_round(b_key.round_key(rounds));
        c_states.last_round(c_key.round_key(rounds));
        d_states.last_round(d_key.round_key(rounds));
        let tag_pads = [
            a_states.tag_pad(),
            b_states.tag_pad(),
            c_states.tag_pad(),
            d_states.tag_pad(),
        ];
        let hashes = Sums::add_up([
            a_states.apply_and_hash::<OPEN>(a, &a_key),
            b_states.apply_and_hash::<OPEN>(b, &b_key),
            c_states.apply_and_hash::<OPEN>(c, &c_key),
            d_states.apply_and_hash::<OPEN>(d, &d_key),
        ]);
        _mm512_xor_si512(reverse(hashes.reduce_lanes()), join(tag_pads))
    }
}

/// The cipher's states of one packet.
struct States<const FULL: usize, const HALF: bool> {
    full: [__m512i; FULL],
    half: __m256i,
}

impl<const FULL: usize, const HALF: bool> States<FULL, HALF> {
    /// Counter blocks with round key 0 added.
    ///
    /// # Safety
    /// As for [`process`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn new(packet: &Packet<'_>, schedule: &Schedule<'_>) -> States<FULL, HALF> {
        let nonce = nonce(packet);
        // SAFETY: the caller's; the table holds sixteen counters.
        unsafe {
            let key = _mm_loadu_si128(schedule.round_keys.cast());
            let start = _mm512_broadcast_i32x4(_mm_xor_si128(nonce, key));
            let counters: *const u8 = (&raw const COUNTERS).cast();
            let mut full = [start; FULL];
            for (vector, state) in full.iter_mut().enumerate() {
                let counters = _mm512_load_si512(counters.add(VECTOR * vector).cast());
                *state = _mm512_xor_si512(start, counters);
            }
            let mut half = _mm512_castsi512_si256(start);
            if HALF {
                let counters = _mm256_load_si256(counters.add(VECTOR * FULL).cast());
                half = _mm256_xor_si256(half, counters);
            }
            States { full, half }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    fn round(&mut self, key: __m512i) {
        for state in &mut self.full {
            *state = _mm512_aesenc_epi128(*state, key);
        }
        if HALF {
            self.half = _mm256_aesenc_epi128(self.half, _mm512_castsi512_si256(key));
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,vaes")]
    fn last_round(&mut self, key: __m512i) {
        for state in &mut self.full {
            *state = _mm512_aesenclast_epi128(*state, key);
        }
        if HALF {
            self.half = _mm256_aesenclast_epi128(self.half, _mm512_castsi512_si256(key));
        }
    }

    /// The first block of key stream.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn tag_pad(&self) -> __m128i {
        match FULL {
            0 => _mm256_castsi256_si128(self.half),
            _ => _mm512_castsi512_si128(self.full[0]),
        }
    }

    /// Adds the key stream to the text and returns the packet's products.
    ///
    /// # Safety
    /// As for [`process`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn apply_and_hash<const OPEN: bool>(
        &self,
        packet: &Packet<'_>,
        schedule: &Schedule<'_>,
    ) -> Sums {
        let vectors = FULL + HALF as usize;
        let (text_bytes, head) = (packet.text.len(), packet.associated);
        let slots = text_bytes.div_ceil(16) + 1;
        let slot_0 = packet
            .text
            .as_ptr()
            .cast::<u8>()
            .cast_mut()
            .wrapping_sub(16);
        let head_mask = ((1u32 << head.len()) - 1) as __mmask16;
        let lengths = _mm_set_epi64x(8 * head.len() as i64, 8 * text_bytes as i64);
        let mut sums = Sums::zero();
        for vector in 0..vectors {
            let state = match vector < FULL {
                true => self.full[vector],
                false => _mm512_zextsi256_si512(self.half),
            };
            let is_last = vector + 1 == vectors;
            let text = slot_0.wrapping_add(VECTOR * vector);
            let mut mask = u64::MAX;
            if is_last {
                mask = mask_of(16 + text_bytes - VECTOR * vector);
            }
            if vector == 0 {
                mask &= !SLOT_0;
            }
            // SAFETY: masks cover the associated data and the text; there are
            // as many powers as slots, and one more.
            unsafe {
                let input = _mm512_maskz_loadu_epi8(mask, text.cast());
                let mut output = _mm512_xor_si512(input, state);
                if is_last || vector == 0 {
                    output = _mm512_maskz_mov_epi8(mask, output);
                }
                _mm512_mask_storeu_epi8(text.cast(), mask, output);
                let mut x = reverse(if OPEN { input } else { output });
                if vector == 0 {
                    let head = _mm_maskz_loadu_epi8(head_mask, head.as_ptr().cast());
                    x = _mm512_xor_si512(x, _mm512_zextsi128_si512(reverse_one(head)));
                }
                if is_last {
                    // The slot behind the text, if there is one in this vector.
                    let lanes = (0xf_u32 << (4 * (slots - 4 * vector))) as __mmask16;
                    x = _mm512_mask_broadcast_i32x4(x, lanes, lengths);
                }
                let powers = schedule.powers_at(slots + 1 - 4 * vector);
                if vector < FULL {
                    sums.add(x, _mm512_loadu_si512(powers.cast()));
                } else {
                    let powers = _mm256_loadu_si256(powers.cast());
                    sums.add_half(_mm512_castsi512_si256(x), powers);
                }
            }
        }
        if slots == 4 * FULL + 2 * usize::from(HALF) {
            // SAFETY: there is one power at least.
            let h = unsafe { _mm_loadu_si128(schedule.hash_key.cast()) };
            sums.add_one(lengths, h);
        }
        sums
    }
}
