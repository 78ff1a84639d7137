//! Leaks in vectors, for the check of machine code to find. They are never run:
//! valgrind does not know their instructions.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Keeps a leak in the executable.
macro_rules! keep {
    ($($name:ident: $leak:ident, $type:ty;)*) => {$(
        #[used]
        static $name: $type = $leak;
    )*};
}
keep! {
    LOOK_UP: look_up, unsafe fn(&__m512i, &[u8; 256]) -> u8;
    LOOK_UP_BY_WAY_OF_THE_FRAME: look_up_by_way_of_the_frame, unsafe fn(&__m512i, &[u8; 256]) -> u8;
    LOOK_UP_BESIDE_A_PANIC: look_up_beside_a_panic, unsafe fn(&__m512i, &[u8; 256], usize) -> u8;
    BRANCH_ON_MASK: branch_on_mask, unsafe fn(&__m512i, &mut u64);
    BRANCH_ON_BYTE: branch_on_byte, unsafe fn(&mut [u8; 64], &mut u64);
    BRANCH_ON_WORD: branch_on_word, unsafe fn(&[u64; 4], __m512i) -> __m512i;
    GATHER: gather, unsafe fn(&__m512i, &[i32; 256]) -> __m512i;
}

/// An S-box indexed by a byte of the key.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn look_up(key: &__m512i, table: &[u8; 256]) -> u8 {
    let low = _mm512_castsi512_si128(round(*key));
    table[(_mm_cvtsi128_si32(low) & 0xff) as usize]
}

/// The same, the byte being read from where the vector was spilled.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn look_up_by_way_of_the_frame(key: &__m512i, table: &[u8; 256]) -> u8 {
    let mut spilled = [0u8; 64];
    // SAFETY: 64 bytes are writable.
    unsafe { _mm512_storeu_si512(spilled.as_mut_ptr().cast(), round(*key)) };
    let spilled = std::hint::black_box(spilled);
    table[usize::from(spilled[5])]
}

/// The same behind a check, whose panic does not return.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn look_up_beside_a_panic(key: &__m512i, table: &[u8; 256], at: usize) -> u8 {
    let mut spilled = [0u8; 64];
    // SAFETY: 64 bytes are writable.
    unsafe { _mm512_storeu_si512(spilled.as_mut_ptr().cast(), round(*key)) };
    let spilled = std::hint::black_box(spilled);
    table[usize::from(spilled[at])]
}

/// Another way for a key with a byte of zero.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn branch_on_mask(key: &__m512i, count: &mut u64) {
    if _mm512_testn_epi8_mask(*key, *key) != 0 {
        *count = std::hint::black_box(*count + 1);
    }
}

/// Another way for an odd byte of a key that never leaves memory otherwise but
/// in a vector.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn branch_on_byte(key: &mut [u8; 64], count: &mut u64) {
    if key[9] & 1 == 1 {
        *count = std::hint::black_box(*count + 1);
    }
    let at = key.as_mut_ptr();
    // SAFETY: 64 bytes are readable and writable.
    unsafe {
        let key = _mm512_loadu_si512(at.cast());
        _mm512_storeu_si512(at.cast(), round(key));
    }
}

/// Another way for an odd word of a key that no vector ever sees.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn branch_on_word(key: &[u64; 4], state: __m512i) -> __m512i {
    match key[2] & 1 {
        0 => state,
        _ => round(std::hint::black_box(state)),
    }
}

/// Sixteen words of a table at once.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn gather(key: &__m512i, table: &[i32; 256]) -> __m512i {
    let index = _mm512_and_si512(*key, _mm512_set1_epi32(0xff));
    // SAFETY: every index is below 256.
    unsafe { _mm512_i32gather_epi32::<4>(index, table.as_ptr()) }
}

/// A round, which no compiler does without vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn round(key: __m512i) -> __m512i {
    _mm512_aesenc_epi128(key, key)
}
