//! GHASH with one carry-less multiplication unit: products are summed up
//! unreduced and reduced once. [`super::super::avx512`] has the layout.

use std::arch::x86_64::*;

/// Sums of unreduced products.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    low: __m128i,
    middle: __m128i,
    high: __m128i,
}

/// The upper half of the field's polynomial.
const POLYNOMIAL: i64 = 0xc200_0000_0000_0000_u64 as i64;

impl Sums {
    /// No products.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn zero() -> Sums {
        let zero = _mm_setzero_si128();
        Sums {
            low: zero,
            middle: zero,
            high: zero,
        }
    }

    /// Adds the product `x`·`power`.
    #[inline]
    #[target_feature(enable = "sse2,pclmulqdq")]
    pub(super) fn add(&mut self, x: __m128i, power: __m128i) {
        let middle = _mm_xor_si128(
            _mm_clmulepi64_si128::<0x01>(x, power),
            _mm_clmulepi64_si128::<0x10>(x, power),
        );
        self.low = _mm_xor_si128(self.low, _mm_clmulepi64_si128::<0x00>(x, power));
        self.middle = _mm_xor_si128(self.middle, middle);
        self.high = _mm_xor_si128(self.high, _mm_clmulepi64_si128::<0x11>(x, power));
    }

    /// The sum modulo the polynomial.
    #[inline]
    #[target_feature(enable = "sse2,pclmulqdq")]
    pub(super) fn reduce(self) -> __m128i {
        let low = _mm_xor_si128(self.low, _mm_slli_si128::<8>(self.middle));
        let high = _mm_xor_si128(self.high, _mm_srli_si128::<8>(self.middle));
        let polynomial = _mm_set1_epi64x(POLYNOMIAL);
        let fold = _mm_clmulepi64_si128::<0x00>(low, polynomial);
        let low = _mm_xor_si128(_mm_shuffle_epi32::<0x4e>(low), fold);
        let fold = _mm_clmulepi64_si128::<0x00>(low, polynomial);
        let low = _mm_xor_si128(_mm_shuffle_epi32::<0x4e>(low), fold);
        _mm_xor_si128(low, high)
    }
}

#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
pub(super) fn product(x: __m128i, y: __m128i) -> __m128i {
    let mut sums = Sums::zero();
    sums.add(x, y);
    sums.reduce()
}

/// The hash key of an encrypted zero block: its number, times x.
#[inline]
#[target_feature(enable = "ssse3")]
pub(super) fn hash_key(encrypted_zero: __m128i) -> __m128i {
    let h = reverse(encrypted_zero);
    let carries = _mm_slli_si128::<8>(_mm_srli_epi64::<63>(h));
    let top = _mm_srai_epi32::<31>(_mm_shuffle_epi32::<0xff>(h));
    let reduction = _mm_and_si128(top, _mm_set_epi32(0xc200_0000_u32 as i32, 0, 0, 1));
    _mm_xor_si128(_mm_or_si128(_mm_slli_epi64::<1>(h), carries), reduction)
}

/// Turns a block into a field element and back: its bytes reversed.
#[inline]
#[target_feature(enable = "ssse3")]
pub(super) fn reverse(block: __m128i) -> __m128i {
    let order = _mm_set_epi32(0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f);
    _mm_shuffle_epi8(block, order)
}
