//! Time-multiplexed sub-sketches (sections 6.6.2 and 6.6.3 of the thesis).
//!
//! The shorter the time, the fewer keys there are to collide. So an interval is
//! cut into a *quantum* of periods, each with a separate sub-sketch and a
//! Bloom filter that tags the keys that it has seen; the fast memory holds one
//! of them at a time:
//!
//! ```text
//!   period     0            1            2          estimate of key k:
//!          ┌────────┐   ┌────────┐   ┌────────┐
//!   sketch │ C₀     │   │ C₁     │   │ C₂     │      Σ  min C_t[i][h(k)]
//!   tags   │ k? yes │   │ k? no  │   │ k? yes │      over tagged t (equation 6.17)
//!          └────────┘   └────────┘   └────────┘
//! ```
//!
//! An estimate is still never below the truth, for a Bloom filter forgets no
//! key. Where a key was active in few periods, the others' collisions are not
//! counted against it.
//!
//! Sub-sketches may share their hash functions ([`SameHashes`]) or draw new ones
//! for each period ([`FreshHashes`]), so that a key that is unlucky once is not
//! so in all periods. Only the former can be added up to the sketch of the whole
//! interval, and only they have the function that does it.

mod tags;

use std::marker::PhantomData;

use weir_hash::{KeyColumns, Seed, ShapeError};
use weir_simd::Tier;

use crate::accuracy::Shape;
use crate::sketch::{AddWork, CountMin, LayoutMismatch};
use tags::Tags;

/// How the hash functions of the periods are chosen.
pub trait Hashes {
    /// Whether all periods share them.
    const ARE_SHARED: bool;
}

/// One choice of hash functions for all periods: sub-sketches can be added.
#[derive(Clone, Copy, Debug)]
pub struct SameHashes;

/// Separate hash functions for each period: sub-sketches count in different
/// places and cannot be added.
#[derive(Clone, Copy, Debug)]
pub struct FreshHashes;

impl Hashes for SameHashes {
    const ARE_SHARED: bool = true;
}

impl Hashes for FreshHashes {
    const ARE_SHARED: bool = false;
}

/// The Count-Min sub-sketches of one interval.
#[derive(Clone, Debug)]
pub struct SubSketches<H: Hashes> {
    periods: Vec<Period>,
    hashes: PhantomData<H>,
}

#[derive(Clone, Debug)]
struct Period {
    sums: CountMin,
    tags: Tags,
}

/// A sub-sketch that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubSketchError {
    /// No periods, or more than are sensible.
    #[error("quantum of {0} periods: use 1 to {MAX_QUANTUM}")]
    Quantum(usize),
    /// Size out of range.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

/// The most periods of an interval.
const MAX_QUANTUM: usize = 4096;

impl<H: Hashes> SubSketches<H> {
    /// `quantum` empty sub-sketches of `shape` for keys of up to `words` 32-bit
    /// words, with tags for `keys` keys in each period, all drawn from `seed`.
    ///
    /// # Errors
    /// A quantum, shape or key length out of range.
    pub fn new(
        quantum: usize,
        shape: Shape,
        words: usize,
        keys: usize,
        seed: Seed,
    ) -> Result<SubSketches<H>, SubSketchError> {
        if !(1..=MAX_QUANTUM).contains(&quantum) {
            return Err(SubSketchError::Quantum(quantum));
        }
        let periods = (0..quantum as u32)
            .map(|period| {
                // Tags that chose by the same draws as the rows would be wrong
                // just where these collide.
                let [own, of_tags] = [2 * period, 2 * period + 1].map(|it| seed.derive(it));
                let seed = if H::ARE_SHARED { seed } else { own };
                Ok(Period {
                    sums: CountMin::new(shape, words, seed)?,
                    tags: Tags::new(keys, of_tags),
                })
            })
            .collect::<Result<_, ShapeError>>()?;
        Ok(SubSketches {
            periods,
            hashes: PhantomData,
        })
    }

    /// Number of periods.
    pub fn quantum(&self) -> usize {
        self.periods.len()
    }

    /// Adds `values[i]` to key `i` of a batch in period `period`, and tags the
    /// keys. Keys without a value are not counted.
    ///
    /// # Panics
    /// `period` is not below [`SubSketches::quantum`].
    pub fn add(
        &mut self,
        period: usize,
        tier: Tier,
        keys: &KeyColumns,
        values: &[i64],
        work: &mut AddWork,
    ) {
        let Period { sums, tags } = &mut self.periods[period];
        sums.add(tier, keys, values, work);
        tags.insert(keys, values.len());
    }

    /// The estimate of a key's sum over the interval, from the periods that have
    /// its tag: equation 6.17.
    pub fn estimate(&self, key: &[u32]) -> i64 {
        let tagged = self
            .periods
            .iter()
            .filter(|period| period.tags.contains(key));
        tagged.fold(0, |sum: i64, period| {
            sum.saturating_add(period.sums.estimate(key))
        })
    }
}

