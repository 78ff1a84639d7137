//! GHASH in vectors: products are summed up unreduced and reduced once.
//!
//! ```text
//! factors          a₁ a₀          b₁ b₀         (64 bits each, in every 128-bit lane)
//! low              a₀b₀
//! middle                a₁b₀ + a₀b₁             counts 64 bits higher
//! high                        a₁b₁              counts 128 bits higher
//! ```
//!
//! The reduction is that of Gueron and Kounavis as POLYVAL has it: two folds of
//! 64 bits from below by one multiplication each, no shift of the product.

use std::arch::asm;
use std::arch::x86_64::*;

/// Sums of unreduced products, lane by lane.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    low: __m512i,
    middle: __m512i,
    high: __m512i,
}

/// The upper half of the field's polynomial.
const POLYNOMIAL: i64 = 0xc200_0000_0000_0000_u64 as i64;

/// a ⊕ b ⊕ c.
const XOR3: i32 = 0x96;

impl Sums {
    /// No products.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn zero() -> Sums {
        let zero = _mm512_setzero_si512();
        Sums {
            low: zero,
            middle: zero,
            high: zero,
        }
    }

    /// As the function of this name.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn in_order(&mut self) {
        in_order(std::slice::from_mut(&mut self.low));
        in_order(std::slice::from_mut(&mut self.middle));
        in_order(std::slice::from_mut(&mut self.high));
    }

    /// The products `x`·`power`.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn of(x: __m512i, power: __m512i) -> Sums {
        Sums {
            low: _mm512_clmulepi64_epi128::<0x00>(x, power),
            middle: _mm512_xor_si512(
                _mm512_clmulepi64_epi128::<0x01>(x, power),
                _mm512_clmulepi64_epi128::<0x10>(x, power),
            ),
            high: _mm512_clmulepi64_epi128::<0x11>(x, power),
        }
    }

    /// The products `x`·`power` of two lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,vpclmulqdq")]
    pub(super) fn of_half(x: __m256i, power: __m256i) -> Sums {
        let middle = _mm256_xor_si256(
            _mm256_clmulepi64_epi128::<0x01>(x, power),
            _mm256_clmulepi64_epi128::<0x10>(x, power),
        );
        Sums {
            low: _mm512_zextsi256_si512(_mm256_clmulepi64_epi128::<0x00>(x, power)),
            middle: _mm512_zextsi256_si512(middle),
            high: _mm512_zextsi256_si512(_mm256_clmulepi64_epi128::<0x11>(x, power)),
        }
    }

    /// Adds the products `x`·`power`.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn add(&mut self, x: __m512i, power: __m512i) {
        self.low = _mm512_xor_si512(self.low, _mm512_clmulepi64_epi128::<0x00>(x, power));
        self.high = _mm512_xor_si512(self.high, _mm512_clmulepi64_epi128::<0x11>(x, power));
        self.middle = _mm512_ternarylogic_epi64::<XOR3>(
            self.middle,
            _mm512_clmulepi64_epi128::<0x01>(x, power),
            _mm512_clmulepi64_epi128::<0x10>(x, power),
        );
    }

    /// Adds the products of two elements and powers at once: what is added takes
    /// as long as what is multiplied.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn add_two(&mut self, [x, y]: [__m512i; 2], [p, q]: [__m512i; 2]) {
        self.low = _mm512_ternarylogic_epi64::<XOR3>(
            self.low,
            _mm512_clmulepi64_epi128::<0x00>(x, p),
            _mm512_clmulepi64_epi128::<0x00>(y, q),
        );
        self.high = _mm512_ternarylogic_epi64::<XOR3>(
            self.high,
            _mm512_clmulepi64_epi128::<0x11>(x, p),
            _mm512_clmulepi64_epi128::<0x11>(y, q),
        );
        for (x, p) in [(x, p), (y, q)] {
            self.middle = _mm512_ternarylogic_epi64::<XOR3>(
                self.middle,
                _mm512_clmulepi64_epi128::<0x01>(x, p),
                _mm512_clmulepi64_epi128::<0x10>(x, p),
            );
        }
    }

    /// Adds the products `x`·`power` of two lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,vpclmulqdq")]
    pub(super) fn add_half(&mut self, x: __m256i, power: __m256i) {
        let half = Sums::of_half(x, power);
        self.low = _mm512_xor_si512(self.low, half.low);
        self.middle = _mm512_xor_si512(self.middle, half.middle);
        self.high = _mm512_xor_si512(self.high, half.high);
    }

    /// Each lane reduced by itself.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    pub(super) fn reduce_lanes(self) -> __m512i {
        let low = _mm512_xor_si512(self.low, _mm512_bslli_epi128::<8>(self.middle));
        let high = _mm512_xor_si512(self.high, _mm512_bsrli_epi128::<8>(self.middle));
        let polynomial = _mm512_set1_epi64(POLYNOMIAL);
        let fold = _mm512_clmulepi64_epi128::<0x00>(low, polynomial);
        let low = _mm512_xor_si512(_mm512_shuffle_epi32::<0x4e>(low), fold);
        let fold = _mm512_clmulepi64_epi128::<0x00>(low, polynomial);
        _mm512_ternarylogic_epi64::<XOR3>(_mm512_shuffle_epi32::<0x4e>(low), fold, high)
    }

    /// All lanes of the i-th sums added up in lane i.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn add_up(sums: [Sums; 4]) -> Sums {
        let [a, b, c, d] = sums;
        Sums {
            low: add_lanes_of_four(a.low, b.low, c.low, d.low),
            middle: add_lanes_of_four(a.middle, b.middle, c.middle, d.middle),
            high: add_lanes_of_four(a.high, b.high, c.high, d.high),
        }
    }

    /// All lanes added up and reduced.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,pclmulqdq,sse2")]
    pub(super) fn reduce(self) -> __m128i {
        let middle = add_lanes(self.middle);
        let low = _mm_xor_si128(add_lanes(self.low), _mm_slli_si128::<8>(middle));
        let high = _mm_xor_si128(add_lanes(self.high), _mm_srli_si128::<8>(middle));
        let polynomial = _mm_set1_epi64x(POLYNOMIAL);
        let fold = _mm_clmulepi64_si128::<0x00>(low, polynomial);
        let low = _mm_xor_si128(_mm_shuffle_epi32::<0x4e>(low), fold);
        let fold = _mm_clmulepi64_si128::<0x00>(low, polynomial);
        _mm_ternarylogic_epi64::<XOR3>(_mm_shuffle_epi32::<0x4e>(low), fold, high)
    }
}

