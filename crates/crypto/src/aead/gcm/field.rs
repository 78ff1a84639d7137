//! GHASH's field in constant time and without carry-less multiply
//! instructions: the scalar reference of the kernels' multiplications.
//!
//! An element is a block read as a big-endian number, and what is computed is
//! POLYVAL's product a·b·x⁻¹²⁸ (RFC 8452 section 3 and appendix A): with the
//! hash key multiplied by x beforehand, a chain of such products is GHASH (SP
//! 800-38D section 6.4) without any bit reversal.

use crate::cipher::Block;

/// The hash key in the form that [`product`] takes: E(0) as a number, times x.
pub(super) fn hash_key(encrypted_zero: Block) -> u128 {
    let h = u128::from_be_bytes(encrypted_zero);
    let carry = 0u128.wrapping_sub(h >> 127);
    (h << 1) ^ (carry & 0xc200_0000_0000_0000_0000_0000_0000_0001)
}

/// a·b·x⁻¹²⁸ modulo x¹²⁸ + x¹²⁷ + x¹²⁶ + x¹²¹ + 1.
pub(super) fn product(a: u128, b: u128) -> u128 {
    let (a_low, a_high) = (a as u64, (a >> 64) as u64);
    let (b_low, b_high) = (b as u64, (b >> 64) as u64);
    let middle = carryless(a_low, b_high) ^ carryless(a_high, b_low);
    let low = carryless(a_low, b_low) ^ (middle << 64);
    let high = carryless(a_high, b_high) ^ (middle >> 64);
    high ^ fold(fold(low))
}

/// Half a Montgomery step: moves the lower 64 bits up by 64 modulo the
/// polynomial, whose lower half is 1 and whose upper half has the bits 63, 62
/// and 57.
fn fold(x: u128) -> u128 {
    let low = u128::from(x as u64);
    x.rotate_left(64) ^ (low << 63) ^ (low << 62) ^ (low << 57)
}

/// The product of two polynomials of 64 bits.
fn carryless(a: u64, b: u64) -> u128 {
    let low = carryless_low(a, b);
    // Reversed factors give the reversed product, of which the upper 63 bits
    // are still wanted.
    let high = carryless_low(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1;
    u128::from(low) | u128::from(high) << 64
}

/// The lower half of the product: integer multiplications whose factors have
/// three zero bits after each bit, so that at most sixteen ones meet in a place
/// and carries end before the next place that counts.
fn carryless_low(a: u64, b: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;
    let spread = |x: u64| [0, 1, 2, 3].map(|place| x & (EVERY_FOURTH << place));
    let (a, b) = (spread(a), spread(b));
    (0..4).fold(0, |sum, place| {
        let partial = (0..4).fold(0, |partial, i| {
            partial ^ a[i].wrapping_mul(b[(4 + place - i) % 4])
        });
        sum | partial & (EVERY_FOURTH << place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by its definition, bit by bit.
    fn carryless_by_bits(a: u64, b: u64) -> u128 {
        (0..64)
            .filter(|bit| b >> bit & 1 == 1)
            .fold(0, |sum, bit| sum ^ u128::from(a) << bit)
    }

    #[test]
    fn carries_never_reach_a_place_that_counts() {
        let mut x = 0x9e37_79b9_7f4a_7c15u64;
        let mut values = vec![0, 1, 1 << 63, u64::MAX, 0x1111_1111_1111_1111];
        for _ in 0..60 {
            x = x.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            values.push(x ^ x >> 29);
        }
        for &a in &values {
            for &b in &values {
                assert_eq!(carryless(a, b), carryless_by_bits(a, b), "{a:x} {b:x}");
            }
        }
    }

    /// RFC 8452 appendix A.
    #[test]
    fn the_product_is_that_of_polyval() {
        let element = |hex: &str| {
            let bytes = crate::engine::unhex(hex).expect("hexadecimal");
            u128::from_le_bytes(bytes.try_into().expect("16 bytes"))
        };
        let a = element("66e94bd4ef8a2c3b884cfa59ca342b2e");
        let b = element("ff000000000000000000000000000000");
        assert_eq!(product(a, b), element("ebe563401e7e91ea3ad6426b8140c394"));
    }
}
