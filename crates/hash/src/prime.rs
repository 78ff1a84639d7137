//! Residues modulo primes next to a power of two, without division.
//!
//! Of p = 2ⁿ - c, 2ⁿ is the residue c: what lies above bit n is multiplied by c
//! and added to what lies below (Crandall, US patent 5,159,632, expired; the
//! thesis calls such primes pseudo-Mersenne). One subtraction of p ends it. There
//! is no branch and no division, so that the time does not depend on the number,
//! which may be secret.

use std::hint::black_box;

/// 2³² + 15, the least prime above 2³².
pub const P32: u64 = (1 << 32) + 15;

/// 2³⁶ - 5, the largest prime below 2³⁶.
pub const P36: u64 = (1 << 36) - 5;

/// 2⁶¹ - 1, a Mersenne prime.
pub const P61: u64 = (1 << 61) - 1;

/// 2⁶⁴ - 59, the largest prime below 2⁶⁴.
pub const P64: u64 = u64::MAX - 58;

/// `x` modulo 2³² + 15, whose c is -15.
#[inline]
pub const fn mod_p32(x: u64) -> u64 {
    const LOW: u64 = u32::MAX as u64;
    // Below 2³²·18, and a multiple of p that keeps it from becoming negative.
    let x = (x & LOW) + 16 * P32 - 15 * (x >> 32);
    let x = (x & LOW) + P32 - 15 * (x >> 32);
    at_most_once(x, P32)
}

/// `x` modulo 2³⁶ - 5.
#[inline]
pub const fn mod_p36(x: u64) -> u64 {
    let x = (x & ((1 << 36) - 1)) + 5 * (x >> 36);
    at_most_once(x, P36)
}

/// `x` modulo 2⁶¹ - 1.
#[inline]
pub const fn mod_p61(x: u128) -> u64 {
    const LOW: u128 = P61 as u128;
    let x = (x & LOW) + (x >> 61);
    let x = (x & LOW) + (x >> 61);
    // At most p + 64, since what was above bit 61 was at most 64.
    at_most_once(x as u64, P61)
}

/// `x` modulo 2⁶⁴ - 59.
#[inline]
pub const fn mod_p64(x: u128) -> u64 {
    let x = (x as u64 as u128) + 59 * (x >> 64);
    let x = (x as u64 as u128) + 59 * (x >> 64);
    // Below 2⁶⁴ + 59²: what is carried is one or nothing.
    let x = (x as u64).wrapping_add(59 * (x >> 64) as u64);
    at_most_once(x, P64)
}

/// `x`, less p where it reaches it. A difference that would be negative wraps to
/// a number above `x`.
///
/// The compiler may not know what the mask is made of, or it makes a branch of it
/// in some callers.
#[inline]
const fn at_most_once(x: u64, p: u64) -> u64 {
    let reduced = x.wrapping_sub(p);
    let keep = black_box(((x < p) as u64).wrapping_neg());
    (x & keep) | (reduced & !keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn residues_are_those_of_division(x: u64, low: u64, high: u64) {
            let wide = u128::from(low) | u128::from(high) << 64;
            prop_assert_eq!(mod_p32(x), x % P32);
            prop_assert_eq!(mod_p36(x), x % P36);
            prop_assert_eq!(mod_p61(wide), (wide % u128::from(P61)) as u64);
            prop_assert_eq!(mod_p64(wide), (wide % u128::from(P64)) as u64);
        }
    }

    /// Numbers next to multiples of the primes and to powers of two.
    #[test]
    fn edges_are_those_of_division() {
        for near in [0, P32, 16 * P32, 1 << 32, 1 << 36, P36, P61, P64, u64::MAX] {
            for distance in 0..70 {
                for x in [near.wrapping_add(distance), near.wrapping_sub(distance)] {
                    assert_eq!(mod_p32(x), x % P32);
                    assert_eq!(mod_p36(x), x % P36);
                    for wide in [u128::from(x), u128::from(x) << 57, u128::from(x) << 63] {
                        assert_eq!(mod_p64(wide), (wide % u128::from(P64)) as u64);
                        assert_eq!(mod_p61(wide), (wide % u128::from(P61)) as u64);
                    }
                }
            }
        }
        assert_eq!(mod_p64(u128::MAX), (u128::MAX % u128::from(P64)) as u64);
        assert_eq!(mod_p61(u128::MAX), (u128::MAX % u128::from(P61)) as u64);
    }
}
