//! The first step of a packet: Offset₀ and the hash of the associated data.
//!
//! ```text
//! lane     0        1
//! before   nonce    last block of associated data
//! after    Ktop     its part of the hash
//! ```
//!
//! Offset₀ is then made of the Ktop of four packets at once.

use std::arch::x86_64::*;
use std::cell::Cell;

use super::super::super::packet::{BOTTOM, BOTTOM_AT, Packet};
use super::super::schedule::{Schedule, load};
use super::{GROUP, Group};

/// A group under way.
pub(super) struct Beginning<'a> {
    states: [__m256i; GROUP],
    /// Where the round keys are.
    schedules: [Schedule<'a>; GROUP],
}

/// What the steps behind it need to know of a group.
pub(super) struct Begun {
    /// Offset₀ of each packet.
    offsets: __m512i,
    /// The hash of each packet's associated data.
    pub(super) hashes: [__m128i; GROUP],
}

impl<'a> Beginning<'a> {
    /// Everything before the first round.
    ///
    /// # Safety
    /// The caller has the features of [`super::run`].
    #[inline(always)]
    pub(super) unsafe fn new(group: &Group<'_, 'a>) -> Beginning<'a> {
        // SAFETY: the caller's.
        unsafe {
            let mut states = [_mm256_setzero_si256(); GROUP];
            for (index, state) in states.iter_mut().enumerate() {
                let (packet, schedule) = (group.packets[index], &group.schedules[index]);
                let top = _mm_and_si128(nonce(packet), _mm_set_epi64x(!BOTTOM as i64, -1));
                let pair = _mm256_castsi128_si256(top);
                let pair = _mm256_inserti128_si256::<1>(pair, last_block(packet, schedule));
                *state = _mm256_xor_si256(pair, round_key(schedule, 0));
            }
            Beginning {
                states,
                schedules: group.schedules,
            }
        }
    }

    /// One of the rounds before the last.
    ///
    /// # Safety
    /// As for [`Beginning::new`].
    #[inline(always)]
    pub(super) unsafe fn round(&mut self, round: usize) {
        for (state, schedule) in self.states.iter_mut().zip(&self.schedules) {
            // SAFETY: the caller's.
            *state = unsafe { _mm256_aesenc_epi128(*state, round_key(schedule, round)) };
        }
    }

    /// The last round and everything behind it.
    ///
    /// # Safety
    /// As for [`Beginning::new`]; it is the same group.
    #[inline(always)]
    pub(super) unsafe fn end(self, group: &Group<'_, 'a>) -> Begun {
        let mut states = self.states;
        // SAFETY: the caller's.
        unsafe {
            let mut hashes = [_mm_setzero_si128(); GROUP];
            for (index, state) in states.iter_mut().enumerate() {
                let associated = group.packets[index].associated;
                let schedule = &group.schedules[index];
                *state = _mm256_aesenclast_epi128(*state, round_key(schedule, schedule.rounds));
                // Without associated data the hash is zero.
                let some = 0u8.wrapping_sub(u8::from(!associated.is_empty()));
                let hash = _mm256_extracti128_si256::<1>(*state);
                hashes[index] = _mm_maskz_mov_epi64(some, hash);
                if associated.len() > 16 {
                    hashes[index] = _mm_xor_si128(hash, hash_head(*schedule, associated));
                }
            }
            let [a, b, c, d] = states;
            let k_tops = join(
                _mm256_permute2x128_si256::<0x20>(a, b),
                _mm256_permute2x128_si256::<0x20>(c, d),
            );
            let [a, b, c, d] = group.packets;
            let nonces = join(nonce_pair(a, b), nonce_pair(c, d));
            Begun {
                offsets: first_offsets(k_tops, nonces),
                hashes,
            }
        }
    }

    /// All of it, while nothing else is done.
    ///
    /// # Safety
    /// As for [`Beginning::new`].
    #[inline(always)]
    pub(super) unsafe fn alone(group: &Group<'_, 'a>) -> Begun {
        // SAFETY: the caller's.
        unsafe {
            let mut beginning = Beginning::new(group);
            for round in 1..group.schedules[0].rounds {
                beginning.round(round);
            }
            beginning.end(group)
        }
    }
}

impl Begun {
    /// Offset₀ of each packet, in every lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn broadcast_offsets(&self) -> [__m512i; GROUP] {
        let offsets = self.offsets;
        [
            _mm512_shuffle_i32x4::<0x00>(offsets, offsets),
            _mm512_shuffle_i32x4::<0x55>(offsets, offsets),
            _mm512_shuffle_i32x4::<0xaa>(offsets, offsets),
            _mm512_shuffle_i32x4::<0xff>(offsets, offsets),
        ]
    }
}

/// The block that the nonce makes.
#[inline]
#[target_feature(enable = "sse2")]
fn nonce(packet: &Packet<'_>) -> __m128i {
    // SAFETY: a block is readable.
    let salt_and_iv = unsafe { load(packet.nonce) };
    _mm_or_si128(
        _mm_slli_si128::<4>(salt_and_iv),
        _mm_set_epi32(0, 0, 0, 1 << 24),
    )
}

