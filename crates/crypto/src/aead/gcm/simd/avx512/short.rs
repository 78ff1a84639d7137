//! Short packets, one in all lanes of its vectors, four packets in flight: a
//! packet of a few blocks keeps the AES unit busy for no longer than its results
//! take to come back, so that four packets take turns.
//!
//! The four have as many blocks of text, and so have those that follow them in
//! a run. Other than in [`super::wide`], the text comes first and the tag's
//! counter block behind it, so that only a packet's last vector is masked; it is
//! half as wide where two slots are left for it. Associated data and lengths are
//! hashed side by side:
//!
//! ```text
//! five blocks        vector 0                    half       beside
//! cipher             2     3     4     5         6    J0
//! hash               t₀    t₁    t₂    t₃        t₄   -     assoc.  lengths
//! times              H⁶    H⁵    H⁴    H³        H²   -     H⁷      H
//! ```
//!
//! The cipher of four packets and the hash of the four before them take turns.
//! The hashes of four are reduced together, one per lane.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::super::batch::Task;
use super::super::super::packet::Packet;
use super::field::{Sums, reverse, reverse_one};
use super::wide::{Schedule, VECTOR, mask_of};
use super::{LOOK_AHEAD, bytes, full_schedule, nonce};
use crate::cipher::Block;

/// Packets in flight.
pub(super) const SHORT: usize = 4;

/// The most blocks of text: with the tag's, three vectors.
const MOST_BLOCKS: usize = 11;

/// Processes packets from position `first` on, four at a time, while the
/// next four have keys and `BLOCKS` blocks of text, and returns the number processed.
/// They have at most 16 bytes of associated data.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn run<const OPEN: bool>(
    task: &mut Task<'_, '_>,
    rounds: usize,
    blocks: usize,
    packets: std::ops::Range<usize>,
) -> usize {
    let fours = packets.len() / SHORT;
    if fours == 0 || blocks > MOST_BLOCKS {
        return 0;
    }
    let run = Run {
        rounds,
        blocks,
        first: packets.start,
        fours,
    };
    let processed = match (blocks + 2) / 4 {
        0 => run.process::<0, true, OPEN>(task),
        1 if blocks < 4 => run.process::<1, false, OPEN>(task),
        1 => run.process::<1, true, OPEN>(task),
        2 if blocks < 8 => run.process::<2, false, OPEN>(task),
        2 => run.process::<2, true, OPEN>(task),
        _ => run.process::<3, false, OPEN>(task),
    };
    SHORT * processed
}

/// Packets of as many blocks.
struct Run {
    rounds: usize,
    blocks: usize,
    /// Position of the first packet.
    first: usize,
    fours: usize,
}

/// A packet's vectors: `FULL` whole ones, and half a one if `HALF`.
#[derive(Clone, Copy)]
struct Vectors<const FULL: usize, const HALF: bool> {
    full: [__m512i; FULL],
    half: __m256i,
}

/// What is to be hashed of a packet.
#[derive(Clone, Copy)]
struct Hashed<'a, const FULL: usize, const HALF: bool> {
    text: Vectors<FULL, HALF>,
    /// Associated data, and lengths.
    beside: __m256i,
    hash_key: *const u8,
    borrowed: PhantomData<&'a [Block]>,
}

