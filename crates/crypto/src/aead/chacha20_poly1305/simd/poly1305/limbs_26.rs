//! Five limbs of 26 bits, for products of 32 bits.
//!
//! Limbs of x are below 2²⁸ and those of a multiplier below 2³⁰, so that the ten products of a
//! limb are below 2⁶².

use super::{Field, five_times, low_bits};
use crate::simd::vector::{Isa, Vector};

#[derive(Clone, Copy)]
pub(in super::super) struct Limbs26<I>(I);

impl<I: Isa> Field<5> for Limbs26<I> {
    type Isa = I;
    type Vector = I::Vector;
    type Sum = I::Vector;

    const BITS: i32 = 26;

    #[inline(always)]
    fn no_products(isa: I) -> I::Vector {
        isa.zero()
    }

    #[inline(always)]
    fn add_product(sum: I::Vector, x: I::Vector, y: I::Vector) -> I::Vector {
        sum.add_64(x.multiply_32(y))
    }

    /// Limbs below 2²⁷.
    ///
    /// ```text
    /// 0 → 1, 3 → 4;  1 → 2, 4 → 0 (times 5);  2 → 3, 0 → 1;  3 → 4
    /// ```
    #[inline(always)]
    fn reduce([mut a, mut b, mut c, mut d, mut e]: [I::Vector; 5]) -> [I::Vector; 5] {
        let low = low_bits(a.isa(), 26);
        b = b.add_64(a.shift_right_64(26));
        a = a.and(low);
        e = e.add_64(d.shift_right_64(26));
        d = d.and(low);
        c = c.add_64(b.shift_right_64(26));
        b = b.and(low);
        a = a.add_64(five_times(e.shift_right_64(26)));
        e = e.and(low);
        d = d.add_64(c.shift_right_64(26));
        c = c.and(low);
        b = b.add_64(a.shift_right_64(26));
        a = a.and(low);
        e = e.add_64(d.shift_right_64(26));
        d = d.and(low);
        [a, b, c, d, e]
    }
}
