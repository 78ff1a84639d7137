//! AVX-512: sixteen messages of 32-bit words or eight of 64-bit words. Every
//! rotation and every three-operand bit function is one instruction.

use std::arch::x86_64::*;

use super::super::rounds::{md5::Md5, sha1::Sha1, sha2::Sha256, sha2::Sha512};
use super::{HmacRow, Isa, States, Streams, Vector, Words};

/// Proof that the processor has AVX-512 F, BW and VL. So is every vector below:
/// it is made from this one, or from another vector.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

/// One 32-bit word of sixteen messages.
#[derive(Clone, Copy)]
pub(super) struct U32x16(__m512i);

/// One 64-bit word of eight messages.
#[derive(Clone, Copy)]
pub(super) struct U64x8(__m512i);

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $rounds:ty, $word:ty;)*) => {$(
        $(#[$doc])*
        pub(super) mod $name {
            use super::*;

            /// # Safety
            /// The processor has AVX-512 F, BW and VL; the streams of all lanes
            /// have at least `blocks` blocks.
            #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
            pub(in super::super) unsafe fn advance(
                states: &mut States<$word>,
                streams: &Streams<'_>,
                blocks: usize,
            ) {
                // SAFETY: as the caller promises.
                unsafe {
                    super::super::advance::<$word, $rounds, _>(Avx512(()), states, streams, blocks);
                }
            }

            /// # Safety
            /// The processor has AVX-512 F, BW and VL.
            #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
            pub(in super::super) unsafe fn take_words(
                states: &mut States<$word>,
                words: &Words<$word>,
            ) {
                super::super::take_words::<$word, $rounds, _>(Avx512(()), states, words);
            }

            /// # Safety
            /// The processor has AVX-512 F, BW and VL; the streams of all lanes
            /// have the blocks of `row`.
            #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
            pub(in super::super) unsafe fn hmac(
                row: &HmacRow<'_, $word>,
                states: &mut States<$word>,
            ) {
                // SAFETY: as the caller promises.
                unsafe { super::super::hmac::<$word, $rounds, _>(Avx512(()), row, states) };
            }
        }
    )*};
}
kernels! {
    /// MD5 in sixteen lanes.
    md5: Md5, u32;
    /// SHA-1 in sixteen lanes.
    sha1: Sha1, u32;
    /// SHA-256 in sixteen lanes.
    sha256: Sha256, u32;
    /// SHA-512 in eight lanes.
    sha512: Sha512, u64;
}

/// Methods of a vector from one intrinsic each.
macro_rules! bitwise {
    () => {
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: a vector of this type exists only where AVX-512 does.
            Self(unsafe { _mm512_xor_si512(self.0, other.0) })
        }

        #[inline(always)]
        fn xor3(self, b: Self, c: Self) -> Self {
            // SAFETY: as above. The constant is the truth table of the function.
            Self(unsafe { _mm512_ternarylogic_epi32::<0x96>(self.0, b.0, c.0) })
        }

        #[inline(always)]
        fn choose(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_ternarylogic_epi32::<0xca>(self.0, b.0, c.0) })
        }

        #[inline(always)]
        fn majority(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_ternarylogic_epi32::<0xe8>(self.0, b.0, c.0) })
        }

        #[inline(always)]
        fn xor_or_not(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_ternarylogic_epi32::<0x39>(self.0, b.0, c.0) })
        }
    };
}

impl Vector<u32> for U32x16 {
    bitwise!();

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a vector of this type exists only where AVX-512 does.
        Self(unsafe { _mm512_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn add_word(self, word: u32) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_add_epi32(self.0, _mm512_set1_epi32(word.cast_signed())) })
    }

    #[inline(always)]
    fn rotate_right<const N: i32>(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_ror_epi32::<N>(self.0) })
    }

    #[inline(always)]
    fn shift_right<const N: i32>(self) -> Self {
        // SAFETY: as above. The count folds to a constant.
        Self(unsafe { _mm512_srl_epi32(self.0, _mm_cvtsi32_si128(N)) })
    }
}

impl Vector<u64> for U64x8 {
    bitwise!();

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a vector of this type exists only where AVX-512 does.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn add_word(self, word: u64) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_add_epi64(self.0, _mm512_set1_epi64(word.cast_signed())) })
    }

    #[inline(always)]
    fn rotate_right<const N: i32>(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_ror_epi64::<N>(self.0) })
    }

    #[inline(always)]
    fn shift_right<const N: i32>(self) -> Self {
        // SAFETY: as above. The count folds to a constant.
        Self(unsafe { _mm512_srl_epi64(self.0, _mm_cvtsi32_si128(N)) })
    }
}

impl Isa<u32> for Avx512 {
    type Vector = U32x16;