impl<const FULL: usize, const HALF: bool> Vectors<FULL, HALF> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Vectors<FULL, HALF> {
        Vectors {
            full: [_mm512_setzero_si512(); FULL],
            half: _mm256_setzero_si256(),
        }
    }

    /// The counter blocks of a packet of `blocks` blocks without a nonce; the tag's
    /// follows those of the text.
    #[target_feature(enable = "avx512f")]
    fn counters(blocks: usize) -> Vectors<FULL, HALF> {
        let mut counters = [[0u32; 4]; 16];
        for (slot, counter) in counters.iter_mut().enumerate() {
            let number = if slot == blocks { 1 } else { slot + 2 };
            counter[3] = (number as u32).swap_bytes();
        }
        let at: *const u8 = counters.as_ptr().cast();
        let mut vectors = Vectors::zero();
        // SAFETY: sixteen blocks are readable, twelve are read.
        unsafe {
            for (vector, counters) in vectors.full.iter_mut().enumerate() {
                *counters = _mm512_loadu_si512(at.add(VECTOR * vector).cast());
            }
            if HALF {
                vectors.half = _mm256_loadu_si256(at.add(VECTOR * FULL).cast());
            }
        }
        vectors
    }

    /// These counters as the first states of a packet's cipher.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn begun(&self, packet: &Packet<'_>, schedule: &Schedule<'_>) -> Vectors<FULL, HALF> {
        // SAFETY: there is a round key 0.
        let key = unsafe { _mm_loadu_si128(schedule.round_keys.cast()) };
        let start = _mm512_broadcast_i32x4(_mm_xor_si128(nonce(packet), key));
        let mut states = *self;
        for state in &mut states.full {
            *state = _mm512_xor_si512(*state, start);
        }
        if HALF {
            states.half = _mm256_xor_si256(states.half, _mm512_castsi512_si256(start));
        }
        states
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

    /// The vector that the tag's block is in.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn last(&self) -> __m512i {
        match HALF {
            true => _mm512_zextsi256_si512(self.half),
            false => self.full[FULL - 1],
        }
    }
}

