//! AVX2: eight messages of 32-bit words or four of 64-bit words. A rotation
//! takes three instructions.

use std::arch::x86_64::*;

use super::super::rounds::{md5::Md5, sha1::Sha1, sha2::Sha256, sha2::Sha512};
use super::{HmacRow, Isa, States, Streams, Vector, Words};

/// Proof that the processor has AVX2. So is every vector below: it is made
/// from this one, or from another vector.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// One 32-bit word of eight messages.
#[derive(Clone, Copy)]
pub(super) struct U32x8(__m256i);

/// One 64-bit word of four messages.
#[derive(Clone, Copy)]
pub(super) struct U64x4(__m256i);

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $rounds:ty, $word:ty;)*) => {$(
        $(#[$doc])*
        pub(super) mod $name {
            use super::*;

            /// # Safety
            /// The processor has AVX2; the streams of all lanes
            /// have at least `blocks` blocks.
            #[target_feature(enable = "avx2")]
            pub(in super::super) unsafe fn advance(
                states: &mut States<$word>,
                streams: &Streams<'_>,
                blocks: usize,
            ) {
                // SAFETY: as the caller promises.
                unsafe {
                    super::super::advance::<$word, $rounds, _>(Avx2(()), states, streams, blocks);
                }
            }

            /// # Safety
            /// The processor has AVX2.
            #[target_feature(enable = "avx2")]
            pub(in super::super) unsafe fn take_words(
                states: &mut States<$word>,
                words: &Words<$word>,
            ) {
                super::super::take_words::<$word, $rounds, _>(Avx2(()), states, words);
            }

            /// # Safety
            /// The processor has AVX2; the streams of all lanes
            /// have the blocks of `row`.
            #[target_feature(enable = "avx2")]
            pub(in super::super) unsafe fn hmac(
                row: &HmacRow<'_, $word>,
                states: &mut States<$word>,
            ) {
                // SAFETY: as the caller promises.
                unsafe { super::super::hmac::<$word, $rounds, _>(Avx2(()), row, states) };
            }
        }
    )*};
}
kernels! {
    /// MD5 in eight lanes.
    md5: Md5, u32;
    /// SHA-1 in eight lanes.
    sha1: Sha1, u32;
    /// SHA-256 in eight lanes.
    sha256: Sha256, u32;
    /// SHA-512 in four lanes.
    sha512: Sha512, u64;
}

macro_rules! bitwise {
    () => {
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: a vector of this type exists only where AVX2 does.
            Self(unsafe { _mm256_xor_si256(self.0, other.0) })
        }

        #[inline(always)]
        fn xor3(self, b: Self, c: Self) -> Self {
            self.xor(b).xor(c)
        }

        #[inline(always)]
        fn choose(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_and_si256(self.0, b.xor(c).0) }).xor(c)
        }

        #[inline(always)]
        fn majority(self, b: Self, c: Self) -> Self {
            self.xor(b).choose(c, b)
        }

        #[inline(always)]
        fn xor_or_not(self, b: Self, c: Self) -> Self {
            // SAFETY: as above. `!(!self & c)` is `self | !c`.
            let not = Self(unsafe { _mm256_andnot_si256(self.0, c.0) });
            // SAFETY: as above.
            let ones = Self(unsafe { _mm256_set1_epi8(-1) });
            not.xor3(ones, b)
        }
    };
}

impl Vector<u32> for U32x8 {
    bitwise!();

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a vector of this type exists only where AVX2 does.
        Self(unsafe { _mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn add_word(self, word: u32) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_add_epi32(self.0, _mm256_set1_epi32(word.cast_signed())) })
    }

    #[inline(always)]
    fn rotate_right<const N: i32>(self) -> Self {
        // SAFETY: as above. The count of the left shift folds to a constant.
        Self(unsafe {
            _mm256_or_si256(
                _mm256_srli_epi32::<N>(self.0),
                _mm256_sll_epi32(self.0, _mm_cvtsi32_si128(32 - N)),
            )
        })
    }

    #[inline(always)]
    fn shift_right<const N: i32>(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_srli_epi32::<N>(self.0) })
    }
}

impl Vector<u64> for U64x4 {
    bitwise!();

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a vector of this type exists only where AVX2 does.
        Self(unsafe { _mm256_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn add_word(self, word: u64) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_add_epi64(self.0, _mm256_set1_epi64x(word.cast_signed())) })
    }

    #[inline(always)]
    fn rotate_right<const N: i32>(self) -> Self {
        // SAFETY: as above. The count of the left shift folds to a constant.
        Self(unsafe {
            _mm256_or_si256(
                _mm256_srli_epi64::<N>(self.0),
                _mm256_sll_epi64(self.0, _mm_cvtsi32_si128(64 - N)),
            )
        })
    }

    #[inline(always)]
    fn shift_right<const N: i32>(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_srli_epi64::<N>(self.0) })
    }
}

impl Isa<u32> for Avx2 {
    type Vector = U32x8;

