//! Polynomials in a secret point: one word of key for a message of any length.
//!
//! ```text
//! h(m₁ … mₙ) = m₁kⁿ + m₂kⁿ⁻¹ + … + mₙk
//! ```
//!
//! Two messages of at most n words differ by a polynomial of degree n without
//! constant term, which takes any one value at n points at most: ε = n / |field|
//! (den Boer 1993; Taylor 1993; Bierbrauer, Johansson, Kabatianskii, Smeets, CRYPTO
//! 1993). The length is the first word, so that messages of different lengths differ in
//! their words, too.
//!
//! ```
//! use weir_hash::horner::Horner61;
//! use weir_hash::{Guaranteed, Seed, SeedStream, prime::P61};
//!
//! let mut stream = SeedStream::new(Seed::random()?);
//! let point = std::iter::repeat_with(|| stream.next_bits(61)).find(|it| *it < P61);
//! let function = Horner61::new(point.ok_or("no point")?, 350);
//! assert!(function.hash(&[1, 2, 3]) < P61);
//! assert!(function.guarantee().epsilon < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::guarantee::{Group, Guarantee, Guaranteed, Property};
use crate::prime::{P61, mod_p61};

/// Over the numbers modulo 2⁶¹ - 1, of messages of 32-bit words.
#[derive(Clone, Copy)]
pub struct Horner61 {
    point: u64,
    most_words: usize,
}

/// Over GF(2¹²⁸) with the polynomial of GHASH, x¹²⁸ + x⁷ + x² + x + 1; bit i of a
/// number is the coefficient of xⁱ.
#[derive(Clone, Copy)]
pub struct Horner128 {
    point: u128,
    most_words: usize,
}

impl Horner61 {
    /// The function of a point, a number below 2⁶¹ - 1, for messages of up to
    /// `most_words` words, on which its guarantee depends.
    pub fn new(point: u64, most_words: usize) -> Horner61 {
        Horner61 { point, most_words }
    }

    /// The value of a message, below 2⁶¹ - 1.
    #[inline]
    pub fn hash(&self, message: &[u32]) -> u64 {
        let words = message.iter().map(|word| u64::from(*word));
        evaluate(message.len() as u64, words, |sum, word| {
            mod_p61(u128::from(sum + word) * u128::from(self.point))
        })
    }
}

impl Horner128 {
    /// The function of a point, for messages of up to `most_words` words, on which its
    /// guarantee depends.
    pub fn new(point: u128, most_words: usize) -> Horner128 {
        Horner128 { point, most_words }
    }

    /// The value of a message.
    pub fn hash(&self, message: &[u128]) -> u128 {
        let words = message.iter().copied();
        evaluate(message.len() as u128, words, |sum, word| {
            product(sum ^ word, self.point)
        })
    }
}

/// The value of a message after its length. A step adds a word and multiplies by the
/// point.
#[inline]
fn evaluate<N: Default>(length: N, words: impl Iterator<Item = N>, step: impl Fn(N, N) -> N) -> N {
    [length].into_iter().chain(words).fold(N::default(), step)
}

/// The product in GF(2¹²⁸), bit by bit and without branches.
fn product(a: u128, b: u128) -> u128 {
    (0..128).rev().fold(0, |product, bit| {
        let reduction = (product >> 127).wrapping_neg() & 0x87;
        (product << 1) ^ reduction ^ ((a >> bit & 1).wrapping_neg() & b)
    })
}

impl Guaranteed for Horner61 {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            property: Property::AlmostDeltaUniversal(Group::Modulo(P61.into())),
            epsilon: (self.most_words + 1) as f64 / P61 as f64,
            source: "Bierbrauer, Johansson, Kabatianskii, Smeets, CRYPTO 1993",
            key_bytes: size_of::<u64>(),
        }
    }
}

