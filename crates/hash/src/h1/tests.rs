use proptest::prelude::*;

use super::*;
use crate::agreement::{
    LongKey, assert_lanes_equal_scalar, assert_lanes_equal_scalar_over,
    assert_padding_changes_nothing,
};
use crate::family::MAX_WIDTH;
use crate::field::PseudoMersenne;

/// By hand: the key 0x0003_0002, 5 under a = (7, 11, 13), b = 1 is
/// 14 + 33 + 65 + 1 = 113 as half-words.
#[test]
fn half_words_of_known_parameters() {
    let mut multipliers = [0; 20];
    multipliers[..3].copy_from_slice(&[7, 11, 13]);
    let row = |addend| Row {
        multipliers,
        addend,
    };
    let family = H1HalfWords::of_rows(
        1 << 20,
        2,
        vec![row(1), row(1 << 30), row(Mersenne31::P - 113)],
    );
    let mut buckets = [0; 3];
    family.buckets_of_key(&[0x0003_0002, 5, 77], &mut buckets);
    assert_eq!(buckets, [0, 1 << 19, (1 << 20) - 1]);
    assert_eq!(family.bucket(2, &[0x0003_0002, 5 + 1]), 0, "wraps to 12");
}

/// By hand: (2, 5) under a = (7, 11) is 69.
#[test]
fn words_of_known_parameters() {
    let mut multipliers = [0; 10];
    multipliers[..2].copy_from_slice(&[7, 11]);
    let row = |addend| Row {
        multipliers,
        addend,
    };
    let family = H1Words::of_rows(
        1 << 20,
        2,
        vec![
            row(1),
            row(1 << 60),
            row(Mersenne61::P - 70),
            row(Mersenne61::P - 69),
        ],
    );
    let mut buckets = [0; 4];
    family.buckets_of_key(&[2, 5], &mut buckets);
    assert_eq!(buckets, [0, 1 << 19, (1 << 20) - 1, 0]);
}

/// All linear functions modulo 61 on two digits, all widths: two keys meet
/// no more often than the bound says; values are independent.
#[test]
fn collision_bound_by_enumeration() {
    type Field = PseudoMersenne<6, 3>;
    let p = Field::P;
    for width in 1..=8u32 {
        for (x, y) in [([0, 0], [0, 1]), ([5, 7], [6, 7]), ([60, 1], [1, 60])] {
            let mut meet = 0u64;
            for a in 0..p * p {
                let value = |b: u64, key: [u64; 2]| {
                    let sum = (a / p) * key[0] + (a % p) * key[1] + b;
                    Field::scale(Field::reduce(sum.into()), width)
                };
                meet += (0..p).filter(|b| value(*b, x) == value(*b, y)).count() as u64;
            }
            // Three values are missing from the last bucket here.
            let w = f64::from(width);
            let squares = (w.sqrt() / 2.0 + 3.0).powi(2);
            let all = (p * p * p) as f64;
            let bound = all / w * (1.0 + w * squares / (p * p) as f64);
            assert!(meet as f64 <= bound, "w {width}: {meet} > {bound}");
        }
    }
}

/// Parameters and words at their limits, where a carry would be lost first; the sums
/// p - 1, p and p + 1 among them.
#[test]
fn lanes_equal_scalar_at_the_limits() {
    fn rows<const DIGITS: usize>(p: u64) -> Vec<Row<DIGITS>> {
        let ones = |addend| (1, addend);
        let parameters = [(p - 1, p - 1), (p - 1, 0), (0, p - 1), (0, 0)];
        let around_p = [ones(p - 2), ones(p - 1)];
        let parameters = parameters.into_iter().chain(around_p);
        let row = |(multiplier, addend)| Row {
            multipliers: [multiplier; DIGITS],
            addend,
        };
        parameters.map(row).collect()
    }
    let mut keys = KeyColumns::new(MAX_KEY_WORDS, 6);
    for words in [[u32::MAX; MAX_KEY_WORDS], [1 << 31; MAX_KEY_WORDS]] {
        assert!(keys.push(&words));
    }
    assert!(keys.push(&[]) && keys.push(&[1]) && keys.push(&[2]) && keys.push(&[1 << 16]));
    for width in [1, 2, 1000, MAX_WIDTH - 1, MAX_WIDTH] {
        for words in [1, 2, MAX_KEY_WORDS] {
            assert_lanes_equal_scalar(
                &H1HalfWords::of_rows(width, words, rows(Mersenne31::P)),
                &keys,
            );
            assert_lanes_equal_scalar(&H1Words::of_rows(width, words, rows(Mersenne61::P)), &keys);
        }
    }
}

proptest! {
    /// Every key length, every number of keys from 0 to 40, every number of
    /// rows, keys shorter and longer than the families count.
    #[test]
    fn lanes_equal_scalar(
        rows in 1usize..=9,
        width in 1u32..=MAX_WIDTH,
        family_words in 1usize..=MAX_KEY_WORDS,
        key_words in 1usize..=MAX_KEY_WORDS,
        seed: u64,
        keys in prop::collection::vec(any::<LongKey>(), 0..40),
    ) {
        let half_words = H1HalfWords::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&half_words, key_words, &keys);
        let words = H1Words::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&words, key_words, &keys);
    }

    #[test]
    fn padding_changes_nothing(seed: u64, key: [u32; 4]) {
        assert_padding_changes_nothing(&H1HalfWords::draw(3, 27_183, 10, Seed::from_u64(seed)).unwrap(), key);
        assert_padding_changes_nothing(&H1Words::draw(3, 27_183, 10, Seed::from_u64(seed)).unwrap(), key);
    }
}