/// Sums of unreduced products by Karatsuba's method, lane by lane: three
/// multiplications for one, and some operations that are cheaper. A multiplication of
/// four lanes keeps its unit busy for three cycles on Zen 4.
#[derive(Clone, Copy)]
pub(super) struct KaratsubaSums {
    low: __m512i,
    /// (a₀ + a₁)(b₀ + b₁).
    both: __m512i,
    high: __m512i,
}

impl KaratsubaSums {
    /// No products.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn zero() -> KaratsubaSums {
        let zero = _mm512_setzero_si512();
        KaratsubaSums {
            low: zero,
            both: zero,
            high: zero,
        }
    }

    /// Adds the products `x`·`power`.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn add(&mut self, x: __m512i, power: __m512i) {
        let of_halves = |x| _mm512_xor_si512(x, _mm512_shuffle_epi32::<0x4e>(x));
        let both = _mm512_clmulepi64_epi128::<0x00>(of_halves(x), of_halves(power));
        self.low = _mm512_xor_si512(self.low, _mm512_clmulepi64_epi128::<0x00>(x, power));
        self.both = _mm512_xor_si512(self.both, both);
        self.high = _mm512_xor_si512(self.high, _mm512_clmulepi64_epi128::<0x11>(x, power));
    }

    /// As the function of this name.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn in_order(&mut self) {
        in_order(std::slice::from_mut(&mut self.low));
        in_order(std::slice::from_mut(&mut self.both));
        in_order(std::slice::from_mut(&mut self.high));
    }

    /// The same sums with their middle parts.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn sums(self) -> Sums {
        Sums {
            low: self.low,
            middle: _mm512_ternarylogic_epi64::<XOR3>(self.both, self.low, self.high),
            high: self.high,
        }
    }
}

