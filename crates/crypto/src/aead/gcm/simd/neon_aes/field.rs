//! GHASH with PMULL and PMULL2: products are summed up unreduced and reduced
//! once. [`crate::aead::gcm::field`] says what a product is.

use std::arch::aarch64::*;

/// Sums of unreduced products.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    low: uint8x16_t,
    middle: uint8x16_t,
    high: uint8x16_t,
}

/// The upper half of the field's polynomial.
const POLYNOMIAL: u64 = 0xc200_0000_0000_0000;

impl Sums {
    /// No products.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn zero() -> Sums {
        let zero = vdupq_n_u8(0);
        Sums {
            low: zero,
            middle: zero,
            high: zero,
        }
    }

    /// Adds the product `x`·`power`.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    pub(super) fn add(&mut self, x: uint8x16_t, power: uint8x16_t) {
        let crossed = swap_halves(power);
        let middle = veorq_u8(multiply_low(x, crossed), multiply_high(x, crossed));
        self.low = veorq_u8(self.low, multiply_low(x, power));
        self.middle = veorq_u8(self.middle, middle);
        self.high = veorq_u8(self.high, multiply_high(x, power));
    }

    /// The sum modulo the polynomial.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    pub(super) fn reduce(self) -> uint8x16_t {
        let zero = vdupq_n_u8(0);
        let low = veorq_u8(self.low, vextq_u8::<8>(zero, self.middle));
        let high = veorq_u8(self.high, vextq_u8::<8>(self.middle, zero));
        veorq_u8(fold(fold(low)), high)
    }
}

/// Half a Montgomery step: moves the lower 64 bits up by 64.
#[inline]
#[target_feature(enable = "neon,aes")]
fn fold(x: uint8x16_t) -> uint8x16_t {
    let polynomial = vreinterpretq_u8_u64(vdupq_n_u64(POLYNOMIAL));
    veorq_u8(swap_halves(x), multiply_low(x, polynomial))
}

#[inline]
#[target_feature(enable = "neon,aes")]
pub(super) fn product(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t {
    let mut sums = Sums::zero();
    sums.add(x, y);
    sums.reduce()
}

/// Turns a block into a field element and back: its bytes reversed.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn reverse(block: uint8x16_t) -> uint8x16_t {
    swap_halves(vrev64q_u8(block))
}

#[inline]
#[target_feature(enable = "neon")]
fn swap_halves(x: uint8x16_t) -> uint8x16_t {
    vextq_u8::<8>(x, x)
}

/// The carry-less product of the lower halves.
#[inline]
#[target_feature(enable = "neon,aes")]
fn multiply_low(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t {
    let (x, y) = (vreinterpretq_u64_u8(x), vreinterpretq_u64_u8(y));
    vreinterpretq_u8_p128(vmull_p64(vgetq_lane_u64::<0>(x), vgetq_lane_u64::<0>(y)))
}

/// The carry-less product of the upper halves.
#[inline]
#[target_feature(enable = "neon,aes")]
fn multiply_high(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t {
    vreinterpretq_u8_p128(vmull_high_p64(
        vreinterpretq_p64_u8(x),
        vreinterpretq_p64_u8(y),
    ))
}
