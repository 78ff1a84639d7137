//! A polynomial, with the numbers by which kernels divide by it.
//!
//! Messages are taken in parts of 128 bits. A part in front of others counts for itself times a power of
//! *x*, and that power modulo the polynomial has 32 bits: so a product without carries brings a part over
//! those behind it, and only at the end is anything divided. After Gopal and others, Fast CRC
//! Computation for Generic Polynomials Using PCLMULQDQ Instruction, Intel 2009.
//!
//! Bits are in reverse, as the CRCs have them: the lowest bit of a number has the highest power. The
//! product of two such numbers of 64 bits, in 128, is *x* times theirs, which is why powers are one lower
//! than the distances they stand for.

/// What folding a part over those behind it takes: for its first 64 bits, and for the other 64.
pub(super) type Pair = [u64; 2];

/// A polynomial of degree 32.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "other architectures have no kernel")
)]
pub(super) struct Polynomial {
    /// Over 16 bytes.
    pub over_16: Pair,
    /// Over 64 bytes.
    pub over_64: Pair,
    /// Over 256 bytes.
    pub over_256: Pair,
    /// Of sixteen parts, each over those behind it and the 32 bits of the CRC.
    pub to_end: [Pair; 16],
    /// Over 64 bits.
    pub over_word: u64,
    /// What *x*⁶⁴ divided by the polynomial is, 33 bits.
    pub quotient: u64,
    /// The polynomial, 33 bits.
    pub divisor: u64,
}

impl Polynomial {
    /// The one with these lower coefficients, in reverse.
    pub const fn new(reversed: u32) -> Polynomial {
        let mut to_end = [[0; 2]; 16];
        let mut part = 0;
        while part < to_end.len() {
            to_end[part] = over(reversed, 128 * (to_end.len() - 1 - part) + 32);
            part += 1;
        }
        Polynomial {
            over_16: over(reversed, 8 * 16),
            over_64: over(reversed, 8 * 64),
            over_256: over(reversed, 8 * 256),
            to_end,
            over_word: power(reversed, 64 - 1),
            quotient: quotient(reversed),
            divisor: (reversed as u64) << 1 | 1,
        }
    }
}

const fn over(reversed: u32, bits: usize) -> Pair {
    [power(reversed, bits + 64 - 1), power(reversed, bits - 1)]
}

/// *x* to that power modulo the polynomial, as 64 bits in reverse.
const fn power(reversed: u32, exponent: usize) -> u64 {
    let mut remainder: u32 = 1 << 31;
    let mut at = 0;
    while at < exponent {
        let carry = remainder & 1;
        remainder >>= 1;
        if carry == 1 {
            remainder ^= reversed;
        }
        at += 1;
    }
    (remainder as u64) << 32
}

const fn quotient(reversed: u32) -> u64 {
    let divisor = 1 << 32 | reversed.reverse_bits() as u128;
    let mut remainder: u128 = 1 << 64;
    let mut quotient: u64 = 0;
    let mut at = 33;
    while at > 0 {
        at -= 1;
        if remainder >> (at + 32) & 1 == 1 {
            remainder ^= divisor << at;
            quotient |= 1 << at;
        }
    }
    quotient.reverse_bits() >> (64 - 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that the paper gives for the CRC-32.
    #[test]
    fn numbers_of_the_crc_32_are_the_published_ones() {
        let polynomial = Polynomial::new(0xedb8_8320);
        assert_eq!(polynomial.divisor, 0x1_db71_0641);
        assert_eq!(polynomial.quotient, 0x1_f701_1641);
    }
}
