//! A Count-Min sketch that several threads add to.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use weir_hash::{Buckets, Family, KeyColumns, Ms52, Seed, ShapeError};
use weir_simd::Tier;

use super::layout::Layout;
use crate::accuracy::Shape;

/// One sketch in shared memory, each counter added to atomically: what sharding
/// with a sketch per core is measured against (chapter 7 has the contention for
/// one hot counter). Sketches per shard, combined at the end of an interval, are
/// what the meters use.
///
/// Counters hold 64 bits and wrap: values of 32 bits need four thousand million
/// updates for that. A sum that is read while others add is one that the counter
/// had; estimates of a sketch at rest are never below the truth.
#[derive(Debug)]
pub struct SharedCountMin<F: Family = Ms52> {
    layout: Layout<F>,
    counters: Vec<AtomicU64>,
}

impl SharedCountMin {
    /// An empty sketch over [`Ms52`] for keys of up to `words` 32-bit words.
    ///
    /// # Errors
    /// A shape or key length that the hash family does not have.
    pub fn new(shape: Shape, words: usize, seed: Seed) -> Result<SharedCountMin, ShapeError> {
        let layout: Layout<Ms52> = Layout::new(shape, words, seed)?;
        let counters = (0..layout.counters()).map(|_| AtomicU64::new(0)).collect();
        Ok(SharedCountMin { layout, counters })
    }
}

impl<F: Family> SharedCountMin<F> {
    /// Adds `values[i]` to key `i` for a batch of keys, hashed in lanes;
    /// `buckets` is working memory of the thread.
    pub fn add(&self, tier: Tier, keys: &KeyColumns, values: &[u32], buckets: &mut Buckets) {
        self.layout.family().buckets(tier, keys, buckets);
        let width = self.layout.shape().width as usize;
        for (row, counters) in self.counters.chunks_exact(width).enumerate() {
            for (bucket, value) in buckets.row(row).iter().zip(values) {
                counters[*bucket as usize].fetch_add(u64::from(*value), Relaxed);
            }
        }
    }

    /// The estimate of a key's sum.
    pub fn estimate(&self, key: &[u32]) -> u64 {
        let counters = self.layout.indices(key).map(|index| &self.counters[index]);
        counters
            .map(|counter| counter.load(Relaxed))
            .min()
            .unwrap_or(0)
    }

    /// Sum of all values added.
    pub fn total(&self) -> u64 {
        let row = &self.counters[..self.layout.shape().width as usize];
        row.iter().map(|counter| counter.load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::{AddWork, CountMin};
    use super::*;

    /// Four threads leave what one sketch has that got everything.
    #[test]
    fn nothing_is_lost_between_threads() {
        let shape = Shape { rows: 3, width: 50 };
        let shared = SharedCountMin::new(shape, 1, Seed::from_u64(7)).unwrap();
        let mut alone = CountMin::new(shape, 1, Seed::from_u64(7)).unwrap();
        let mut keys = KeyColumns::new(1, 200);
        for key in 0..200 {
            assert!(keys.push(&[key % 90]));
        }
        let values = [5; 200];
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut buckets = Buckets::new();
                    for _ in 0..50 {
                        shared.add(weir_simd::tier(), &keys, &values, &mut buckets);
                    }
                });
            }
        });
        for _ in 0..200 {
            alone.add(Tier::Scalar, &keys, &values, &mut AddWork::default());
        }
        assert_eq!(shared.total(), 200 * 200 * 5);
        for key in 0..100 {
            let expected = alone.estimate(&[key]);
            assert_eq!(shared.estimate(&[key]), expected.unsigned_abs());
        }
    }
}
