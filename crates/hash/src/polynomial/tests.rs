use proptest::prelude::*;

use super::*;
use crate::agreement::{LongKey, assert_lanes_equal_scalar, assert_lanes_equal_scalar_over};
use crate::family::MAX_WIDTH;
use crate::field::PseudoMersenne;

/// Worked out by hand: a₁ = 3 and c = (5, 7) make (2, 4) x = 14 and
/// h = 103; c₀ = 2⁶⁰ is the middle.
#[test]
fn bucket_of_known_parameters() {
    let mut multipliers = [0; MAX_KEY_WORDS - 1];
    multipliers[0] = 3;
    let rows = vec![[5, 7], [1 << 60, 7], [Mersenne61::P - 99, 7]];
    let family = Polynomial::of_rows(1000, 2, multipliers, rows);
    let mut buckets = [0; 3];
    family.buckets_of_key(&[2, 4], &mut buckets);
    assert_eq!(buckets, [0, 500, 999]);
    // 98 - 99 wraps around.
    assert_eq!(family.bucket(2, &[14, 0, 9]), 999);
    assert_eq!(family.bucket(0, &[]), 0);
}

/// All 13⁴ cubics modulo 13: each of the 13⁴ values of four keys comes up
/// exactly once. Of the 13³ parabolas some values never come up.
#[test]
fn cubics_are_four_universal_by_enumeration() {
    type Field = PseudoMersenne<4, 3>;
    let keys = [0u64, 1, 2, 7];
    let count = |free: u32| {
        let mut seen = vec![0u32; 13usize.pow(4)];
        for number in 0..13u64.pow(free) {
            let c: [u64; 4] = std::array::from_fn(|i| number / 13u64.pow(i as u32) % 13);
            let values = keys.map(|x| Field::polynomial(&c, x) as usize);
            seen[values.iter().fold(0, |all, value| all * 13 + value)] += 1;
        }
        seen
    };
    assert!(count(4).iter().all(|times| *times == 1));
    assert!(count(3).contains(&0));
}

/// Parameters and words at their limits, where a carry would be lost first.
#[test]
fn lanes_equal_scalar_at_the_limits() {
    let all = Mersenne61::P - 1;
    for width in [1, 1000, MAX_WIDTH] {
        for words in [1, 2, MAX_KEY_WORDS] {
            let rows = vec![[all; 4], [0; 4], [0, 0, 0, all], [1, all, 0, 0]];
            let family = Polynomial::of_rows(width, words, [all; MAX_KEY_WORDS - 1], rows);
            let mut keys = KeyColumns::new(words, 4);
            assert!(keys.push(&[u32::MAX; MAX_KEY_WORDS][..words]));
            assert!(keys.push(&[1 << 31; MAX_KEY_WORDS][..words]));
            assert!(keys.push(&[1]) && keys.push(&[]));
            assert_lanes_equal_scalar(&family, &keys);
        }
    }
}

proptest! {
    /// Every key length, every number of keys from 0 to 40, every number of
    /// rows, keys shorter and longer than the family counts; the lowest degree,
    /// the one of second moments, and the highest.
    #[test]
    fn lanes_equal_scalar(
        rows in 1usize..=9,
        width in 1u32..=MAX_WIDTH,
        family_words in 1usize..=MAX_KEY_WORDS,
        key_words in 1usize..=MAX_KEY_WORDS,
        seed: u64,
        keys in prop::collection::vec(any::<LongKey>(), 0..40),
    ) {
        let lines = Polynomial::<2>::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&lines, key_words, &keys);
        let cubics = Polynomial::<4>::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&cubics, key_words, &keys);
        let steepest = Polynomial::<16>::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&steepest, key_words, &keys);
    }
}
