//! What the tests of every family with lanes hold it to.

use weir_guard::{Side, guarded};
use weir_simd::for_each_tier;

use crate::{BucketSink, Buckets, Family, KeyColumns, MAX_KEY_WORDS};

/// Keys of all words that a key may have.
pub(crate) type LongKey = [u32; MAX_KEY_WORDS];

/// What was handed out, row by row.
struct HandedOut(Vec<Vec<u32>>);

impl BucketSink for HandedOut {
    fn take(&mut self, row: usize, first: usize, buckets: &[u32]) {
        assert_eq!(self.0[row].len(), first, "row {row}");
        self.0[row].extend_from_slice(buckets);
    }
}

/// Every tier gives the buckets that the definition gives, below the width, and keeps
/// within its buffers: tables, keys and buckets lie at unmapped pages, so that an access
/// beyond them ends the program.
pub(crate) fn assert_lanes_equal_scalar(family: &impl Family, keys: &KeyColumns) {
    for side in Side::ALL {
        guarded(side, || {
            assert_lanes_equal_scalar_in_place(&family.clone(), &keys.clone());
        });
    }
}

fn assert_lanes_equal_scalar_in_place(family: &impl Family, keys: &KeyColumns) {
    for_each_tier(|tier| {
        let mut out = Buckets::new();
        let mut handed_out = HandedOut(vec![Vec::new(); family.rows()]);
        family.buckets_to(tier, keys, &mut out, &mut handed_out);
        for (row, buckets) in handed_out.0.iter().enumerate() {
            assert_eq!(buckets, out.row(row), "{tier}, row {row}");
        }
        for row in 0..family.rows() {
            assert_eq!(out.row(row).len(), keys.len());
            for (lane, bucket) in out.row(row).iter().enumerate() {
                let expected = family.bucket(row, &keys.key(lane)[..keys.words()]);
                assert_eq!(*bucket, expected, "{tier}, row {row}, lane {lane}");
                assert!(*bucket < family.width());
            }
        }
        assert!(out.row(family.rows()).is_empty());
        for lane in 0..keys.len().min(6) {
            let key = keys.key(lane)[..keys.words()].to_vec();
            // Space for fewer functions than there are, for all, and for more.
            for room in [family.rows() / 2, family.rows(), family.rows() + 1] {
                let mut across = vec![u32::MAX; room];
                family.buckets_across(tier, &key, &mut across);
                for (row, bucket) in across.into_iter().enumerate() {
                    let expected = match row {
                        row if row < family.rows() => out.row(row)[lane],
                        _ => u32::MAX,
                    };
                    assert_eq!(bucket, expected, "{tier}, row {row}, lane {lane}, across");
                }
            }
        }
    });
}

/// The same over the first `key_words` words of these keys.
pub(crate) fn assert_lanes_equal_scalar_over(
    family: &impl Family,
    key_words: usize,
    keys: &[LongKey],
) {
    let mut columns = KeyColumns::new(key_words, 40);
    for key in keys {
        assert!(columns.push(&key[..key_words]));
    }
    assert_lanes_equal_scalar(family, &columns);
}

/// A shorter key is the key padded with zeros, whatever the length of the
/// columns it came in.
pub(crate) fn assert_padding_changes_nothing(family: &impl Family, key: [u32; 4]) {
    let mut long = [0; MAX_KEY_WORDS];
    long[..4].copy_from_slice(&key);
    for row in 0..family.rows() {
        assert_eq!(family.bucket(row, &key), family.bucket(row, &long));
    }
}
