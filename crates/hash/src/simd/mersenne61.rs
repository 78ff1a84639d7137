//! Numbers modulo p = 2⁶¹ - 1 in 64-bit lanes, by 52-bit multiply-adds.
//!
//! Factors a and b below 2⁶¹ have parts of 52 and 9 bits, and where each product of
//! two parts goes is one multiply-add:
//!
//! ```text
//! a·b    = a₁b₁·2¹⁰⁴ + (a₁b₀ + a₀b₁)·2⁵² + a₀b₀
//! low    ← low 52 bits of a₀b₀
//! middle ← high bits of a₀b₀, low 52 bits of a₁b₀ and a₀b₁             times 2⁵²
//! high   ← high bits of a₁b₀ and a₀b₁, a₁b₁          times 2¹⁰⁴ ≡ 2⁴³ (mod p)
//! ```
//!
//! The instruction reads the low 52 bits of its factors, so that a number is its own
//! low part.

use std::arch::x86_64::*;

use super::avx512::set1;
use crate::field::Mersenne61;

/// A factor below 2⁶¹.
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    whole: __m512i,
    high: __m512i,
}

impl Factor {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn new(whole: __m512i) -> Factor {
        Factor {
            whole,
            high: _mm512_srli_epi64::<52>(whole),
        }
    }

    /// The same in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn set1(x: u64) -> Factor {
        Factor {
            whole: set1(x),
            high: set1(x >> 52),
        }
    }
}

/// A number below 2⁶¹ and products added to it: up to ten of a factor and a word of 32
/// bits, or one of two factors.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    low: __m512i,
    middle: __m512i,
    high: __m512i,
}

impl Sum {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn new(addend: __m512i) -> Sum {
        Sum {
            low: addend,
            middle: _mm512_setzero_si512(),
            high: _mm512_setzero_si512(),
        }
    }

    /// Adds `a`·`word`, `word` below 2³².
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn add_word(self, a: Factor, word: __m512i) -> Sum {
        let middle = _mm512_madd52hi_epu64(self.middle, a.whole, word);
        Sum {
            low: _mm512_madd52lo_epu64(self.low, a.whole, word),
            middle: _mm512_madd52lo_epu64(middle, a.high, word),
            high: self.high,
        }
    }

    /// Adds `a`·`b`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn add(self, a: Factor, b: Factor) -> Sum {
        let middle = _mm512_madd52hi_epu64(self.middle, a.whole, b.whole);
        let middle = _mm512_madd52lo_epu64(middle, a.high, b.whole);
        let high = _mm512_madd52hi_epu64(self.high, a.high, b.whole);
        let high = _mm512_madd52hi_epu64(high, a.whole, b.high);
        Sum {
            low: _mm512_madd52lo_epu64(self.low, a.whole, b.whole),
            middle: _mm512_madd52lo_epu64(middle, a.whole, b.high),
            high: _mm512_madd52lo_epu64(high, a.high, b.high),
        }
    }

    /// The residue, exactly. `low` is below 2⁶¹ + 10·2⁵², `middle` below 3·2⁵², `high`
    /// below 2¹⁸, so that all of them come to less than 4·2⁶¹, which folds to at most
    /// p + 3.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn reduce(self) -> __m512i {
        let middle = _mm512_add_epi64(
            _mm512_slli_epi64::<52>(_mm512_and_si512(self.middle, set1(0x1ff))),
            _mm512_srli_epi64::<9>(self.middle),
        );
        let high = _mm512_slli_epi64::<43>(self.high);
        let t = _mm512_add_epi64(_mm512_add_epi64(self.low, middle), high);
        let p = set1(Mersenne61::P);
        let t = _mm512_add_epi64(_mm512_and_si512(t, p), _mm512_srli_epi64::<61>(t));
        // Wraps to a huge number, and loses, where t < p.
        _mm512_min_epu64(t, _mm512_sub_epi64(t, p))
    }
}

/// ⌊`x`·`width` / 2⁶¹⌋ for `x` below 2⁶¹: of x = x₁·2⁵² + x₀ that is
/// ⌊(x₁·width + ⌊x₀·width / 2⁵²⌋) / 2⁹⌋.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn scale(x: __m512i, width: __m512i) -> __m512i {
    let above = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, width);
    let above = _mm512_madd52lo_epu64(above, _mm512_srli_epi64::<52>(x), width);
    _mm512_srli_epi64::<9>(above)
}