    #[inline(always)]
    fn load(self, row: &[u32; 16]) -> U32x8 {
        // SAFETY: `self` proves AVX2; 32 bytes are readable.
        U32x8(unsafe { _mm256_loadu_si256(row.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, row: &mut [u32; 16], vector: U32x8) {
        // SAFETY: `self` proves AVX2; 32 bytes are writable.
        unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), vector.0) }
    }

    #[inline(always)]
    unsafe fn load_block(self, streams: &Streams<'_>, at: usize, big_endian: bool) -> [U32x8; 16] {
        // SAFETY: `self` proves AVX2; 64 bytes from `at` are readable in each
        // stream, as the caller promises.
        unsafe {
            let swap = _mm256_broadcastsi128_si256(_mm_set_epi32(
                0x0c0d_0e0f,
                0x0809_0a0b,
                0x0405_0607,
                0x0001_0203,
            ));
            let mut words = [U32x8(_mm256_setzero_si256()); 16];
            for half in [0, 8] {
                let mut rows = [_mm256_setzero_si256(); 8];
                for (row, stream) in rows.iter_mut().zip(streams) {
                    *row = _mm256_loadu_si256(stream.as_ptr().add(at + half * 4).cast());
                    if big_endian {
                        *row = _mm256_shuffle_epi8(*row, swap);
                    }
                }
                // Within each 128-bit half: 4 by 4 words.
                let mut quads = rows;
                for i in [0, 4] {
                    let [r0, r1, r2, r3] = [rows[i], rows[i + 1], rows[i + 2], rows[i + 3]];
                    let low01 = _mm256_unpacklo_epi32(r0, r1);
                    let high01 = _mm256_unpackhi_epi32(r0, r1);
                    let low23 = _mm256_unpacklo_epi32(r2, r3);
                    let high23 = _mm256_unpackhi_epi32(r2, r3);
                    quads[i] = _mm256_unpacklo_epi64(low01, low23);
                    quads[i + 1] = _mm256_unpackhi_epi64(low01, low23);
                    quads[i + 2] = _mm256_unpacklo_epi64(high01, high23);
                    quads[i + 3] = _mm256_unpackhi_epi64(high01, high23);
                }
                // Then 2 by 2 halves.
                for i in 0..4 {
                    let [low, high] = transpose_halves([quads[i], quads[i + 4]]);
                    words[half + i] = U32x8(low);
                    words[half + i + 4] = U32x8(high);
                }
            }
            words
        }
    }
}

impl Isa<u64> for Avx2 {
    type Vector = U64x4;

    #[inline(always)]
    fn load(self, row: &[u64; 16]) -> U64x4 {
        // SAFETY: `self` proves AVX2; 32 bytes are readable.
        U64x4(unsafe { _mm256_loadu_si256(row.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, row: &mut [u64; 16], vector: U64x4) {
        // SAFETY: `self` proves AVX2; 32 bytes are writable.
        unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), vector.0) }
    }

    #[inline(always)]
    unsafe fn load_block(self, streams: &Streams<'_>, at: usize, big_endian: bool) -> [U64x4; 16] {
        // SAFETY: `self` proves AVX2; 128 bytes from `at` are readable in each
        // stream, as the caller promises.
        unsafe {
            let swap = _mm256_broadcastsi128_si256(_mm_set_epi32(
                0x0809_0a0b,
                0x0c0d_0e0f,
                0x0001_0203,
                0x0405_0607,
            ));
            let mut words = [U64x4(_mm256_setzero_si256()); 16];
            for first in [0, 4, 8, 12] {
                let mut rows = [_mm256_setzero_si256(); 4];
                for (row, stream) in rows.iter_mut().zip(streams) {
                    *row = _mm256_loadu_si256(stream.as_ptr().add(at + first * 8).cast());
                    if big_endian {
                        *row = _mm256_shuffle_epi8(*row, swap);
                    }
                }
                let (mut even, mut odd) = ([rows[0]; 2], [rows[0]; 2]);
                for (i, [a, b]) in rows.as_chunks().0.iter().enumerate() {
                    even[i] = _mm256_unpacklo_epi64(*a, *b);
                    odd[i] = _mm256_unpackhi_epi64(*a, *b);
                }
                let even = transpose_halves(even);
                let odd = transpose_halves(odd);
                words[first] = U64x4(even[0]);
                words[first + 1] = U64x4(odd[0]);
                words[first + 2] = U64x4(even[1]);
                words[first + 3] = U64x4(odd[1]);
            }
            words
        }
    }
}

/// Turns 2 vectors of 2 halves (of 128 bits) about the diagonal.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn transpose_halves([a, b]: [__m256i; 2]) -> [__m256i; 2] {
    // SAFETY: as the caller promises.
    unsafe {
        [
            _mm256_permute2x128_si256::<0x20>(a, b),
            _mm256_permute2x128_si256::<0x31>(a, b),
        ]
    }
}
