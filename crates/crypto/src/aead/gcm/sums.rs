//! GHASH with carry-less multiplications: products are summed up unreduced and reduced once.
//!
//! ```text
//! factors          a₁ a₀          b₁ b₀         (64 bits each, in every block)
//! low              a₀b₀
//! crossed               a₁b₀ + a₀b₁             counts 64 bits higher
//! high                        a₁b₁              counts 128 bits higher
//! ```
//!
//! The reduction is that of Gueron and Kounavis as POLYVAL has it: two folds of
//! 64 bits from below by one multiplication each, no shift of the product.
//! [`crate::aead::gcm::field`] is the scalar reference.

use crate::cipher::Block;
use crate::cipher::simd::{self, AesUnit};

use super::field::hash_key;

/// Sums of unreduced products.
#[derive(Clone, Copy)]
pub(super) struct Sums<U: AesUnit> {
    low: U::Vector,
    crossed: U::Vector,
    high: U::Vector,
}

/// The upper half of the field's polynomial, in front of zeros.
const POLYNOMIAL: Block = 0xc200_0000_0000_0000_u128.to_le_bytes();

impl<U: AesUnit> Sums<U> {
    /// No products.
    #[inline(always)]
    pub(super) fn zero(unit: U) -> Sums<U> {
        let zero = unit.zero();
        Sums {
            low: zero,
            crossed: zero,
            high: zero,
        }
    }

    /// Adds the product `x`·`power`.
    #[inline(always)]
    pub(super) fn add(&mut self, unit: U, x: U::Vector, power: U::Vector) {
        self.low = unit.xor(self.low, unit.multiply_low(x, power));
        self.crossed = unit.xor(self.crossed, unit.multiply_crossed(x, power));
        self.high = unit.xor(self.high, unit.multiply_high(x, power));
    }

    /// The sum modulo the polynomial.
    #[inline(always)]
    pub(super) fn reduce(self, unit: U) -> U::Vector {
        let low = unit.xor(self.low, unit.up_a_half(self.crossed));
        let high = unit.xor(self.high, unit.down_a_half(self.crossed));
        unit.xor(fold(unit, fold(unit, low)), high)
    }
}

/// Half a Montgomery step: moves the lower 64 bits up by 64.
#[inline(always)]
fn fold<U: AesUnit>(unit: U, x: U::Vector) -> U::Vector {
    let product = unit.multiply_low(x, unit.broadcast(&POLYNOMIAL));
    unit.xor(unit.swap_halves(x), product)
}

#[inline(always)]
pub(super) fn product<U: AesUnit>(unit: U, x: U::Vector, y: U::Vector) -> U::Vector {
    let mut sums = Sums::zero(unit);
    sums.add(unit, x, y);
    sums.reduce(unit)
}

/// Fills `table` with powers of the hash key that belongs to `round_keys`, highest first.
#[inline(always)]
pub(super) fn fill_powers<U: AesUnit>(unit: U, round_keys: &[Block], table: &mut [Block]) {
    let mut zero = [unit.zero()];
    simd::encrypt(unit, round_keys, &mut zero);
    let h = hash_key(unit.first(zero[0])).to_le_bytes();
    let h = unit.broadcast(&h);
    let mut power = h;
    for block in table.iter_mut().rev() {
        unit.store_first(power, block);
        power = product(unit, power, h);
    }
}