impl Run {
    /// Returns how many fours it processed: all but those from one without a key on.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    fn process<const FULL: usize, const HALF: bool, const OPEN: bool>(
        &self,
        task: &mut Task<'_, '_>,
    ) -> usize {
        let counters = Vectors::<FULL, HALF>::counters(self.blocks);
        // Of two packets' vectors the tags' blocks, side by side.
        let tag = 2 * (self.blocks % 4) as i64;
        let tags_of_two = _mm512_set_epi64(0, 0, 0, 0, tag + 9, tag + 8, tag + 1, tag);
        let mut pending: Option<[Hashed<'_, FULL, HALF>; SHORT]> = None;
        let mut tag_pads = _mm512_setzero_si512();
        let mut processed = 0;
        for four in 0..self.fours {
            let position = self.first + SHORT * four;
            for ahead in position..position + SHORT {
                prefetch_end(task, ahead + LOOK_AHEAD);
            }
            let Some((packets, schedules)) = four_from(task, position) else {
                break;
            };
            processed += 1;
            let mut states = [counters; SHORT];
            for at in 0..SHORT {
                states[at] = counters.begun(&packets[at], &schedules[at]);
            }
            // SAFETY: there are so many round keys; packets and their powers are
            // as the caller says; these are this function's features.
            unsafe {
                if let Some(before) = &pending {
                    let sums = [
                        self.rounds_and_hash::<FULL, HALF>(1, &mut states, &schedules, &before[0]),
                        self.rounds_and_hash::<FULL, HALF>(3, &mut states, &schedules, &before[1]),
                        self.rounds_and_hash::<FULL, HALF>(5, &mut states, &schedules, &before[2]),
                        self.rounds_and_hash::<FULL, HALF>(7, &mut states, &schedules, &before[3]),
                    ];
                    finish(task, position - SHORT, sums, tag_pads);
                } else {
                    rounds(1..9, &mut states, &schedules);
                }
                rounds(9..self.rounds, &mut states, &schedules);
                for (states, schedule) in states.iter_mut().zip(&schedules) {
                    states.last_round(schedule.round_key(self.rounds));
                }
                let [a, b, c, d] = &states;
                let ab = _mm512_permutex2var_epi64(a.last(), tags_of_two, b.last());
                let cd = _mm512_permutex2var_epi64(c.last(), tags_of_two, d.last());
                tag_pads = _mm512_inserti64x4::<1>(ab, _mm512_castsi512_si256(cd));
                let mut hashed = [Hashed::nothing(&schedules[0]); SHORT];
                for at in 0..SHORT {
                    hashed[at] =
                        self.apply::<FULL, HALF, OPEN>(&packets[at], &schedules[at], &states[at]);
                }
                pending = Some(hashed);
            }
        }
        if let Some(hashed) = pending {
            // SAFETY: as above.
            let sums = unsafe {
                [
                    self.hash(&hashed[0]),
                    self.hash(&hashed[1]),
                    self.hash(&hashed[2]),
                    self.hash(&hashed[3]),
                ]
            };
            finish(task, self.first + SHORT * (processed - 1), sums, tag_pads);
        }
        processed
    }

    /// Two rounds of all packets, from `first` on, and the hash of one packet of
    /// those before.
    ///
    /// # Safety
    /// The caller has the features of [`run`], the schedules so many round keys,
    /// and `hashed` its powers.
    #[inline(always)]
    unsafe fn rounds_and_hash<const FULL: usize, const HALF: bool>(
        &self,
        first: usize,
        states: &mut [Vectors<FULL, HALF>; SHORT],
        schedules: &[Schedule<'_>; SHORT],
        hashed: &Hashed<'_, FULL, HALF>,
    ) -> Sums {
        // SAFETY: the caller's.
        unsafe {
            rounds(first..first + 2, states, schedules);
            self.hash(hashed)
        }
    }

    /// Adds the key stream to the text of a packet and returns what is to be
    /// hashed.
    ///
    /// # Safety
    /// The caller has the features of [`run`], and the packet as many blocks as
    /// the run.
    #[inline(always)]
    unsafe fn apply<'a, const FULL: usize, const HALF: bool, const OPEN: bool>(
        &self,
        packet: &Packet<'_>,
        schedule: &Schedule<'a>,
        key_stream: &Vectors<FULL, HALF>,
    ) -> Hashed<'a, FULL, HALF> {
        let (text_bytes, associated) = (packet.text.len(), packet.associated);
        let text = packet.text.as_ptr().cast::<u8>().cast_mut();
        // SAFETY: the caller's; masks cover the text and the associated data, and
        // vectors before the last whole one are all text.
        unsafe {
            let mut hashed = Hashed::nothing(schedule);
            for (vector, key_stream) in key_stream.full.iter().enumerate() {
                let at = text.wrapping_add(VECTOR * vector);
                let (input, output);
                if vector + 1 < FULL {
                    input = _mm512_loadu_si512(at.cast());
                    output = _mm512_xor_si512(input, *key_stream);
                    _mm512_storeu_si512(at.cast(), output);
                } else {
                    let mask = mask_of(text_bytes - VECTOR * vector);
                    input = _mm512_maskz_loadu_epi8(mask, at.cast());
                    output = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(input, *key_stream));
                    _mm512_mask_storeu_epi8(at.cast(), mask, output);
                }
                hashed.text.full[vector] = reverse(if OPEN { input } else { output });
            }
            if HALF && self.blocks > 4 * FULL {
                let at = text.wrapping_add(VECTOR * FULL);
                let mask = mask_of(text_bytes - VECTOR * FULL) as __mmask32;
                let input = _mm256_maskz_loadu_epi8(mask, at.cast());
                let output = _mm256_xor_si256(input, key_stream.half);
                let output = _mm256_maskz_mov_epi8(mask, output);
                _mm256_mask_storeu_epi8(at.cast(), mask, output);
                let element = _mm512_castsi256_si512(if OPEN { input } else { output });
                hashed.text.half = _mm512_castsi512_si256(reverse(element));
            }
            let mask = ((1u32 << associated.len().min(16)) - 1) as __mmask16;
            let head = _mm_maskz_loadu_epi8(mask, associated.as_ptr().cast());
            let lengths = _mm_set_epi64x(8 * associated.len() as i64, 8 * text_bytes as i64);
            let head = _mm256_castsi128_si256(reverse_one(head));
            hashed.beside = _mm256_inserti128_si256::<1>(head, lengths);
            hashed
        }
    }

    /// The products of a packet.
    ///
    /// # Safety
    /// The caller has the features of [`run`], and the packet's powers reach to
    /// two more than it has blocks.
    #[inline(always)]
    unsafe fn hash<const FULL: usize, const HALF: bool>(
        &self,
        hashed: &Hashed<'_, FULL, HALF>,
    ) -> Sums {
        // SAFETY: the caller's; what lies behind H is multiplied by zeros.
        unsafe {
            let highest = hashed.hash_key.wrapping_sub(16 * (self.blocks + 1));
            let powers = _mm256_inserti128_si256::<1>(
                _mm256_castsi128_si256(_mm_loadu_si128(highest.cast())),
                _mm_loadu_si128(hashed.hash_key.cast()),
            );
            let mut sums = Sums::of_half(hashed.beside, powers);
            let first = highest.wrapping_add(16);
            for (vector, element) in hashed.text.full.iter().enumerate() {
                let powers = first.wrapping_add(VECTOR * vector);
                sums.add(*element, _mm512_loadu_si512(powers.cast()));
            }
            if HALF && self.blocks > 4 * FULL {
                let powers = first.wrapping_add(VECTOR * FULL);
                sums.add_half(hashed.text.half, _mm256_loadu_si256(powers.cast()));
            }
            sums
        }
    }
}

