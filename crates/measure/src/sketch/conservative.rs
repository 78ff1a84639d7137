//! Conservative update.

use weir_hash::{Family, Ms52, Seed, ShapeError};

use super::layout::Layout;
use crate::accuracy::Shape;

/// A Count-Min sketch with conservative update (Estan and Varghese, *New
/// directions in traffic measurement and accounting*, ACM TOCS 21, 2003): an
/// update raises no counter above the new estimate. Estimates are
/// still never below the truth, and above it by no more than those of
/// [`super::CountMin`], mostly by much less.
///
/// The price is linearity: where a key counts depends on what came before, so
/// there is nothing to combine, to scale or to take away, and values are not
/// negative. Counters hold 64 bits and saturate.
#[derive(Clone, Debug)]
pub struct ConservativeCountMin<F: Family = Ms52> {
    layout: Layout<F>,
    counters: Vec<u64>,
    total: u64,
}

impl ConservativeCountMin {
    /// An empty sketch over [`Ms52`] for keys of up to `words` 32-bit words, its
    /// hash functions drawn from `seed`.
    ///
    /// # Errors
    /// A shape or key length that the hash family does not have.
    pub fn new(shape: Shape, words: usize, seed: Seed) -> Result<ConservativeCountMin, ShapeError> {
        Ok(ConservativeCountMin::of_layout(Layout::new(
            shape, words, seed,
        )?))
    }
}

impl<F: Family> ConservativeCountMin<F> {
    /// An empty sketch that counts where `layout` says.
    pub fn of_layout(layout: Layout<F>) -> ConservativeCountMin<F> {
        ConservativeCountMin {
            counters: vec![0; layout.counters()],
            layout,
            total: 0,
        }
    }

    /// Rows and counters per row.
    pub fn shape(&self) -> Shape {
        self.layout.shape()
    }

    /// Sum of all values added, saturating.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds a value to a key and returns the key's estimate.
    pub fn add(&mut self, key: &[u32], value: u64) -> u64 {
        let estimate = self.estimate(key).saturating_add(value);
        for index in self.layout.indices(key) {
            let counter = &mut self.counters[index];
            *counter = estimate.max(*counter);
        }
        self.total = self.total.saturating_add(value);
        estimate
    }

    /// The estimate of a key's sum.
    pub fn estimate(&self, key: &[u32]) -> u64 {
        let counters = self.layout.indices(key).map(|index| self.counters[index]);
        counters.min().unwrap_or(0)
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        self.counters.fill(0);
        self.total = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use weir_hash::KeyColumns;
    use weir_simd::Tier;

    use super::super::{AddWork, CountMin};
    use super::*;

    proptest! {
        /// Between the truth and the plain sketch with the same functions.
        #[test]
        fn estimates_lie_between_the_truth_and_plain_ones(
            updates in prop::collection::vec((0u32..60, 0u32..2000), 0..200),
            seed: u64,
        ) {
            let shape = Shape { rows: 3, width: 16 };
            let mut conservative = ConservativeCountMin::new(shape, 1, Seed::from_u64(seed)).unwrap();
            let mut plain = CountMin::new(shape, 1, Seed::from_u64(seed)).unwrap();
            let mut truth: HashMap<u32, u64> = HashMap::new();
            let mut keys = KeyColumns::new(1, 200);
            for (key, value) in &updates {
                keys.push(&[*key]);
                let sum = truth.entry(*key).or_default();
                *sum += u64::from(*value);
                let estimate = conservative.add(&[*key], u64::from(*value));
                prop_assert_eq!(estimate, conservative.estimate(&[*key]));
            }
            let values: Vec<u32> = updates.iter().map(|(_, value)| *value).collect();
            plain.add(Tier::Scalar, &keys, &values, &mut AddWork::default());
            for (key, sum) in &truth {
                let estimate = conservative.estimate(&[*key]);
                prop_assert!((*sum..=plain.estimate(&[*key]).unsigned_abs()).contains(&estimate));
            }
            prop_assert_eq!(conservative.total(), truth.values().sum::<u64>());
            conservative.clear();
            prop_assert_eq!((conservative.estimate(&[1]), conservative.total()), (0, 0));
        }
    }

    /// 1,000 keys of 100 on 64 counters: plain estimates are 1,600 too high on
    /// average and 900 at the least; conservative ones less than half of that.
    #[test]
    fn conservative_estimates_are_closer() {
        let shape = Shape { rows: 4, width: 64 };
        let mut conservative = ConservativeCountMin::new(shape, 1, Seed::from_u64(3)).unwrap();
        let mut plain = CountMin::new(shape, 1, Seed::from_u64(3)).unwrap();
        let mut keys = KeyColumns::new(1, 1000);
        for key in 0..1000 {
            keys.push(&[key]);
            conservative.add(&[key], 100);
        }
        plain.add(
            Tier::Scalar,
            &keys,
            &[100u32; 1000],
            &mut AddWork::default(),
        );
        let excess =
            |estimate: &dyn Fn(u32) -> u64| (0..1000).map(|key| estimate(key) - 100).sum::<u64>();
        let conservative = excess(&|key| conservative.estimate(&[key]));
        let plain = excess(&|key| plain.estimate(&[key]).unsigned_abs());
        assert!(
            3 * conservative < 2 * plain,
            "{conservative} beside {plain}"
        );
    }

    #[test]
    fn counters_saturate() {
        let shape = Shape { rows: 2, width: 4 };
        let mut sketch = ConservativeCountMin::new(shape, 1, Seed::from_u64(1)).unwrap();
        sketch.add(&[1], u64::MAX - 1);
        assert_eq!(sketch.add(&[1], 5), u64::MAX);
        assert_eq!(sketch.total(), u64::MAX);
    }
}
