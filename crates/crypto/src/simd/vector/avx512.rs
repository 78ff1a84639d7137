//! AVX-512. Every rotation and every function of three operands is one instruction.

use std::arch::x86_64::*;

use super::{Isa, Vector, by_counts, by_intrinsics};

/// Proof that the processor has the instructions of the tier.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

/// 512 bits.
#[derive(Clone, Copy)]
pub(crate) struct Vector512(__m512i);

impl Avx512 {
    /// # Safety
    /// The processor has [`weir_simd::Tier::Avx512`].
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

    #[inline(always)]
    unsafe fn load_first(self, at: *const u8, bytes: usize) -> Vector512 {
        // SAFETY: as above; the mask covers no more bytes.
        Vector512(unsafe { _mm512_maskz_loadu_epi8(_bzhi_u64(u64::MAX, bytes as u32), at.cast()) })
    }

    #[inline(always)]
    unsafe fn load_first_of_quads(self, at: [*const u8; 4], bytes: [usize; 4]) -> Vector512 {
        // SAFETY: as above; each mask covers no more bytes.
        unsafe {
            let mut quads = [_mm_setzero_si128(); 4];
            for (quad, (at, bytes)) in quads.iter_mut().zip(at.into_iter().zip(bytes)) {
                let mask = _bzhi_u32(u32::MAX, bytes as u32) as u16;
                *quad = _mm_maskz_loadu_epi8(mask, at.cast());
            }
            let [a, b, c, d] = quads;
            let low = _mm512_castsi256_si512(_mm256_set_m128i(b, a));
            Vector512(_mm512_inserti64x4::<1>(low, _mm256_set_m128i(d, c)))
        }
    }

    #[inline(always)]
    fn load_pair(self, first: &[u8; 32], second: &[u8; 32]) -> Vector512 {
        // SAFETY: `self` proves AVX-512; 32 bytes of each are readable.
        unsafe {
            let first = _mm512_castsi256_si512(_mm256_loadu_si256(first.as_ptr().cast()));
            let second = _mm256_loadu_si256(second.as_ptr().cast());
            Vector512(_mm512_inserti64x4::<1>(first, second))
        }
    }
}

impl Vector512 {
    /// The sum of this and the lower 52 bits of the product of two numbers of 52 bits.
    #[inline(always)]
    pub(crate) fn add_low_52(self, x: Self, y: Self) -> Self {
        // SAFETY: a vector exists only where AVX-512 does.
        Self(unsafe { _mm512_madd52lo_epu64(self.0, x.0, y.0) })
    }

    /// The sum of this and what is above the lower 52 bits of the product.
    #[inline(always)]
    pub(crate) fn add_high_52(self, x: Self, y: Self) -> Self {
        // SAFETY: a vector exists only where AVX-512 does.
        Self(unsafe { _mm512_madd52hi_epu64(self.0, x.0, y.0) })
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

    const REGISTERS: usize = 32;

    #[inline(always)]
    fn isa(self) -> Avx512 {
        Avx512(())
    }

    #[inline(always)]
    unsafe fn store_at(self, at: *mut u8) {
        // SAFETY: a vector exists only where AVX-512 does; the bytes are the caller's.
        unsafe { _mm512_storeu_si512(at.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn store_first(self, at: *mut u8, bytes: usize) {
        // SAFETY: as above; the mask covers no more bytes.
        unsafe { _mm512_mask_storeu_epi8(at.cast(), _bzhi_u64(u64::MAX, bytes as u32), self.0) }
    }

    #[inline(always)]
    fn greater_64(self, other: Self) -> Self {
        // SAFETY: a vector exists only where AVX-512 does.
        unsafe {
            let lanes = _mm512_cmpgt_epi64_mask(self.0, other.0);
            Self(_mm512_maskz_set1_epi64(lanes, -1))
        }
    }

    #[inline(always)]
    fn funnel_right_64(self, high: Self, bits: i32) -> Self {
        let bits = self.isa().all_64(bits as u64);
        // SAFETY: a vector exists only where AVX-512 does.
        Self(unsafe { _mm512_shrdv_epi64(self.0, high.0, bits.0) })
    }

    by_intrinsics! {
        xor(other) = _mm512_xor_si512;
        and(other) = _mm512_and_si512;
        or(other) = _mm512_or_si512;
        add_32(other) = _mm512_add_epi32;
        add_64(other) = _mm512_add_epi64;
        multiply_32(other) = _mm512_mul_epu32;
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
        shift_left_64 = _mm512_sll_epi64;
    }
}
