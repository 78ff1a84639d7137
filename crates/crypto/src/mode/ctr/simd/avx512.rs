//! Four counter blocks per vector, eight vectors in flight: of one text as long as it has so
//! many, then of several texts, each under its own keys.
//!
//! ```text
//! lane       0  1  2  3
//! vector 0   1  2  3  4      the counter is the lowest word of a lane whose
//! vector 1   5  6  7  8      bytes are reversed
//! ```

use std::arch::x86_64::*;

use super::super::CtrText;
use crate::cipher::{Block, MOST_ROUND_KEYS};

/// Bytes of a vector.
const VECTOR: usize = 64;

/// Vectors in flight: enough to hide the latency of AES.
const VECTORS: usize = 8;

/// Of texts under keys of one size.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(super) fn apply_each(texts: &mut [CtrText<'_>]) {
    match texts.first().map_or(0, |text| text.round_keys.rounds) {
        10 => apply_by::<11>(texts),
        12 => apply_by::<13>(texts),
        14 => apply_by::<MOST_ROUND_KEYS>(texts),
        _ => {}
    }
}

/// Vectors of texts, the last of each perhaps partial, and what their key streams are made of.
struct Slots<'k, const KEYS: usize> {
    round_keys: [&'k [Block; KEYS]; VECTORS],
    /// Counter blocks, bytes reversed.
    counters: [__m512i; VECTORS],
    at: [*mut u8; VECTORS],
    masks: [__mmask64; VECTORS],
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn apply_by<const KEYS: usize>(texts: &mut [CtrText<'_>]) {
    let first = _mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1);
    let mut slots = Slots {
        round_keys: [const { &[[0; 16]; KEYS] }; VECTORS],
        counters: [first; VECTORS],
        at: [std::ptr::null_mut(); VECTORS],
        masks: [0; VECTORS],
    };
    let mut count = 0;
    for text in texts {
        let Some(round_keys) = text.round_keys.keys.first_chunk::<KEYS>() else {
            continue;
        };
        let nonce = _mm512_broadcast_i32x4(load(&text.nonce));
        let mut counters = _mm512_or_si512(reverse(nonce), first);
        let (long, rest) = text.text.as_chunks_mut::<{ VECTOR * VECTORS }>();
        for bytes in long {
            encrypt_long(round_keys, counters, bytes);
            let blocks = _mm512_set4_epi32(0, 0, 0, 4 * VECTORS as i32);
            counters = _mm512_add_epi32(counters, blocks);
        }
        for bytes in rest.chunks_mut(VECTOR) {
            slots.round_keys[count] = round_keys;
            slots.counters[count] = counters;
            slots.at[count] = bytes.as_mut_ptr();
            slots.masks[count] = u64::MAX >> (VECTOR - bytes.len());
            counters = _mm512_add_epi32(counters, _mm512_set4_epi32(0, 0, 0, 4));
            count += 1;
            if count == VECTORS {
                // SAFETY: the masks cover bytes of texts, which are borrowed.
                unsafe { slots.encrypt::<VECTORS>() };
                slots.masks = [0; VECTORS];
                count = 0;
            }
        }
    }
    // SAFETY: as above. Slots without a vector write nothing.
    unsafe {
        match count {
            0 => {}
            1 => slots.encrypt::<1>(),
            2..=4 => slots.encrypt::<4>(),
            _ => slots.encrypt::<VECTORS>(),
        }
    }
}

/// Encrypts as many vectors of one text as are in flight.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn encrypt_long<const KEYS: usize>(
    round_keys: &[Block; KEYS],
    counters: __m512i,
    bytes: &mut [u8; VECTOR * VECTORS],
) {
    let mut states = [broadcast(&round_keys[0]); VECTORS];
    for (vector, state) in (0..).zip(&mut states) {
        let counters = _mm512_add_epi32(counters, _mm512_set4_epi32(0, 0, 0, 4 * vector));
        *state = _mm512_xor_si512(*state, reverse(counters));
    }
    for key in &round_keys[1..KEYS - 1] {
        let key = broadcast(key);
        for state in &mut states {
            *state = _mm512_aesenc_epi128(*state, key);
        }
    }
    let key = broadcast(&round_keys[KEYS - 1]);
    for (state, bytes) in states.iter().zip(bytes.as_chunks_mut::<VECTOR>().0) {
        let at: *mut __m512i = bytes.as_mut_ptr().cast();
        // SAFETY: 64 bytes are readable and writable.
        unsafe {
            let input = _mm512_loadu_si512(at.cast_const());
            let output = _mm512_xor_si512(input, _mm512_aesenclast_epi128(*state, key));
            _mm512_storeu_si512(at, output);
        }
    }
}

impl<const KEYS: usize> Slots<'_, KEYS> {
    /// Encrypts the first `COUNT` vectors.
    ///
    /// # Safety
    /// What the masks cover is readable and writable.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    unsafe fn encrypt<const COUNT: usize>(&self) {
        let mut states = [_mm512_setzero_si512(); COUNT];
        for (slot, state) in states.iter_mut().enumerate() {
            let key = broadcast(&self.round_keys[slot][0]);
            *state = _mm512_xor_si512(reverse(self.counters[slot]), key);
        }
        for round in 1..KEYS - 1 {
            for (slot, state) in states.iter_mut().enumerate() {
                *state = _mm512_aesenc_epi128(*state, broadcast(&self.round_keys[slot][round]));
            }
        }
        for (slot, state) in states.iter().enumerate() {
            let key = broadcast(&self.round_keys[slot][KEYS - 1]);
            let key_stream = _mm512_aesenclast_epi128(*state, key);
            let (at, mask) = (self.at[slot].cast::<i8>(), self.masks[slot]);
            // SAFETY: as the caller promises.
            unsafe {
                let input = _mm512_maskz_loadu_epi8(mask, at);
                _mm512_mask_storeu_epi8(at, mask, _mm512_xor_si512(input, key_stream));
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn broadcast(key: &Block) -> __m512i {
    _mm512_broadcast_i32x4(load(key))
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn load(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// The bytes of each lane reversed.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn reverse(blocks: __m512i) -> __m512i {
    let order = _mm512_set4_epi32(0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f);
    _mm512_shuffle_epi8(blocks, order)
}
