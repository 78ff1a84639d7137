//! AVX2. A rotation takes three instructions, or one where it moves whole bytes.

use std::arch::x86_64::*;

use super::{Isa, Vector, by_counts, by_intrinsics};

/// Proof that the processor has AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

/// 256 bits.
#[derive(Clone, Copy)]
pub(crate) struct Vector256(__m256i);

impl Avx2 {
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Avx2 {
        Avx2(())
    }
}

impl Isa for Avx2 {
    type Vector = Vector256;

    #[inline(always)]
    fn zero(self) -> Vector256 {
        // SAFETY: `self` proves AVX2.
        Vector256(unsafe { _mm256_setzero_si256() })
    }

    #[inline(always)]
    fn all_32(self, word: u32) -> Vector256 {
        // SAFETY: as above.
        Vector256(unsafe { _mm256_set1_epi32(word.cast_signed()) })
    }

    #[inline(always)]
    fn all_64(self, word: u64) -> Vector256 {
        // SAFETY: as above.
        Vector256(unsafe { _mm256_set1_epi64x(word.cast_signed()) })
    }

    #[inline(always)]
    fn all_quads(self, bytes: &[u8; 16]) -> Vector256 {
        // SAFETY: as above; 16 bytes are readable.
        Vector256(unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())) })
    }

    #[inline(always)]
    unsafe fn load_at(self, at: *const u8) -> Vector256 {
        // SAFETY: `self` proves AVX2; the bytes are the caller's.
        Vector256(unsafe { _mm256_loadu_si256(at.cast()) })
    }

    #[inline(always)]
    unsafe fn load_first(self, at: *const u8, bytes: usize) -> Vector256 {
        let mut all = [0u8; 32];
        // SAFETY: the bytes are the caller's.
        unsafe { std::ptr::copy(at, all.as_mut_ptr(), bytes.min(32)) };
        self.load(&all)
    }

    #[inline(always)]
    unsafe fn load_first_of_quads(self, at: [*const u8; 4], bytes: [usize; 4]) -> Vector256 {
        let mut quads = [[0u8; 16]; 2];
        for (quad, (at, bytes)) in quads.iter_mut().zip(at.into_iter().zip(bytes)) {
            // SAFETY: the bytes are the caller's.
            unsafe { std::ptr::copy(at, quad.as_mut_ptr(), bytes.min(16)) };
        }
        self.load(&quads)
    }

    #[inline(always)]
    fn load_pair(self, first: &[u8; 32], _: &[u8; 32]) -> Vector256 {
        self.load(first)
    }
}

/// The byte order that rotates each word of a quad to the right by `bits`, a multiple of eight.
/// Words have `word_bytes` bytes.
const fn rotation(word_bytes: usize, bits: i32) -> [u8; 16] {
    let mut order = [0; 16];
    let mut byte = 0;
    while byte < 16 {
        let word = byte - byte % word_bytes;
        order[byte] = (word + (byte + bits as usize / 8) % word_bytes) as u8;
        byte += 1;
    }
    order
}

impl Vector for Vector256 {
    type Isa = Avx2;

    const REGISTERS: usize = 16;

    #[inline(always)]
    fn isa(self) -> Avx2 {
        Avx2(())
    }

    #[inline(always)]
    unsafe fn store_at(self, at: *mut u8) {
        // SAFETY: a vector exists only where AVX2 does; the bytes are the caller's.
        unsafe { _mm256_storeu_si256(at.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn store_first(self, at: *mut u8, bytes: usize) {
        let mut all = [0u8; 32];
        self.store(&mut all);
        // SAFETY: the bytes are the caller's.
        unsafe { std::ptr::copy(all.as_ptr(), at, bytes.min(32)) };
    }

    by_intrinsics! {
        xor(other) = _mm256_xor_si256;
        and(other) = _mm256_and_si256;
        or(other) = _mm256_or_si256;
        add_32(other) = _mm256_add_epi32;
        add_64(other) = _mm256_add_epi64;
        multiply_32(other) = _mm256_mul_epu32;
        greater_64(other) = _mm256_cmpgt_epi64;
        shuffle_bytes(order) = _mm256_shuffle_epi8;
        unpack_low_32(other) = _mm256_unpacklo_epi32;
        unpack_high_32(other) = _mm256_unpackhi_epi32;
        unpack_low_64(other) = _mm256_unpacklo_epi64;
        unpack_high_64(other) = _mm256_unpackhi_epi64;
        even_quads(other) = _mm256_permute2x128_si256::<0x20>;
        odd_quads(other) = _mm256_permute2x128_si256::<0x31>;
    }

    by_counts! {
        shift_right_32 = _mm256_srl_epi32;
        shift_right_64 = _mm256_srl_epi64;
        shift_left_64 = _mm256_sll_epi64;
    }

    #[inline(always)]
    fn funnel_right_64(self, high: Self, bits: i32) -> Self {
        self.shift_right_64(bits).or(high.shift_left_64(64 - bits))
    }

    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b).xor(c)
    }

    #[inline(always)]
    fn choose(self, b: Self, c: Self) -> Self {
        self.and(b.xor(c)).xor(c)
    }

    #[inline(always)]
    fn majority(self, b: Self, c: Self) -> Self {
        self.xor(b).choose(c, b)
    }

    #[inline(always)]
    fn xor_or_not(self, b: Self, c: Self) -> Self {
        // `!(!self & c)` is `self | !c`.
        // SAFETY: a vector exists only where AVX2 does.
        let not = Self(unsafe { _mm256_andnot_si256(self.0, c.0) });
        not.xor3(self.isa().all_32(u32::MAX), b)
    }

    #[inline(always)]
    fn rotate_right_32<const N: i32>(self) -> Self {
        if N % 8 == 0 {
            return self.shuffle_bytes(self.isa().all_quads(&const { rotation(4, N) }));
        }
        // SAFETY: a vector exists only where AVX2 does. The count folds to a constant.
        let left = Self(unsafe { _mm256_sll_epi32(self.0, _mm_cvtsi32_si128(32 - N)) });
        self.shift_right_32(N).or(left)
    }

    #[inline(always)]
    fn rotate_right_64<const N: i32>(self) -> Self {
        if N % 8 == 0 {
            return self.shuffle_bytes(self.isa().all_quads(&const { rotation(8, N) }));
        }
        self.funnel_right_64(self, N)
    }
}