impl<'a, const FULL: usize, const HALF: bool> Hashed<'a, FULL, HALF> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn nothing(schedule: &Schedule<'a>) -> Hashed<'a, FULL, HALF> {
        Hashed {
            text: Vectors::zero(),
            beside: _mm256_setzero_si256(),
            hash_key: schedule.hash_key,
            borrowed: PhantomData,
        }
    }
}

/// Rounds of all packets' ciphers.
///
/// # Safety
/// The caller has the features of [`run`], and the schedules so many round keys.
#[inline(always)]
unsafe fn rounds<const FULL: usize, const HALF: bool>(
    rounds: std::ops::Range<usize>,
    states: &mut [Vectors<FULL, HALF>; SHORT],
    schedules: &[Schedule<'_>; SHORT],
) {
    for round in rounds {
        for (states, schedule) in states.iter_mut().zip(schedules) {
            // SAFETY: the caller's.
            unsafe { states.round(schedule.round_key(round)) };
        }
    }
}

/// Keeps the tags of four packets from `position` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn finish(task: &mut Task<'_, '_>, position: usize, sums: [Sums; SHORT], tag_pads: __m512i) {
    let hashes = reverse(Sums::add_up(sums).reduce_lanes());
    let tags = _mm512_xor_si512(hashes, tag_pads);
    task.finish(position, bytes(_mm512_castsi512_si128(tags)));
    task.finish(position + 1, bytes(_mm512_extracti32x4_epi32::<1>(tags)));
    task.finish(position + 2, bytes(_mm512_extracti32x4_epi32::<2>(tags)));
    task.finish(position + 3, bytes(_mm512_extracti32x4_epi32::<3>(tags)));
}

/// Asks for the end of the schedule of the packet at `position`: round keys, and
/// the lower powers of the hash key.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch_end(task: &Task<'_, '_>, position: usize) {
    if let Some(key) = task.key(position) {
        let end = key.as_ptr_range().end;
        for line in 1..7 {
            _mm_prefetch::<_MM_HINT_T0>(end.wrapping_sub(64 * line).cast());
        }
    }
}

/// Four packets from `position` on, and their schedules.
#[inline(always)]
fn four_from<'a>(
    task: &Task<'_, 'a>,
    position: usize,
) -> Option<([Packet<'a>; SHORT], [Schedule<'a>; SHORT])> {
    let (a, a_key) = full_schedule(task, position)?;
    let (b, b_key) = full_schedule(task, position + 1)?;
    let (c, c_key) = full_schedule(task, position + 2)?;
    let (d, d_key) = full_schedule(task, position + 3)?;
    Some(([a, b, c, d], [a_key, b_key, c_key, d_key]))
}