impl Guaranteed for Horner128 {
    fn guarantee(&self) -> Guarantee {
        Guarantee {
            property: Property::AlmostDeltaUniversal(Group::Xor),
            epsilon: (self.most_words + 1) as f64 * 2f64.powi(-128),
            source: "Bierbrauer, Johansson, Kabatianskii, Smeets, CRYPTO 1993",
            key_bytes: size_of::<u128>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The polynomial by powers, in whole numbers.
        #[test]
        fn values_modulo_2_61_are_the_polynomial(
            point in 0..P61,
            message in prop::collection::vec(any::<u32>(), 0..20),
        ) {
            let prime = u128::from(P61);
            let words = [message.len() as u32].into_iter().chain(message.iter().copied());
            let mut power = 1;
            let mut expected = 0;
            for word in words.collect::<Vec<_>>().into_iter().rev() {
                power = power * u128::from(point) % prime;
                expected = (expected + power * u128::from(word)) % prime;
            }
            let found = Horner61::new(point, 20).hash(&message);
            prop_assert_eq!(u128::from(found), expected);
        }

        #[test]
        fn products_are_those_of_a_field(a: u128, b: u128, c: u128) {
            prop_assert_eq!(product(a, b), product(b, a));
            prop_assert_eq!(product(a, 1), a);
            prop_assert_eq!(product(a, b ^ c), product(a, b) ^ product(a, c));
            prop_assert_eq!(product(product(a, b), c), product(a, product(b, c)));
        }
    }

    /// GHASH of test case 2 of the GCM specification, whose bits run the other
    /// way: ciphertext, then lengths.
    #[test]
    fn the_field_is_that_of_ghash() {
        let point = 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e_u128.reverse_bits();
        let words = [
            0x0388_dace_60b6_a392_f328_c2b9_71b2_fe78_u128.reverse_bits(),
            0x80_u128.reverse_bits(),
        ];
        let hash = words
            .into_iter()
            .fold(0, |sum, word| product(sum ^ word, point));
        assert_eq!(
            hash.reverse_bits(),
            0xf38c_bb1a_d692_23dc_c345_7ae5_b6b0_f885
        );
    }

    /// All points, under which some two messages of at most two words differ by some
    /// amount: the most there are. `times` is the field's product, `add` its sum.
    fn worst(
        with_length: bool,
        add: impl Fn(u32, u32) -> u32,
        times: impl Fn(u32, u32) -> u32,
        elements: u32,
    ) -> u32 {
        let one = (0..elements).map(|a| vec![a]);
        let two = (0..elements * elements).map(|m| vec![m / elements, m % elements]);
        let messages: Vec<Vec<u32>> = [vec![]].into_iter().chain(one).chain(two).collect();
        let hash = |point: u32, message: &[u32]| {
            let length = if with_length { message.len() as u32 } else { 0 };
            let words = message.iter().copied();
            evaluate(length, words, |sum, word| times(add(sum, word), point))
        };
        let mut worst = 0;
        for (index, a) in messages.iter().enumerate() {
            for b in &messages[..index] {
                // Points by the value that is added to one hash to have the other.
                let mut points = vec![0; elements as usize];
                for point in 0..elements {
                    let (a, b) = (hash(point, a), hash(point, b));
                    let difference = (0..elements).find(|d| add(b, *d) == a);
                    points[difference.expect("a group") as usize] += 1;
                }
                worst = worst.max(points.into_iter().max().unwrap_or(0));
            }
        }
        worst
    }

    /// For all messages of at most two words, differences and points of small fields:
    /// three points at most, which is what the guarantee of two words says.
    #[test]
    fn polynomials_keep_their_bound_and_need_a_field_and_the_length() {
        assert_eq!(Horner61::new(0, 2).guarantee().epsilon, 3.0 / P61 as f64);
        const BOUND: u32 = 3;
        let modulo = |n: u32| {
            let add = move |a, b| (a + b) % n;
            let times = move |a, b| a * b % n;
            worst(true, add, times, n)
        };
        assert!(modulo(7) <= BOUND && modulo(11) <= BOUND);
        // Polynomials over GF(2) of degree below 3, modulo one of degree 3.
        let binary = |polynomial: u32| {
            let times = move |a: u32, b: u32| {
                let product = (0..3).fold(0, |sum, bit| sum ^ ((b >> bit & 1) * (a << bit)));
                [4, 3].into_iter().fold(product, |rest, bit| {
                    rest ^ ((rest >> bit & 1) * (polynomial << (bit - 3)))
                })
            };
            worst(true, |a, b| a ^ b, times, 8)
        };
        assert!(binary(0b1011) <= BOUND);
        // Broken: rings that are no fields, and lengths left out.
        assert!(modulo(8) > BOUND);
        assert!(binary(0b1001) > BOUND);
        assert_eq!(worst(false, |a, b| (a + b) % 7, |a, b| a * b % 7, 7), 7);
    }

    /// Without its length, a message and the same with zeros in front collide.
    #[test]
    fn zeros_in_front_change_the_value() {
        let function = Horner61::new(12_345, 10);
        assert_ne!(function.hash(&[7]), function.hash(&[0, 7]));
        assert_ne!(function.hash(&[]), function.hash(&[0]));
        let function = Horner128::new(12_345, 10);
        assert_ne!(function.hash(&[7]), function.hash(&[0, 7]));
    }
}
