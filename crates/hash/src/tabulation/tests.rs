use proptest::prelude::*;

use super::*;
use crate::agreement::{LongKey, assert_lanes_equal_scalar_over};
use crate::family::MAX_WIDTH;

#[test]
fn value_is_the_sum_of_the_entries() {
    let family = Tabulation::draw(3, 1 << 16, 2, Seed::from_u64(9)).unwrap();
    let key = [0x0403_0201, 0xff00_0080];
    let entries = [
        1,
        256 + 2,
        512 + 3,
        768 + 4,
        1024 + 0x80,
        1280,
        1536,
        1792 + 0xff,
    ];
    for row in 0..3 {
        let value = entries
            .iter()
            .fold(0, |sum, entry| sum ^ family.tables.entry(*entry)[row]);
        assert_eq!(family.bucket(row, &key), value >> 16);
    }
    let longer = [key[0], key[1], 77];
    assert_eq!(family.bucket(1, &longer), family.bucket(1, &key));
}

proptest! {
    /// Every key length, every number of keys from 0 to 40, every number of
    /// rows, keys shorter and longer than the family counts.
    #[test]
    fn lanes_equal_scalar(
        rows in 1usize..=MAX_ROWS,
        width in 1u32..=MAX_WIDTH,
        family_words in 1usize..=MAX_KEY_WORDS,
        key_words in 1usize..=MAX_KEY_WORDS,
        seed: u64,
        keys in prop::collection::vec(any::<LongKey>(), 0..40),
    ) {
        let family = Tabulation::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&family, key_words, &keys);
    }
}
