//! Sums per key: what all sketches of integers are made of.

use weir_hash::{BucketSink, Buckets, Family, KeyColumns};
use weir_simd::{Tier, prefetch};

use super::counters::Counters;
use super::layout::{BucketIndices, Layout, LayoutMismatch};

/// d rows of w counters: an update adds its value to one counter per row, which
/// the row's hash function chooses (equation 6.3).
///
/// Counters are exact, and hold 64 bits with a sign. Where the magnitudes of all
/// values add up to more than that, every addition is watched, and a counter
/// that would overflow stops at the end of its range and says so
/// ([`Sums::is_saturated`]).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sums<F: Family> {
    layout: Layout<F>,
    counters: Counters,
    state: State,
}

/// What a sketch knows beside its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Sum of all values.
    pub total: i64,
    /// Sum of their magnitudes, saturating: no counter is beyond it.
    pub mass: u64,
    /// Whether the total or a counter stopped at the end of its range.
    pub is_saturated: bool,
}

/// Working memory of a batch of updates. Reuse it: then updates allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct AddWork {
    buckets: Buckets,
    is_above: Vec<bool>,
}

impl AddWork {
    /// The buckets, row by row, of key number `key` of those that were added
    /// last.
    pub(crate) fn buckets_of(&self, key: usize, rows: usize) -> impl Iterator<Item = u32> {
        (0..rows).map(move |row| self.buckets.row(row)[key])
    }
}

/// Which checks additions need.
enum Care {
    /// Values are 0 or more, and their sum fits into low parts: no counter can overflow.
    Narrow(u32),
    /// No counter can overflow.
    Wide,
    /// A counter may overflow.
    Watched,
}

/// Adds values to the low parts of the counters of one batch of keys, as buckets
/// come.
struct Adder<'a, V> {
    low: &'a mut [u32],
    width: usize,
    values: &'a [V],
}

/// Prefetches the counters of one batch of keys while buckets are computed, before values
/// are added: in a table beyond the second-level cache, other additions cannot hide the
/// latency of a miss.
struct Ahead<'a> {
    low: &'a [u32],
    width: usize,
}

impl BucketSink for Ahead<'_> {
    #[inline(always)]
    fn take(&mut self, row: usize, _: usize, buckets: &[u32]) {
        let low = &self.low[row * self.width..][..self.width];
        for bucket in buckets {
            prefetch(&low[*bucket as usize]);
        }
    }
}

/// Size of a second-level cache.
const NEAR_BYTES: usize = 1 << 20;

/// Buckets that kernels hand out at once.
const BLOCK: usize = 16;

impl<V: Copy + Into<i64>> BucketSink for Adder<'_, V> {
    #[inline(always)]
    fn take(&mut self, row: usize, first: usize, buckets: &[u32]) {
        let low = &mut self.low[row * self.width..][..self.width];
        let values = self.values.get(first..).unwrap_or_default();
        let mut add = |bucket: u32, value: V| {
            let low = &mut low[bucket as usize];
            *low = low.wrapping_add(value.into() as u32);
        };
        // A loop of known length becomes none.
        if let (Ok(buckets), Some(values)) = (
            <&[u32; BLOCK]>::try_from(buckets),
            values.first_chunk::<BLOCK>(),
        ) {
            for (bucket, value) in buckets.iter().zip(values) {
                add(*bucket, *value);
            }
        } else {
            for (bucket, value) in buckets.iter().zip(values) {
                add(*bucket, *value);
            }
        }
    }
}

impl<F: Family> Sums<F> {
    pub fn new(layout: Layout<F>) -> Sums<F> {
        let counters = Counters::new(layout.counters());
        Sums {
            layout,
            counters,
            state: State::default(),
        }
    }

    /// From parts that belong together.
    pub fn from_parts(layout: Layout<F>, counters: Counters, state: State) -> Sums<F> {
        Sums {
            layout,
            counters,
            state,
        }
    }

    pub fn layout(&self) -> &Layout<F> {
        &self.layout
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub fn state(&self) -> State {
        self.state
    }

    fn width(&self) -> usize {
        self.layout.shape().width as usize
    }

    /// The counters of one row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = i64> {
        let width = self.width();
        self.counters.iter().skip(row * width).take(width)
    }

    /// Sum of the squares of the counters of one row.
    pub fn squares_of_row(&self, row: usize) -> f64 {
        self.counters.squares_of_row(row, self.width())
    }

    /// A key's counter in each row.
    pub fn of_key(&self, key: &[u32]) -> impl Iterator<Item = i64> {
        self.layout
            .indices(key)
            .map(|index| self.counters.get(index))
    }

