//! AVX-512: 64 bytes of a text per step.
//!
//! ```text
//!  grams      places by the words of a filter
//!  classes    places by sets of byte classes
//!  compare    candidates with entries, survivors with patterns
//! ```

mod classes;
mod compare;
mod grams;

use std::arch::x86_64::*;

use weir_simd::Lanes;

use super::super::filter::BLOCK_BYTES;
use super::super::gram::FOLD;
use super::super::single::ByteSet;

pub(super) use classes::{look_classes, note_runs};
pub(super) use compare::{compare, verify};
pub(super) use grams::{look_four, look_two};

const fn multiples(of: u16) -> Lanes<u16, 32> {
    let mut places = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        places[lane] = lane as u16 * of;
        lane += 1;
    }
    Lanes(places)
}

static ALL_PLACES: Lanes<u16, 32> = multiples(1);

#[inline]
#[target_feature(enable = "avx512f")]
fn constant<T, const N: usize>(lanes: &Lanes<T, N>) -> __m512i {
    const { assert!(size_of::<Lanes<T, N>>() == 64) };
    // SAFETY: 64 bytes are readable.
    unsafe { _mm512_loadu_si512(std::ptr::from_ref(lanes).cast()) }
}

/// The bytes of a text from `start` on, as far as it goes; zeros for the rest.
/// `start` may be negative.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn load(text: &[u8], start: isize) -> __m512i {
    let left = text.len() as isize - start;
    let behind = _bzhi_u64(u64::MAX, left.clamp(0, 64) as u32);
    let mask = behind & u64::MAX << (-start).clamp(0, 63);
    // SAFETY: the mask has bits for bytes of the text only; others are not read.
    unsafe { _mm512_maskz_loadu_epi8(mask, text.as_ptr().wrapping_offset(start).cast()) }
}

/// Those of 64 bytes from `start` on that `mask` has bits for; zeros for the
/// rest. They must be bytes of the text.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_masked(text: &[u8], start: isize, mask: u64) -> __m512i {
    debug_assert!(
        mask == 0
            || start + mask.trailing_zeros() as isize >= 0
                && start + 64 - mask.leading_zeros() as isize <= text.len() as isize
    );
    // SAFETY: callers leave out what is no byte of the text; that is not read.
    unsafe { _mm512_maskz_loadu_epi8(mask, text.as_ptr().wrapping_offset(start).cast()) }
}

/// Writes 32 places.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(out: &mut [u16], places: __m512i) {
    let out = &mut out[..32];
    // SAFETY: 64 bytes are writable.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), places) };
}

/// Which bytes of a block equal those before them, when folded.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn equal_pairs(before: __m512i, block: __m512i) -> u64 {
    let fold = _mm512_set1_epi8(FOLD as i8);
    _mm512_cmpeq_epi8_mask(_mm512_or_si512(before, fold), _mm512_or_si512(block, fold))
}

/// The same of the block at `at`, not the first one; 0 where the text ends in
/// it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn equal_pairs_at(text: &[u8], at: usize) -> u64 {
    if at + BLOCK_BYTES > text.len() {
        return 0;
    }
    let start = at as isize;
    equal_pairs(
        load_masked(text, start - 1, u64::MAX),
        load_masked(text, start, u64::MAX),
    )
}

/// The first byte that is one of a set.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2")]
pub(super) fn find_in_set(text: &[u8], set: &ByteSet) -> Option<usize> {
    let set = set.map(|word| word as i64);
    let set = _mm512_setr_epi64(
        set[0], set[1], set[2], set[3], set[0], set[1], set[2], set[3],
    );
    // Bit b of byte v of the set is that of byte 8v + b.
    let bits = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let (seven, thirty_one) = (_mm512_set1_epi8(7), _mm512_set1_epi8(31));
    for at in (0..text.len()).step_by(64) {
        let block = load(text, at as isize);
        let byte = _mm512_and_si512(_mm512_srli_epi16::<3>(block), thirty_one);
        let byte = _mm512_permutexvar_epi8(byte, set);
        let bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(block, seven));
        let valid = _bzhi_u64(u64::MAX, (text.len() - at).min(64) as u32);
        let found = _mm512_mask_test_epi8_mask(valid, byte, bit);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
    }
    None
}