/// The last block of associated data, padded, and its offset.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn last_block(packet: &Packet<'_>, schedule: &Schedule<'_>) -> __m128i {
    match packet.associated.len() {
        ..=16 => padded_with_offset(packet.associated, schedule.l_star(), schedule.l(0)),
        _ => last_of_many(packet.associated, *schedule),
    }
}

/// The same, of more than one block.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn last_of_many(associated: &[Cell<u8>], schedule: Schedule<'_>) -> __m128i {
    let before = (associated.len() - 1) / 16;
    let offset = schedule.offset_behind(_mm_setzero_si128(), before);
    let partial = _mm_xor_si128(offset, schedule.l_star());
    let whole = _mm_xor_si128(offset, schedule.l((before + 1).trailing_zeros()));
    padded_with_offset(&associated[16 * before..], partial, whole)
}

/// A block of up to 16 bytes, padded, plus the offset that it has as a partial
/// or as a whole one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn padded_with_offset(last: &[Cell<u8>], partial: __m128i, whole: __m128i) -> __m128i {
    let bytes = last.len() as u32;
    let mask = ((1u32 << bytes) - 1) as __mmask16;
    // SAFETY: the mask leaves out what lies behind.
    let block = unsafe { _mm_maskz_loadu_epi8(mask, last.as_ptr().cast()) };
    // The bit behind the last byte; none behind a whole block.
    let behind = (1u32 << bytes) as __mmask16;
    let block = _mm_mask_mov_epi8(block, behind, _mm_set1_epi8(0x80u8 as i8));
    let is_whole = 0u8.wrapping_sub(u8::from(bytes == 16));
    _mm_xor_si128(block, _mm_mask_mov_epi64(partial, is_whole, whole))
}

/// The hash of the blocks of associated data before its last one.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn hash_head(schedule: Schedule<'_>, associated: &[Cell<u8>]) -> __m128i {
    let before = associated.len().saturating_sub(1) / 16 * 16;
    let (mut sum, mut offset) = (_mm_setzero_si128(), _mm_setzero_si128());
    for (number, block) in (1u64..).zip(associated[..before].as_chunks::<16>().0) {
        offset = _mm_xor_si128(offset, schedule.l(number.trailing_zeros()));
        // SAFETY: a block is readable, and a schedule has its round keys.
        unsafe {
            let mut state = _mm_xor_si128(load(block.as_ptr().cast()), offset);
            state = _mm_xor_si128(state, load(schedule.round_keys()));
            for round in 1..schedule.rounds {
                state = _mm_aesenc_si128(state, load(schedule.round_keys().add(round)));
            }
            let last = load(schedule.round_keys().add(schedule.rounds));
            sum = _mm_xor_si128(sum, _mm_aesenclast_si128(state, last));
        }
    }
    sum
}

/// Offset₀ of four packets from their Ktop: RFC 7253 section 4.2.
///
/// ```text
/// Ktop           k₀ … k₇   k₈ … k₁₅
/// behind it      k₈ … k₁₅  k₀+k₁ … k₇+k₈     what shifts in from the right
/// ```
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn first_offsets(k_tops: __m512i, nonces: __m512i) -> __m512i {
    let differences = _mm512_xor_si512(k_tops, _mm512_bsrli_epi128::<1>(k_tops));
    let behind = _mm512_alignr_epi8::<8>(differences, k_tops);
    // Bytes of each half reversed: halves are numbers.
    let reversed = _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607);
    let reversed = _mm512_broadcast_i32x4(reversed);
    let k_tops = _mm512_shuffle_epi8(k_tops, reversed);
    let behind = _mm512_shuffle_epi8(behind, reversed);
    // `bottom`, in both halves.
    let high = _mm512_unpackhi_epi64(nonces, nonces);
    let bottoms = _mm512_srli_epi64::<BOTTOM_AT>(high);
    let bottoms = _mm512_and_si512(bottoms, _mm512_set1_epi64((BOTTOM >> BOTTOM_AT) as i64));
    let left = _mm512_sllv_epi64(k_tops, bottoms);
    // A shift by 64 leaves nothing.
    let rest = _mm512_sub_epi64(_mm512_set1_epi64(64), bottoms);
    let offsets = _mm512_or_si512(left, _mm512_srlv_epi64(behind, rest));
    _mm512_shuffle_epi8(offsets, reversed)
}

/// The nonces' blocks of two packets.
#[inline]
#[target_feature(enable = "avx2")]
fn nonce_pair(a: &Packet<'_>, b: &Packet<'_>) -> __m256i {
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(nonce(a)), nonce(b))
}

/// Two halves of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn join(low: __m256i, high: __m256i) -> __m512i {
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// A round key in both lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn round_key(schedule: &Schedule<'_>, round: usize) -> __m256i {
    // SAFETY: a schedule has its round keys.
    _mm256_broadcastsi128_si256(unsafe { load(schedule.round_keys().add(round)) })
}