    /// The counters of key number `key` of `indices`, in each row.
    pub fn at<'a>(
        &'a self,
        indices: &'a BucketIndices<F>,
        key: usize,
    ) -> impl Iterator<Item = i64> + 'a {
        indices.indices(key).map(|index| self.counters.get(index))
    }

    /// Adds `values[i]` to key `i` for a batch of keys, hashed in lanes. Keys
    /// without a value are not counted.
    pub fn add<V: Copy + Into<i64>>(
        &mut self,
        tier: Tier,
        keys: &KeyColumns,
        values: &[V],
        work: &mut AddWork,
    ) {
        let values = &values[..keys.len().min(values.len())];
        let care = self.count(values);
        let width = self.width();
        let rows = self.layout.shape().rows;
        let (family, counters) = (self.layout.family(), &mut self.counters);
        if let Care::Narrow(mass) = care {
            let low = counters.low_for(mass);
            if size_of_val(low) > NEAR_BYTES {
                let mut ahead = Ahead { low, width };
                family.buckets_to(tier, keys, &mut work.buckets, &mut ahead);
                let mut adder = Adder { low, width, values };
                work.buckets.hand_to(&mut adder);
            } else {
                let mut adder = Adder { low, width, values };
                family.buckets_to(tier, keys, &mut work.buckets, &mut adder);
            }
            return;
        }
        family.buckets(tier, keys, &mut work.buckets);
        for row in 0..rows {
            for (bucket, value) in work.buckets.row(row).iter().zip(values) {
                let (index, value) = (row * width + *bucket as usize, (*value).into());
                if matches!(care, Care::Watched) {
                    self.state.is_saturated |= counters.add_saturating(index, value);
                } else {
                    counters.add(index, value);
                }
            }
        }
    }

    /// Adds `value` to one key.
    pub fn update(&mut self, key: &[u32], value: i64) {
        self.state.grow(value.into(), value.unsigned_abs().into());
        let is_watched = self.state.mass > i64::MAX as u64;
        for index in self.layout.indices(key) {
            if is_watched {
                self.state.is_saturated |= self.counters.add_saturating(index, value);
            } else {
                self.counters.add(index, value);
            }
        }
    }

    /// Adds values to the state; what care their counters need.
    fn count<V: Copy + Into<i64>>(&mut self, values: &[V]) -> Care {
        let each = || values.iter().map(|value| (*value).into());
        let (bits, sum) = each().fold((0i64, 0i64), |(bits, sum), value| {
            (bits | value, sum.wrapping_add(value))
        });
        // A million values of 32 bits add up without a carry, in lanes.
        let mut mass = None;
        if bits >> 32 == 0 && values.len() <= 1 << 20 {
            self.state.grow(sum.into(), sum.unsigned_abs().into());
            mass = u32::try_from(sum).ok();
        } else {
            let (total, mass) = each().fold((0i128, 0u128), |(total, mass), value| {
                let magnitude = u128::from(value.unsigned_abs());
                (total + i128::from(value), mass + magnitude)
            });
            self.state.grow(total, mass);
        }
        match mass.filter(|mass| *mass <= Counters::ROOM) {
            _ if self.state.mass > i64::MAX as u64 => Care::Watched,
            Some(mass) => Care::Narrow(mass),
            None => Care::Wide,
        }
    }

    /// Calls `above(i, least)` for each key number i among `keys`, of those
    /// added last with `work`, whose least counter is now above `threshold`.
    pub fn above(
        &self,
        keys: &[usize],
        threshold: i64,
        work: &mut AddWork,
        mut above: impl FnMut(usize, i64),
    ) {
        let AddWork { buckets, is_above } = work;
        let width = self.width();
        let rows = self.layout.shape().rows;
        is_above.clear();
        is_above.resize(keys.len(), true);
        // Comparing each counter with the threshold, and not keeping the least,
        // leaves no branch that a random key would mislead.
        if !self.counters.is_wide() {
            let threshold = u32::try_from(threshold).unwrap_or(u32::MAX);
            for row in 0..rows {
                let counters = self.counters.low_row(row, width);
                let buckets = buckets.row(row);
                for (key, above) in keys.iter().zip(is_above.iter_mut()) {
                    *above &= counters[buckets[*key] as usize] > threshold;
                }
            }
        }
        let above_too = keys.iter().zip(is_above).filter(|(_, above)| **above);
        for (&key, _) in above_too {
            let counters = (0..rows).map(|row| {
                self.counters
                    .get(row * width + buckets.row(row)[key] as usize)
            });
            if let Some(least) = counters.min().filter(|least| *least > threshold) {
                above(key, least);
            }
        }
    }

    /// Adds another sketch.
    pub fn combine(&mut self, other: &Sums<F>) -> Result<(), LayoutMismatch> {
        self.layout.check(&other.layout)?;
        let State { total, mass, .. } = other.state;
        self.state.grow(total.into(), mass.into());
        self.state.is_saturated |= other.state.is_saturated;
        for (index, more) in other.counters.iter().enumerate() {
            if more != 0 {
                self.state.is_saturated |= self.counters.add_saturating(index, more);
            }
        }
        Ok(())
    }

    /// Multiplies every value by `factor`.
    pub fn scale(&mut self, factor: i64) {
        let State { total, mass, .. } = self.state;
        let mut scaled = State {
            is_saturated: self.state.is_saturated,
            ..State::default()
        };
        scaled.grow(
            i128::from(total) * i128::from(factor),
            u128::from(mass) * u128::from(factor.unsigned_abs()),
        );
        for index in 0..self.layout.counters() {
            let before = self.counters.get(index);
            self.counters.set(index, before.saturating_mul(factor));
            scaled.is_saturated |= before.checked_mul(factor).is_none();
        }
        self.state = scaled;
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        self.counters.clear();
        self.state = State::default();
    }
}

impl State {
    fn grow(&mut self, total: i128, mass: u128) {
        let exact = i128::from(self.total) + total;
        let limit = if exact < 0 { i64::MIN } else { i64::MAX };
        self.total = i64::try_from(exact).unwrap_or(limit);
        self.is_saturated |= i128::from(self.total) != exact;
        let mass = u128::from(self.mass).saturating_add(mass);
        self.mass = u64::try_from(mass).unwrap_or(u64::MAX);
    }
}