    #[inline(always)]
    fn load(self, row: &[u32; 16]) -> U32x16 {
        // SAFETY: `self` proves AVX-512; 64 bytes are readable.
        U32x16(unsafe { _mm512_loadu_si512(row.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, row: &mut [u32; 16], vector: U32x16) {
        // SAFETY: `self` proves AVX-512; 64 bytes are writable.
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), vector.0) }
    }

    /// ```text
    /// stream 0   w0  w1  w2  …  w15          word  0   s0 s1 s2 … s15
    /// stream 1   w0  w1  w2  …  w15    →     word  1   s0 s1 s2 … s15
    ///    …                                      …
    /// ```
    #[inline(always)]
    unsafe fn load_block(self, streams: &Streams<'_>, at: usize, big_endian: bool) -> [U32x16; 16] {
        // SAFETY: `self` proves AVX-512; 64 bytes from `at` are readable in
        // each stream, as the caller promises.
        unsafe {
            let swap = _mm512_set4_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
            let mut rows = [_mm512_setzero_si512(); 16];
            for (row, stream) in rows.iter_mut().zip(streams) {
                *row = _mm512_loadu_si512(stream.as_ptr().add(at).cast());
                if big_endian {
                    *row = _mm512_shuffle_epi8(*row, swap);
                }
            }
            // Within each 128-bit quarter: 4 by 4 words.
            let mut quads = rows;
            for i in [0, 4, 8, 12] {
                let [r0, r1, r2, r3] = [rows[i], rows[i + 1], rows[i + 2], rows[i + 3]];
                let low01 = _mm512_unpacklo_epi32(r0, r1);
                let high01 = _mm512_unpackhi_epi32(r0, r1);
                let low23 = _mm512_unpacklo_epi32(r2, r3);
                let high23 = _mm512_unpackhi_epi32(r2, r3);
                quads[i] = _mm512_unpacklo_epi64(low01, low23);
                quads[i + 1] = _mm512_unpackhi_epi64(low01, low23);
                quads[i + 2] = _mm512_unpacklo_epi64(high01, high23);
                quads[i + 3] = _mm512_unpackhi_epi64(high01, high23);
            }
            // Then 4 by 4 quarters.
            let mut words = [U32x16(_mm512_setzero_si512()); 16];
            for i in 0..4 {
                let quarters = [quads[i], quads[i + 4], quads[i + 8], quads[i + 12]];
                let turned = transpose_quarters(quarters);
                for (j, word) in turned.into_iter().enumerate() {
                    words[i + 4 * j] = U32x16(word);
                }
            }
            words
        }
    }
}

impl Isa<u64> for Avx512 {
    type Vector = U64x8;

    #[inline(always)]
    fn load(self, row: &[u64; 16]) -> U64x8 {
        // SAFETY: `self` proves AVX-512; 64 bytes are readable.
        U64x8(unsafe { _mm512_loadu_si512(row.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, row: &mut [u64; 16], vector: U64x8) {
        // SAFETY: `self` proves AVX-512; 64 bytes are writable.
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), vector.0) }
    }

    #[inline(always)]
    unsafe fn load_block(self, streams: &Streams<'_>, at: usize, big_endian: bool) -> [U64x8; 16] {
        // SAFETY: `self` proves AVX-512; 128 bytes from `at` are readable in
        // each stream, as the caller promises.
        unsafe {
            let swap = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
            let mut words = [U64x8(_mm512_setzero_si512()); 16];
            for half in [0, 8] {
                let mut rows = [_mm512_setzero_si512(); 8];
                for (row, stream) in rows.iter_mut().zip(streams) {
                    *row = _mm512_loadu_si512(stream.as_ptr().add(at + half * 8).cast());
                    if big_endian {
                        *row = _mm512_shuffle_epi8(*row, swap);
                    }
                }
                let (mut even, mut odd) = ([rows[0]; 4], [rows[0]; 4]);
                for (i, [a, b]) in rows.as_chunks().0.iter().enumerate() {
                    even[i] = _mm512_unpacklo_epi64(*a, *b);
                    odd[i] = _mm512_unpackhi_epi64(*a, *b);
                }
                let even = transpose_quarters(even);
                let odd = transpose_quarters(odd);
                for i in 0..4 {
                    words[half + 2 * i] = U64x8(even[i]);
                    words[half + 2 * i + 1] = U64x8(odd[i]);
                }
            }
            words
        }
    }
}

/// Turns 4 vectors of 4 quarters (of 128 bits) about the diagonal.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn transpose_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: as the caller promises.
    unsafe {
        let ab_low = _mm512_shuffle_i32x4::<0x44>(a, b);
        let ab_high = _mm512_shuffle_i32x4::<0xee>(a, b);
        let cd_low = _mm512_shuffle_i32x4::<0x44>(c, d);
        let cd_high = _mm512_shuffle_i32x4::<0xee>(c, d);
        [
            _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
            _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low),
            _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
            _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
        ]
    }
}
