use proptest::prelude::*;

use super::*;
use crate::agreement::{
    LongKey, assert_lanes_equal_scalar, assert_lanes_equal_scalar_over,
    assert_padding_changes_nothing,
};
use crate::family::MAX_WIDTH;

/// Worked out by hand: with a₁ = 2 and c = (1, 2, 3, 4) the key (5, 1) is x = 7,
/// h = 1 + 14 + 147 + 1372 = 1534; scaled to 2²¹ buckets that is bucket 0, and
/// with c₀ = 2⁴³ half of them.
#[test]
fn bucket_of_known_parameters() {
    let mut multipliers = [0; MAX_KEY_WORDS - 1];
    multipliers[0] = 2;
    let family = Poly44::of_rows(
        MAX_WIDTH,
        2,
        multipliers,
        vec![
            [1, 2, 3, 4],
            [1 << 43, 2, 3, 4],
            [Prime44::P - 1534, 2, 3, 4],
        ],
    );
    assert_eq!(family.number(&[5, 1]), 7);
    let mut buckets = [9; 4];
    family.buckets_of_key(&[5, 1], &mut buckets);
    assert_eq!(buckets, [0, 1 << 20, MAX_WIDTH - 1, 9]);
    assert_eq!(family.bucket(0, &[]), 0);
}

/// Parameters and words at their limits, where a carry would be lost first.
#[test]
fn lanes_equal_scalar_at_the_limits() {
    let all = Prime44::P - 1;
    for width in [1, 2, 1000, MAX_WIDTH - 1, MAX_WIDTH] {
        for words in [1, 2, MAX_KEY_WORDS] {
            let family = Poly44::of_rows(
                width,
                words,
                [all; MAX_KEY_WORDS - 1],
                vec![[all; 4], [0; 4], [0, 0, 0, all], [1, all, 0, 0]],
            );
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
    /// rows, keys shorter and longer than the family counts.
    #[test]
    fn lanes_equal_scalar(
        rows in 1usize..=9,
        width in 1u32..=MAX_WIDTH,
        family_words in 1usize..=MAX_KEY_WORDS,
        key_words in 1usize..=MAX_KEY_WORDS,
        seed: u64,
        keys in prop::collection::vec(any::<LongKey>(), 0..40),
    ) {
        let family = Poly44::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&family, key_words, &keys);
    }

    #[test]
    fn padding_changes_nothing(seed: u64, key: [u32; 4]) {
        let family = Poly44::draw(3, 27_183, 10, Seed::from_u64(seed)).unwrap();
        assert_padding_changes_nothing(&family, key);
    }
}
