//! Bounds by enumeration of all keys in miniature: nothing is left to chance.

use proptest::prelude::*;

use super::*;

proptest! {
    /// Equation 4.7 in whole numbers, and Toeplitz values two words apart.
    #[test]
    fn values_are_those_of_whole_numbers(
        pairs in prop::collection::vec(any::<[u32; 4]>(), 0..40),
        more: [u32; 2],
    ) {
        let message: Vec<u32> = pairs.iter().flat_map(|p| [p[0], p[1]]).collect();
        let mut key: Vec<u32> = pairs.iter().flat_map(|p| [p[2], p[3]]).collect();
        key.extend(more);
        let nh = |key: &[u32]| {
            let sum = message.chunks(2).zip(key.chunks(2)).fold(0u128, |sum, (m, x)| {
                let factor = |i: usize| (u128::from(m[i]) + u128::from(x[i])) % (1 << 32);
                sum + factor(0) * factor(1)
            });
            (sum % (1 << 64)) as u64
        };
        prop_assert_eq!(Nh::<2>::new(&key).hash(&message), Ok([nh(&key), nh(&key[2..])]));
    }

    /// RFC 4418's order of words is NH of the words in another order.
    #[test]
    fn the_order_of_the_rfc_changes_no_value(message: [[u32; 8]; 3], key: [[u32; 8]; 3]) {
        let reorder = |eights: &[[u32; 8]; 3]| -> Vec<u32> {
            eights.iter().flat_map(|e| (0..4).flat_map(|j| [e[j], e[j + 4]])).collect()
        };
        let half = |at: usize| key.map(|e| std::array::from_fn(|j| e[at + j]));
        let expected = Nh::<1>::new(&reorder(&key)).hash(&reorder(&message));
        prop_assert_eq!(Ok([nh_rfc4418(&half(0), &half(4), &message)]), expected);
    }
}

#[test]
fn messages_that_do_not_fit_are_refused() {
    let odd = MessageError::Odd { given_words: 3 };
    assert_eq!(Nh::<1>::new(&[0; 8]).hash(&[0; 3]), Err(odd));
    let too_long = MessageError::TooLong {
        most_words: 6,
        given_words: 8,
    };
    assert_eq!(Nh::<2>::new(&[0; 8]).hash(&[0; 8]), Err(too_long));
    assert_eq!(
        NmhStar::new(7, &[0; 4]).hash(&[1]),
        Err(MessageError::Odd { given_words: 1 })
    );
}

/// The most keys of two words in 0..`words` under which two messages differ by
/// some amount, of values in 0..`values`.
fn worst(words: u64, values: u64, hash: impl Fn([u64; 2], [u64; 2]) -> u64) -> u64 {
    let pairs: Vec<[u64; 2]> = (0..words * words).map(|i| [i % words, i / words]).collect();
    let mut worst = 0;
    for (index, a) in pairs.iter().enumerate() {
        for b in &pairs[..index] {
            let mut counts = vec![0; values as usize];
            for key in &pairs {
                let difference = hash(*key, *a) + values - hash(*key, *b);
                counts[(difference % values) as usize] += 1;
            }
            worst = worst.max(counts.into_iter().max().unwrap_or(0));
        }
    }
    worst
}

/// NH with words of 4 bits: at most 2⁻⁴ of 256 keys for every pair of messages and
/// every difference.
#[test]
fn nh_keeps_its_bound_and_needs_its_product() {
    let nh = |x: [u64; 2], m: [u64; 2]| ((m[0] + x[0]) % 16) * ((m[1] + x[1]) % 16) % 256;
    assert!(worst(16, 256, nh) <= 16);
    // Broken: a sum in place of the product.
    let broken = |x: [u64; 2], m: [u64; 2]| (m[0] + x[0]) % 16 + (m[1] + x[1]) % 16;
    assert!(worst(16, 256, broken) > 16);
}

/// NMH* over small fields: 1/p. Modulo a number that is no prime it is not.
#[test]
fn nmh_star_is_delta_universal_over_a_prime_only() {
    for (modulus, is_prime) in [(3, true), (5, true), (7, true), (4, false), (6, false)] {
        let hash =
            |x: [u64; 2], m: [u64; 2]| NmhStar::new(modulus, &x).hash(&m).expect("small words");
        assert_eq!(
            worst(modulus, modulus, hash) <= modulus,
            is_prime,
            "{modulus}"
        );
    }
}
