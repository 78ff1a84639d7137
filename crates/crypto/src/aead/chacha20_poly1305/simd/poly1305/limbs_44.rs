//! Limbs of 44, 44 and 42 bits, for products of 52 bits.
//!
//! The instructions return the low 52 bits of a product or those above, which weigh
//! 2⁵² = 2⁸·2⁴⁴: they go to the next limb, eight bits up. Limbs are below 2⁴⁶ and those of
//! multipliers below 2⁴⁹, so that six low halves are below 2⁵⁵, six high ones below 2⁴⁶, and
//! 20·2⁸ times that below 2⁵⁹.

use super::{Field, low_bits};
use crate::simd::vector::{Avx512, Isa, Vector, Vector512};

#[derive(Clone, Copy)]
pub(in super::super) struct Limbs44;

/// Sums of low and of high halves of products.
#[derive(Clone, Copy)]
pub(in super::super) struct Halves {
    low: Vector512,
    high: Vector512,
}

impl Field<3> for Limbs44 {
    type Isa = Avx512;
    type Vector = Vector512;
    type Sum = Halves;

    const BITS: i32 = 44;

    #[inline(always)]
    fn no_products(isa: Avx512) -> Halves {
        Halves {
            low: isa.zero(),
            high: isa.zero(),
        }
    }

    #[inline(always)]
    fn add_product(sum: Halves, x: Vector512, y: Vector512) -> Halves {
        Halves {
            low: sum.low.add_low_52(x, y),
            high: sum.high.add_high_52(x, y),
        }
    }

    /// Limbs that are longer than their length by what the one below passes on, and no more. No
    /// limb waits for another.
    #[inline(always)]
    fn reduce([a, b, c]: [Halves; 3]) -> [Vector512; 3] {
        let isa = a.low.isa();
        let (up, around) = (isa.all_64(1 << 8), isa.all_64(20 << 8));
        let [a, b, c] = [
            a.low.add_low_52(c.high, around),
            b.low.add_low_52(a.high, up),
            c.low.add_low_52(b.high, up),
        ];
        let low_44 = low_bits(isa, 44);
        [
            a.and(low_44)
                .add_low_52(c.shift_right_64(42), isa.all_64(5)),
            b.and(low_44).add_64(a.shift_right_64(44)),
            c.and(low_bits(isa, 42)).add_64(b.shift_right_64(44)),
        ]
    }
}
