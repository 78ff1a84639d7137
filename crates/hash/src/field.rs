//! Arithmetic modulo pseudo-Mersenne primes.

use crate::seed::SeedStream;

/// The integers modulo p = 2^`BITS` - `C`, p a prime, `BITS` at most 63.
///
/// As 2^`BITS` ≡ `C` (mod p), the part of a number above bit `BITS` may be
/// folded back, multiplied by `C`, without a division (Crandall, US patent
/// 5,159,632; a Mersenne prime has `C` = 1).
pub(crate) struct PseudoMersenne<const BITS: u32, const C: u64>;

/// p = 2³¹ - 1.
pub(crate) type Mersenne31 = PseudoMersenne<31, 1>;
/// p = 2⁶¹ - 1.
pub(crate) type Mersenne61 = PseudoMersenne<61, 1>;
/// p = 2⁴⁴ - 17: all that a product of two of its numbers leaves after one fold
/// fits the 52-bit lanes of the processor's multiply-add.
pub(crate) type Prime44 = PseudoMersenne<44, 17>;

impl<const BITS: u32, const C: u64> PseudoMersenne<BITS, C> {
    /// The prime.
    pub const P: u64 = (1 << BITS) - C;

    /// `x` mod p.
    #[inline]
    pub fn reduce(mut x: u128) -> u64 {
        while x >> BITS != 0 {
            x = (x & ((1 << BITS) - 1)) + (x >> BITS) * u128::from(C);
        }
        let x = x as u64;
        if x >= Self::P { x - Self::P } else { x }
    }

    /// `a`·`x` + `b` mod p.
    #[inline]
    pub fn multiply_add(a: u64, x: u64, b: u64) -> u64 {
        Self::reduce(u128::from(a) * u128::from(x) + u128::from(b))
    }

    /// c₀ + c₁x + c₂x² + … mod p, by Horner's rule.
    #[inline]
    pub fn polynomial(coefficients: &[u64], x: u64) -> u64 {
        coefficients
            .iter()
            .rev()
            .fold(0, |sum, c| Self::multiply_add(sum, x, *c))
    }

    /// x₀ + Σ aᵢxᵢ mod p, i from 1: the first word stands as it is.
    ///
    /// **Property.** Over uniform aᵢ, different keys (of words below p) get the
    /// same number with probability at most 1/p: where they differ in the first
    /// word only, never; else the aᵢ of a word that differs decides.
    #[inline]
    pub fn condense(multipliers: &[u64], key: &[u32]) -> u64 {
        let Some((first, rest)) = key.split_first() else {
            return 0;
        };
        let products = multipliers.iter().zip(rest);
        Self::reduce(products.fold(u128::from(*first), |sum, (a, x)| {
            sum + u128::from(*a) * u128::from(*x)
        }))
    }

    /// ⌊`x`·`width` / 2^`BITS`⌋: a number of the field to one of `width`
    /// buckets.
    #[inline]
    pub fn scale(x: u64, width: u32) -> u32 {
        ((u128::from(x) * u128::from(width)) >> BITS) as u32
    }

    /// A uniform number of the field.
    pub fn draw(stream: &mut SeedStream) -> u64 {
        loop {
            let x = stream.next_bits(BITS);
            if x < Self::P {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reduces<const BITS: u32, const C: u64>(x: u128) {
        let p = PseudoMersenne::<BITS, C>::P;
        let folded = PseudoMersenne::<BITS, C>::reduce(x);
        assert_eq!(u128::from(folded), x % u128::from(p), "{x} mod {p}");
    }

    #[test]
    fn reduction_at_the_limits() {
        for around in [
            0,
            13,
            (1 << 31) - 1,
            (1 << 44) - 17,
            (1 << 61) - 1,
            1 << 122,
        ] {
            for x in [around, around + 1, 2 * around, u128::MAX / 8 - around] {
                reduces::<4, 3>(x);
                reduces::<31, 1>(x);
                reduces::<44, 17>(x);
                reduces::<61, 1>(x);
            }
        }
    }

    /// 1 + 2·3 + 3·9 = 34, and modulo 13 it is 8.
    #[test]
    fn polynomial_worked_out_by_hand() {
        assert_eq!(Mersenne31::polynomial(&[1, 2, 3], 3), 34);
        assert_eq!(PseudoMersenne::<4, 3>::polynomial(&[1, 2, 3], 3), 8);
        assert_eq!(Prime44::condense(&[2, 3], &[5, 7, 1, 9]), 5 + 14 + 3);
        assert_eq!(Mersenne61::condense(&[], &[]), 0);
    }

    proptest! {
        #[test]
        fn reduction_is_the_remainder(x in 0..u128::MAX / 128) {
            reduces::<31, 1>(x);
            reduces::<44, 17>(x);
            reduces::<61, 1>(x);
        }
    }
}
