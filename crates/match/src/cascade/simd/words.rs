//! Words of a table by vectors of indices.
//!
//! On Zen 4 a gather of 16 words takes 30 cycles; indices that go through
//! general registers and words that are inserted one by one take 20.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// A filter's words: a power of two of them, and the shift that makes an index
/// of a hash.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    words: &'a [u32],
    shift: u32,
}

impl<'a> Words<'a> {
    #[inline(always)]
    pub(super) fn new(words: &'a [u32], shift: u32) -> Words<'a> {
        assert!(shift < 32 && words.len() == 1 << (32 - shift));
        Words { words, shift }
    }

    /// The word of an index that `shift` left of 32 bits.
    #[inline(always)]
    fn word(self, index: u64) -> u32 {
        // SAFETY: an index is what `shift` leaves of 32 bits, and there is a
        // word for each of these values.
        unsafe { *self.words.get_unchecked(index as usize) }
    }
}

#[cfg(target_arch = "aarch64")]
impl Words<'_> {
    /// The words of 4 hashes.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn of_4(self, hashes: uint32x4_t) -> uint32x4_t {
        let indices = vshlq_u32(hashes, vdupq_n_s32(-(self.shift as i32)));
        let pairs = vreinterpretq_u64_u32(indices);
        let (one, two) = (vgetq_lane_u64::<0>(pairs), vgetq_lane_u64::<1>(pairs));
        let words = vdupq_n_u32(self.word(one & 0xffff_ffff));
        let words = vsetq_lane_u32::<1>(self.word(one >> 32), words);
        let words = vsetq_lane_u32::<2>(self.word(two & 0xffff_ffff), words);
        vsetq_lane_u32::<3>(self.word(two >> 32), words)
    }
}

#[cfg(target_arch = "x86_64")]
impl Words<'_> {
    #[inline]
    #[target_feature(enable = "sse2")]
    fn count(self) -> __m128i {
        _mm_cvtsi32_si128(self.shift as i32)
    }

    /// The words of 16 hashes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    pub(super) fn of_16(self, hashes: __m512i) -> __m512i {
        let indices = _mm512_srl_epi32(hashes, self.count());
        let low = self.at_8(_mm512_castsi512_si256(indices));
        let high = self.at_8(_mm512_extracti64x4_epi64::<1>(indices));
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
    }

    /// The words of 8 hashes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn of_8(self, hashes: __m256i) -> __m256i {
        self.at_8(_mm256_srl_epi32(hashes, self.count()))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn at_8(self, indices: __m256i) -> __m256i {
        let low = self.at_4(_mm256_castsi256_si128(indices));
        let high = self.at_4(_mm256_extracti128_si256::<1>(indices));
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn at_4(self, indices: __m128i) -> __m128i {
        let (one, two) = (
            _mm_cvtsi128_si64(indices) as u64,
            _mm_extract_epi64::<1>(indices) as u64,
        );
        let word = |index| self.word(index) as i32;
        let words = _mm_cvtsi32_si128(word(one & 0xffff_ffff));
        let words = _mm_insert_epi32::<1>(words, word(one >> 32));
        let words = _mm_insert_epi32::<2>(words, word(two & 0xffff_ffff));
        _mm_insert_epi32::<3>(words, word(two >> 32))
    }
}