/// Lets these values be computed behind those that were said to be in order
/// before, and in front of those that will be.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn in_order(values: &mut [__m512i]) {
    for value in values {
        // SAFETY: there is no instruction, only the claim that the value changes.
        unsafe {
            asm!(
                "/* {} */",
                inout(zmm_reg) * value,
                options(nomem, nostack, preserves_flags)
            );
        }
    }
}

/// The same number, known behind what was said to be in order before: what is loaded
/// from there is loaded in its turn. The compiler, left to itself, would load all of a
/// loop before it computes anything, for which there are not enough registers.
#[inline]
pub(super) fn in_turn(number: usize) -> usize {
    let mut number = number;
    // SAFETY: there is no instruction, only the claim that the number changes, which
    // is held against nothing but itself.
    unsafe {
        asm!(
            "/* {} */",
            inout(reg) number,
            options(nomem, nostack, preserves_flags)
        );
    }
    number
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn add_lanes(x: __m512i) -> __m128i {
    let halves = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x));
    _mm_xor_si128(
        _mm256_castsi256_si128(halves),
        _mm256_extracti128_si256::<1>(halves),
    )
}

/// ```text
/// a₀+a₂  a₁+a₃  b₀+b₂  b₁+b₃        c₀+c₂  c₁+c₃  d₀+d₂  d₁+d₃
/// even lanes of both plus odd lanes of both:  a  b  c  d
/// ```
#[inline]
#[target_feature(enable = "avx512f")]
fn add_lanes_of_four(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> __m512i {
    let ab = _mm512_xor_si512(
        _mm512_shuffle_i32x4::<0x44>(a, b),
        _mm512_shuffle_i32x4::<0xee>(a, b),
    );
    let cd = _mm512_xor_si512(
        _mm512_shuffle_i32x4::<0x44>(c, d),
        _mm512_shuffle_i32x4::<0xee>(c, d),
    );
    _mm512_xor_si512(
        _mm512_shuffle_i32x4::<0x88>(ab, cd),
        _mm512_shuffle_i32x4::<0xdd>(ab, cd),
    )
}

/// The product lane by lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
pub(super) fn product(x: __m512i, y: __m512i) -> __m512i {
    Sums::of(x, y).reduce_lanes()
}

/// The square lane by lane, which has no middle part.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
pub(super) fn square(x: __m512i) -> __m512i {
    let sums = Sums {
        low: _mm512_clmulepi64_epi128::<0x00>(x, x),
        middle: _mm512_setzero_si512(),
        high: _mm512_clmulepi64_epi128::<0x11>(x, x),
    };
    sums.reduce_lanes()
}

/// The hash keys of four encrypted zero blocks: their numbers, times x.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn hash_keys(encrypted_zeros: __m512i) -> __m512i {
    let h = reverse(encrypted_zeros);
    let carries = _mm512_bslli_epi128::<8>(_mm512_srli_epi64::<63>(h));
    let top = _mm512_srai_epi32::<31>(_mm512_shuffle_epi32::<0xff>(h));
    let reduction = _mm512_and_si512(top, _mm512_set4_epi32(0xc200_0000_u32 as i32, 0, 0, 1));
    _mm512_ternarylogic_epi64::<XOR3>(_mm512_slli_epi64::<1>(h), carries, reduction)
}

/// Turns blocks into field elements and back: the bytes of each lane reversed.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn reverse(blocks: __m512i) -> __m512i {
    let order = _mm512_set4_epi32(0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f);
    _mm512_shuffle_epi8(blocks, order)
}

/// As [`reverse`], for one block.
#[inline]
#[target_feature(enable = "ssse3")]
pub(super) fn reverse_one(block: __m128i) -> __m128i {
    _mm_shuffle_epi8(
        block,
        _mm_set_epi32(0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f),
    )
}
