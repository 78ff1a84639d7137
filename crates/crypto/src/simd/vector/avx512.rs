//! AVX-512. Every rotation and every function of three operands is one instruction.

use std::arch::x86_64::*;

use super::{Isa, Vector, by_counts, by_intrinsics};

/// Proof that the processor has AVX-512 F, BW and VL.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

/// 512 bits.
#[derive(Clone, Copy)]
pub(crate) struct Vector512(__m512i);

impl Avx512 {
    /// # Safety
    /// The processor has AVX-512 F, BW and VL.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Avx512 {
        Avx512(())
    }
}

impl Isa for Avx512 {
    type Vector = Vector512;

    #[inline(always)]
    fn zero(self) -> Vector512 {
        // SAFETY: `self` proves AVX-512.
        Vector512(unsafe { _mm512_setzero_si512() })
    }

    #[inline(always)]
    fn all_32(self, word: u32) -> Vector512 {
        // SAFETY: as above.
        Vector512(unsafe { _mm512_set1_epi32(word.cast_signed()) })
    }

    #[inline(always)]
    fn all_64(self, word: u64) -> Vector512 {
        // SAFETY: as above.
        Vector512(unsafe { _mm512_set1_epi64(word.cast_signed()) })
    }

    #[inline(always)]
    fn all_quads(self, bytes: &[u8; 16]) -> Vector512 {
        // SAFETY: as above; 16 bytes are readable.
        Vector512(unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(bytes.as_ptr().cast())) })
    }

    #[inline(always)]
    unsafe fn load_at(self, at: *const u8) -> Vector512 {
        // SAFETY: `self` proves AVX-512; the bytes are the caller's.
        Vector512(unsafe { _mm512_loadu_si512(at.cast()) })
    }
}

/// Functions of three operands by their truth tables.
macro_rules! by_truth_tables {
    ($($name:ident = $table:literal;)*) => {$(
        #[inline(always)]
        fn $name(self, b: Self, c: Self) -> Self {
            // SAFETY: a vector exists only where AVX-512 does.
            Self(unsafe { _mm512_ternarylogic_epi32::<$table>(self.0, b.0, c.0) })
        }
    )*};
}

/// Rotations, whose count an instruction holds.
macro_rules! rotations {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name<const N: i32>(self) -> Self {
            // SAFETY: a vector exists only where AVX-512 does.
            Self(unsafe { $intrinsic::<N>(self.0) })
        }
    )*};
}

impl Vector for Vector512 {
    type Isa = Avx512;

    #[inline(always)]
    fn isa(self) -> Avx512 {
        Avx512(())
    }

    #[inline(always)]
    unsafe fn store_at(self, at: *mut u8) {
        // SAFETY: a vector exists only where AVX-512 does; the bytes are the caller's.
        unsafe { _mm512_storeu_si512(at.cast(), self.0) }
    }

    by_intrinsics! {
        xor(other) = _mm512_xor_si512;
        and(other) = _mm512_and_si512;
        or(other) = _mm512_or_si512;
        add_32(other) = _mm512_add_epi32;
        add_64(other) = _mm512_add_epi64;
        shuffle_bytes(order) = _mm512_shuffle_epi8;
        unpack_low_32(other) = _mm512_unpacklo_epi32;
        unpack_high_32(other) = _mm512_unpackhi_epi32;
        unpack_low_64(other) = _mm512_unpacklo_epi64;
        unpack_high_64(other) = _mm512_unpackhi_epi64;
        even_quads(other) = _mm512_shuffle_i32x4::<0x88>;
        odd_quads(other) = _mm512_shuffle_i32x4::<0xdd>;
    }

    by_truth_tables! {
        xor3 = 0x96;
        choose = 0xca;
        majority = 0xe8;
        xor_or_not = 0x39;
    }

    rotations! {
        rotate_right_32 = _mm512_ror_epi32;
        rotate_right_64 = _mm512_ror_epi64;
    }

    by_counts! {
        shift_right_32 = _mm512_srl_epi32;
        shift_right_64 = _mm512_srl_epi64;
    }
}
