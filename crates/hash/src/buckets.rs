//! Bucket numbers, row by row.

use crate::columns::KeyColumns;

/// The buckets of a batch of keys under each row of a family: row `r` lists
/// one bucket number per key, in the order of the keys. Reuse it for
/// every batch: then hashing allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    len: usize,
    stride: usize,
    data: Vec<u32>,
}

/// Receives buckets while they are computed ([`crate::Family::buckets_to`]).
pub trait BucketSink {
    /// Receives the buckets under row `row` of the keys from number `first` on, in their
    /// order. Kernels call it in one place, with 16 buckets except at the end: inline it.
    fn take(&mut self, row: usize, first: usize, buckets: &[u32]);
}

/// Ignores the buckets.
impl BucketSink for () {
    #[inline(always)]
    fn take(&mut self, _: usize, _: usize, _: &[u32]) {}
}

impl Buckets {
    /// No buckets; the first batch allocates memory.
    pub fn new() -> Buckets {
        Buckets::default()
    }

    /// The buckets of all keys under row `row`; empty if there is no such
    /// row.
    #[inline]
    pub fn row(&self, row: usize) -> &[u32] {
        let start = row * self.stride;
        self.data.get(start..start + self.len).unwrap_or(&[])
    }

    /// Passes all rows to `sink`, each as a whole.
    pub fn hand_to(&self, sink: &mut impl BucketSink) {
        let rows = self.data.chunks_exact(self.stride.max(1));
        for (row, buckets) in rows.enumerate() {
            sink.take(row, 0, &buckets[..self.len]);
        }
    }

    /// Resizes to `rows` rows of the buckets of `keys`.
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
