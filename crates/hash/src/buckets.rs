//! Bucket numbers, row by row.

use crate::columns::KeyColumns;

/// The buckets of a batch of keys under each row of a family: row `r` lists
/// one bucket number per key, in the order of the keys. Kept by the caller and
/// filled again for every batch, so that hashing allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    len: usize,
    stride: usize,
    data: Vec<u32>,
}

impl Buckets {
    /// No buckets; memory is taken by the first batch.
    pub fn new() -> Buckets {
        Buckets::default()
    }

    /// The buckets of all keys under row `row`; empty where there is no such
    /// row.
    #[inline]
    pub fn row(&self, row: usize) -> &[u32] {
        let start = row * self.stride;
        self.data.get(start..start + self.len).unwrap_or(&[])
    }

    /// Makes room for `rows` rows of the buckets of `keys`.
    pub(crate) fn shape(&mut self, rows: usize, keys: &KeyColumns) {
        self.len = keys.len();
        self.stride = keys.padded_len();
        self.data.resize(rows * self.stride, 0);
    }

    /// All rows, each of [`KeyColumns::padded_len`] entries.
    pub(crate) fn padded_rows(&mut self) -> &mut [u32] {
        &mut self.data
    }
}