impl SubSketches<SameHashes> {
    /// The sketch of the whole interval: equation 6.11.
    pub fn combine(&self) -> Result<CountMin, LayoutMismatch> {
        let mut periods = self.periods.iter();
        // There is at least one period.
        let mut whole = periods
            .next()
            .map_or(Err(LayoutMismatch), |first| Ok(first.sums.clone()))?;
        for period in periods {
            whole.combine(&period.sums)?;
        }
        Ok(whole)
    }
}

/// The error measure of equation 6.18: the root of the mean squared relative
/// error over all keys, each given as its estimate and its true sum. Keys whose
/// true sum is 0 have no relative error and do not count; 0 of no keys.
pub fn average_error(estimates: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut squares, mut keys) = (0.0, 0u64);
    for (estimate, truth) in estimates.filter(|(_, truth)| *truth != 0.0) {
        squares += ((estimate - truth) / truth).powi(2);
        keys += 1;
    }
    if keys == 0 {
        return 0.0;
    }
    (squares / keys as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const SHAPE: Shape = Shape { rows: 4, width: 64 };

    /// 900 keys, most of them in one of three periods, some in two.
    fn updates() -> Vec<(usize, u32, i64)> {
        (0..900u32)
            .flat_map(|key| {
                let first = (key as usize % 3, key, i64::from(key % 50 + 1));
                let second = (key as usize % 2, key, 7);
                [Some(first), (key % 5 == 0).then_some(second)]
            })
            .flatten()
            .collect()
    }

    fn add<H: Hashes>(sketches: &mut SubSketches<H>, updates: &[(usize, u32, i64)]) {
        let mut work = AddWork::default();
        for (period, key, value) in updates {
            let mut columns = KeyColumns::new(1, 1);
            assert!(columns.push(&[*key]));
            sketches.add(*period, weir_simd::tier(), &columns, &[*value], &mut work);
        }
    }

    fn truth(updates: &[(usize, u32, i64)]) -> HashMap<u32, i64> {
        let mut sums = HashMap::new();
        for (_, key, value) in updates {
            *sums.entry(*key).or_default() += value;
        }
        sums
    }

    fn error(truth: &HashMap<u32, i64>, estimate: impl Fn(&[u32]) -> i64) -> f64 {
        average_error(truth.iter().map(|(key, sum)| {
            let estimate = estimate(&[*key]);
            assert!(estimate >= *sum, "{key}: {estimate} < {sum}");
            (estimate as f64, *sum as f64)
        }))
    }

    #[test]
    fn tagged_periods_err_less_than_the_whole_and_never_below() {
        let updates = updates();
        let truth = truth(&updates);
        let mut same: SubSketches<SameHashes> =
            SubSketches::new(3, SHAPE, 1, 400, Seed::from_u64(5)).unwrap();
        let mut fresh: SubSketches<FreshHashes> =
            SubSketches::new(3, SHAPE, 1, 400, Seed::from_u64(5)).unwrap();
        add(&mut same, &updates);
        add(&mut fresh, &updates);
        let whole = same.combine().unwrap();
        let of_whole = error(&truth, |key| whole.estimate(key));
        for of_parts in [
            error(&truth, |key| same.estimate(key)),
            error(&truth, |key| fresh.estimate(key)),
        ] {
            assert!(of_parts < 0.6 * of_whole, "{of_parts} {of_whole}");
        }
    }

    #[test]
    fn sub_sketches_of_one_choice_add_up_to_the_sketch_of_the_whole() {
        let updates = updates();
        let mut parts: SubSketches<SameHashes> =
            SubSketches::new(3, SHAPE, 1, 400, Seed::from_u64(5)).unwrap();
        add(&mut parts, &updates);
        let mut whole: SubSketches<SameHashes> =
            SubSketches::new(1, SHAPE, 1, 400, Seed::from_u64(5)).unwrap();
        let at_once: Vec<_> = updates
            .iter()
            .map(|(_, key, value)| (0, *key, *value))
            .collect();
        add(&mut whole, &at_once);
        assert_eq!(parts.combine(), whole.combine());
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        for quantum in [0, MAX_QUANTUM + 1] {
            let none =
                SubSketches::<SameHashes>::new(quantum, SHAPE, 1, 10, Seed::from_u64(1)).err();
            assert_eq!(none, Some(SubSketchError::Quantum(quantum)));
        }
        let flat = Shape { rows: 0, width: 64 };
        assert!(SubSketches::<FreshHashes>::new(2, flat, 1, 10, Seed::from_u64(1)).is_err());
    }

    #[test]
    fn average_error_is_the_root_of_the_mean_square() {
        assert_eq!(average_error([].into_iter()), 0.0);
        assert_eq!(average_error([(5.0, 0.0)].into_iter()), 0.0);
        let error = average_error([(15.0, 10.0), (20.0, 20.0)].into_iter());
        assert!((error - (0.25f64 / 2.0).sqrt()).abs() < 1e-12);
    }
}
