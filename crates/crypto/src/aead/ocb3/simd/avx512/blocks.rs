//! Blocks that packets have one of: of the nonce, the associated data, the tag.

use std::arch::x86_64::*;

use super::super::super::packet::Packet;
use super::super::schedule::{Schedule, first_offset, load};
use super::FLIGHT;

/// Writes Offset₀ and the hash of the associated data of each packet. (Arrays
/// that are returned are copied by whole vectors, before their elements have
/// come to rest.)
///
/// ```text
/// lane     0        1
/// before   nonce    last block of associated data
/// after    Ktop     its part of the hash
/// ```
///
/// # Safety
/// The schedules have so many rounds.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
pub(super) unsafe fn begin(
    rounds: usize,
    packets: &[&Packet<'_>; FLIGHT],
    schedules: &[Schedule<'_>; FLIGHT],
    offsets: &mut [__m128i; FLIGHT],
    hashes: &mut [__m128i; FLIGHT],
) {
    let zero = _mm_setzero_si128();
    let mut states = [_mm256_setzero_si256(); FLIGHT];
    // SAFETY: the caller's.
    unsafe {
        for index in 0..FLIGHT {
            let (packet, schedule) = (packets[index], &schedules[index]);
            let ([low, high], _) = packet.top_and_bottom();
            let nonce = _mm_set_epi64x(high as i64, low as i64);
            let mut last = packet.associated;
            let mut offset = zero;
            let mut number = 1;
            hashes[index] = zero;
            if last.len() > 16 {
                (last, offset, hashes[index]) = hash_head(rounds, schedule, last);
                number += (packet.associated.len() - last.len()) / 16;
            }
            let bytes = last.len() as u32;
            let mask = ((1u32 << bytes) - 1) as __mmask16;
            let block = _mm_maskz_loadu_epi8(mask, last.as_ptr().cast());
            // The bit behind the last byte; none behind a whole block.
            let behind = (1u32 << bytes) as __mmask16;
            let block = _mm_mask_mov_epi8(block, behind, _mm_set1_epi8(0x80u8 as i8));
            let l = match bytes {
                16 => schedule.l(number.trailing_zeros()),
                _ => schedule.l_star(),
            };
            let block = _mm_xor_si128(_mm_xor_si128(block, offset), l);
            let key = _mm256_broadcastsi128_si256(load(schedule.round_keys()));
            let pair = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(nonce), block);
            states[index] = _mm256_xor_si256(pair, key);
        }
        for round in 1..rounds {
            for (state, schedule) in states.iter_mut().zip(schedules) {
                let key = _mm256_broadcastsi128_si256(load(schedule.round_keys().add(round)));
                *state = _mm256_aesenc_epi128(*state, key);
            }
        }
        for index in 0..FLIGHT {
            let key = load(schedules[index].round_keys().add(rounds));
            let key = _mm256_broadcastsi128_si256(key);
            let state = _mm256_aesenclast_epi128(states[index], key);
            let (_, bottom) = packets[index].top_and_bottom();
            offsets[index] = first_offset(_mm256_castsi256_si128(state), bottom);
            // Without associated data the hash is zero.
            let some = 0u8.wrapping_sub(u8::from(!packets[index].associated.is_empty()));
            let hashed = _mm256_extracti128_si256::<1>(state);
            hashes[index] = _mm_mask_xor_epi64(zero, some, hashes[index], hashed);
        }
    }
}

/// The blocks of long associated data before its last one: that one, the offset
/// behind them, and their hash.
///
/// # Safety
/// The schedule has so many rounds.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
unsafe fn hash_head<'a>(
    rounds: usize,
    schedule: &Schedule<'_>,
    associated: &'a [u8],
) -> (&'a [u8], __m128i, __m128i) {
    let before = associated.len().saturating_sub(1) / 16 * 16;
    let (before, last) = associated.split_at(before);
    let (mut sum, mut offset) = (_mm_setzero_si128(), _mm_setzero_si128());
    for (number, block) in (1u64..).zip(before.as_chunks::<16>().0) {
        offset = _mm_xor_si128(offset, schedule.l(number.trailing_zeros()));
        // SAFETY: the caller's, and a block is readable.
        unsafe {
            let mut state = _mm_xor_si128(load(block), offset);
            state = _mm_xor_si128(state, load(schedule.round_keys()));
            for round in 1..rounds {
                state = _mm_aesenc_si128(state, load(schedule.round_keys().add(round)));
            }
            state = _mm_aesenclast_si128(state, load(schedule.round_keys().add(rounds)));
            sum = _mm_xor_si128(sum, state);
        }
    }
    (last, offset, sum)
}

/// Encrypts a block of each packet.
///
/// # Safety
/// The schedules have so many rounds.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,aes")]
pub(super) unsafe fn encrypt(
    rounds: usize,
    schedules: &[Schedule<'_>; FLIGHT],
    blocks: &mut [__m128i; FLIGHT],
) {
    // SAFETY: the caller's.
    unsafe {
        for (block, schedule) in blocks.iter_mut().zip(schedules) {
            *block = _mm_xor_si128(*block, load(schedule.round_keys()));
        }
        for round in 1..rounds {
            for (block, schedule) in blocks.iter_mut().zip(schedules) {
                *block = _mm_aesenc_si128(*block, load(schedule.round_keys().add(round)));
            }
        }
        for (block, schedule) in blocks.iter_mut().zip(schedules) {
            *block = _mm_aesenclast_si128(*block, load(schedule.round_keys().add(rounds)));
        }
    }
}
