//! The K-ary sketch.

use weir_hash::{ByteHash, Family, FourUniversal, KeyColumns, Poly44, Seed, ShapeError};
use weir_simd::Tier;

use super::Sketch;
use super::layout::{BucketIndices, Layout, LayoutMismatch};
use super::stored::{self, DecodeError, Header, Kind};
use super::sums::{AddWork, Sums};
use crate::accuracy::Shape;

/// Sums per key and their second moment in fixed memory (Krishnamurthy, Sen,
/// Zhang, Chen: *Sketch-based change detection*, IMC 2003).
///
/// A row's estimate of a key is its counter, less what the other keys add on average; the
/// sketch's is their median (equation 6.7). Each row's is unbiased, with a variance of at
/// most F₂/(w - 1) for w counters per row, where F₂ is the sum over all keys of the squared
/// sum. So an estimate is **off by more than ε·√F₂ with probability at most δ**:
/// [`MomentAccuracy`](crate::MomentAccuracy) gives w and the number of rows for ε and δ. The
/// estimate of F₂ itself (equation 6.9) is unbiased in each row with a variance of at most
/// 2F₂²/(w - 1); [`KAry::f2_bound`] is its error. Both need the hash values of any four keys
/// to be independent, so the type requires a [`FourUniversal`] family.
///
/// Values may be negative, and so may sums. [`RealKAry`] holds linear
/// combinations of such sketches.
///
/// ```
/// use weir_measure::{KAry, MomentAccuracy, Seed, Updater};
///
/// let shape = MomentAccuracy { epsilon: 0.02, delta: 0.01 }.shape()?;
/// let mut yesterday = Updater::new(KAry::for_bytes(shape, Seed::random()?)?);
/// let mut today = Updater::new(yesterday.sketch().empty_like());
/// yesterday.update(b"www.example.org", 1000);
/// today.update(b"www.example.org", 400);
///
/// // The sketch of the difference is the difference of the sketches.
/// let (yesterday, mut difference) = (yesterday.into_sketch(), today.into_sketch());
/// let mut negative = yesterday.clone();
/// negative.scale(-1);
/// difference.combine(&negative)?;
/// let change = difference.estimate_bytes(b"www.example.org");
/// assert!((change + 600.0).abs() < 0.02 * difference.f2().sqrt() + 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KAry<F: FourUniversal = Poly44> {
    sums: Sums<F>,
}

/// A linear combination of K-ary sketches, such as a forecast or its error.
#[derive(Clone, Debug, PartialEq)]
pub struct RealKAry<F: FourUniversal = Poly44> {
    layout: Layout<F>,
    counters: Vec<f64>,
    total: f64,
}

impl KAry {
    /// An empty sketch over [`Poly44`] for keys of up to `words` 32-bit words,
    /// its hash functions drawn from `seed`.
    ///
    /// # Errors
    /// A shape or key length that the hash family does not have, or one counter
    /// per row.
    pub fn new(shape: Shape, words: usize, seed: Seed) -> Result<KAry, ShapeError> {
        KAry::of_layout(Layout::new(shape, words, seed)?)
    }

    /// An empty sketch for keys of bytes, of any length: [`KAry::update_bytes`] and
    /// [`Updater`](crate::Updater).
    ///
    /// # Errors
    /// A shape that the hash family does not have, or one counter per row.
    pub fn for_bytes(shape: Shape, seed: Seed) -> Result<KAry, ShapeError> {
        KAry::new(shape, ByteHash::KEY_WORDS, seed)
    }
}

impl<F: FourUniversal> KAry<F> {
    /// An empty sketch that counts where `layout` says.
    ///
    /// # Errors
    /// The layout has one counter per row.
    pub fn of_layout(layout: Layout<F>) -> Result<KAry<F>, ShapeError> {
        check_width(&layout)?;
        Ok(KAry {
            sums: Sums::new(layout),
        })
    }

    /// An empty sketch to which this one can be added.
    pub fn empty_like(&self) -> KAry<F> {
        KAry {
            sums: Sums::new(self.sums.layout().clone()),
        }
    }

    /// Where keys are counted.
    pub fn layout(&self) -> &Layout<F> {
        self.sums.layout()
    }

    /// Rows and counters per row.
    pub fn shape(&self) -> Shape {
        self.layout().shape()
    }

    /// Sum of all values added: Z(S) of equation 6.8.
    pub fn total(&self) -> i64 {
        self.sums.state().total
    }

    /// Whether a counter stopped at the end of its range (±2⁶³), so that
    /// estimates are off.
    pub fn is_saturated(&self) -> bool {
        self.sums.state().is_saturated
    }

    /// Adds `value` to `key`, words of which beyond those of the layout do not count. Values may be negative.
    ///
    /// For many updates use [`Updater`](crate::Updater) or [`KAry::add`], which hash in
    /// batches.
    pub fn update(&mut self, key: &[u32], value: i64) {
        self.sums.update(key, value);
    }

    /// Adds `value` to a key of bytes, of any length.
    pub fn update_bytes(&mut self, key: &[u8], value: i64) {
        self.update(&self.layout().byte_key(key), value);
    }

    /// Adds `values[i]` to key `i` for a batch of keys, hashed in SIMD lanes. Keys
    /// without a value are not counted.
    pub fn add<V: Copy + Into<i64>>(
        &mut self,
        tier: Tier,
        keys: &KeyColumns,
        values: &[V],
        work: &mut AddWork,
    ) {
        self.sums.add(tier, keys, values, work);
    }

    /// The estimate of a key's sum.
    pub fn estimate(&self, key: &[u32]) -> f64 {
        let counters = self.sums.of_key(key).map(|counter| counter as f64);
        point(self.shape().width, self.total() as f64, counters)
    }

    /// The estimate of the sum of a key of bytes.
    pub fn estimate_bytes(&self, key: &[u8]) -> f64 {
        self.estimate(&self.layout().byte_key(key))
    }

    /// The estimates of a batch of keys that were hashed before, in their order
    /// (`out` is replaced).
    ///
    /// # Errors
    /// The keys were hashed for another layout; `out` is as it was.
    pub fn estimates(
        &self,
        indices: &BucketIndices<F>,
        out: &mut Vec<f64>,
    ) -> Result<(), LayoutMismatch> {
        self.layout().check(indices.layout())?;
        let (width, total) = (self.shape().width, self.total() as f64);
        out.clear();
        out.extend((0..indices.len()).map(|key| {
            let counters = self.sums.at(indices, key).map(|counter| counter as f64);
            point(width, total, counters)
        }));
        Ok(())
    }

    /// What [`KAry::f2`] may be off the truth, either way, with probability 1 - δ:
    /// infinite where so few counters promise nothing.
    pub fn f2_bound(&self, delta: f64) -> f64 {
        let share = self.shape().moment_error(delta);
        let below = if share < 1.0 {
            share / (1.0 - share)
        } else {
            f64::INFINITY
        };
        below * self.f2().max(0.0)
    }

    /// The estimate of F₂, the sum over all keys of the squared sum.
    pub fn f2(&self) -> f64 {
        second_moment(self.shape(), self.total() as f64, |row| {
            self.sums.row(row).map(|counter| counter as f64)
        })
    }

    /// Adds another sketch.
    ///
    /// # Errors
    /// The layouts differ; nothing was added.
    pub fn combine(&mut self, other: &KAry<F>) -> Result<(), LayoutMismatch> {
        self.sums.combine(&other.sums)
    }

    /// Multiplies every value by `factor`.
    pub fn scale(&mut self, factor: i64) {
        self.sums.scale(factor);
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        self.sums.clear();
    }

    /// The sketch as bytes, its seed among them.
    pub fn encode(&self) -> Vec<u8> {
        self.sums.encode(Kind::KAry)
    }

    /// The sketch that [`KAry::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are something else, of another version or hash family, cut
    /// short or damaged.
    pub fn decode(bytes: &[u8]) -> Result<KAry<F>, DecodeError> {
        let sums = Sums::decode(Kind::KAry, bytes)?;
        check_width(sums.layout())?;
        Ok(KAry { sums })
    }
}

impl<F: FourUniversal> RealKAry<F> {
    /// Zero everywhere.
    ///
    /// # Errors
    /// The layout has one counter per row.
    pub fn zero(layout: Layout<F>) -> Result<RealKAry<F>, ShapeError> {
        check_width(&layout)?;
        Ok(RealKAry {
            counters: vec![0.0; layout.counters()],
            layout,
            total: 0.0,
        })
    }

    /// Zero everywhere, to which this one can be added.
    #[must_use]
    pub fn empty_like(&self) -> RealKAry<F> {
        RealKAry {
            layout: self.layout.clone(),
            counters: vec![0.0; self.counters.len()],
            total: 0.0,
        }
    }

    /// Where keys are counted.
    pub fn layout(&self) -> &Layout<F> {
        &self.layout
    }

    /// Sum of all values: Z(S) of equation 6.8.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Adds `factor` times another sketch.
    ///
    /// # Errors
    /// The layouts differ; nothing was added.
    pub fn add_scaled(&mut self, factor: f64, other: &RealKAry<F>) -> Result<(), LayoutMismatch> {
        let counters = other.counters.iter().copied();
        self.add_counters(factor, &other.layout, counters, other.total)
    }

    /// Adds `factor` times a sketch of integers.
    ///
    /// # Errors
    /// The layouts differ; nothing was added.
    pub fn add_observed(&mut self, factor: f64, other: &KAry<F>) -> Result<(), LayoutMismatch> {
        let counters = other.sums.counters().iter().map(|counter| counter as f64);
        self.add_counters(factor, other.layout(), counters, other.total() as f64)
    }

    fn add_counters(
        &mut self,
        factor: f64,
        layout: &Layout<F>,
        counters: impl Iterator<Item = f64>,
        total: f64,
    ) -> Result<(), LayoutMismatch> {
        self.layout.check(layout)?;
        for (counter, more) in self.counters.iter_mut().zip(counters) {
            *counter += factor * more;
        }
        self.total += factor * total;
        Ok(())
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        self.counters.fill(0.0);
        self.total = 0.0;
    }

    /// Adds `value` to one key.
    pub fn add_key(&mut self, key: &[u32], value: f64) {
        for index in self.layout.indices(key) {
            self.counters[index] += value;
        }
        self.total += value;
    }

    /// Multiplies every value by `factor`.
    pub fn scale(&mut self, factor: f64) {
        for counter in &mut self.counters {
            *counter *= factor;
        }
        self.total *= factor;
    }

    /// The estimate of a key's sum.
    pub fn estimate(&self, key: &[u32]) -> f64 {
        let counters = self.layout.indices(key).map(|index| self.counters[index]);
        point(self.layout.shape().width, self.total, counters)
    }

    /// The estimate of a key that has the buckets `buckets`, one per row.
    pub(crate) fn estimate_in(&self, buckets: &[u32]) -> f64 {
        let width = self.layout.shape().width;
        let counters = indices(width, buckets).map(|index| self.counters[index]);
        point(width, self.total, counters)
    }

    /// The same of this sketch less `other`, which has the same layout.
    pub(crate) fn estimate_less(&self, other: &RealKAry<F>, buckets: &[u32]) -> f64 {
        let width = self.layout.shape().width;
        let counters =
            indices(width, buckets).map(|index| self.counters[index] - other.counters[index]);
        point(width, self.total - other.total, counters)
    }

    /// The estimates of a batch of keys that were hashed before, in their order
    /// (`out` is replaced).
    ///
    /// # Errors
    /// The keys were hashed for another layout; `out` is as it was.
    pub fn estimates(
        &self,
        indices: &BucketIndices<F>,
        out: &mut Vec<f64>,
    ) -> Result<(), LayoutMismatch> {
        self.layout.check(indices.layout())?;
        let width = self.layout.shape().width;
        out.clear();
        out.extend((0..indices.len()).map(|key| {
            let counters = indices.indices(key).map(|index| self.counters[index]);
            point(width, self.total, counters)
        }));
        Ok(())
    }

    /// The estimate of F₂, the sum over all keys of the squared sum.
    pub fn f2(&self) -> f64 {
        let width = self.layout.shape().width as usize;
        second_moment(self.layout.shape(), self.total, |row| {
            let row = &self.counters[row * width..(row + 1) * width];
            row.iter().copied()
        })
    }

    /// The sketch as bytes, its seed among them.
    pub fn encode(&self) -> Vec<u8> {
        let header = Header {
            shape: self.layout.shape(),
            words: self.layout.words(),
            is_saturated: false,
            seed: self.layout.seed(),
            total: self.total.to_bits(),
            mass: 0,
        };
        let counters = self.counters.iter().map(|counter| counter.to_bits());
        stored::encode::<F>(Kind::RealKAry, &header, counters)
    }

    /// The sketch that [`RealKAry::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are something else, of another version or hash family, cut
    /// short or damaged.
    pub fn decode(bytes: &[u8]) -> Result<RealKAry<F>, DecodeError> {
        let (header, layout, counters) = stored::decode(Kind::RealKAry, bytes)?;
        check_width(&layout)?;
        // Real counters neither saturate nor have a mass.
        if header.is_saturated {
            return Err(DecodeError::Header {
                at: stored::SATURATED_AT,
            });
        }
        if header.mass != 0 {
            return Err(DecodeError::Header {
                at: stored::MASS_AT,
            });
        }
        Ok(RealKAry {
            counters: counters.map(f64::from_bits).collect(),
            layout,
            total: f64::from_bits(header.total),
        })
    }
}

impl<F: FourUniversal> Sketch for KAry<F> {
    type Family = F;
    type Estimate = f64;

    fn layout(&self) -> &Layout<F> {
        KAry::layout(self)
    }

    fn update(&mut self, key: &[u32], value: i64) {
        KAry::update(self, key, value);
    }

    fn add_batch(&mut self, tier: Tier, keys: &KeyColumns, values: &[i64], work: &mut AddWork) {
        self.add(tier, keys, values, work);
    }

    fn estimate(&self, key: &[u32]) -> f64 {
        KAry::estimate(self, key)
    }
}

impl<F: FourUniversal> From<&KAry<F>> for RealKAry<F> {
    fn from(sketch: &KAry<F>) -> RealKAry<F> {
        let counters = sketch.sums.counters().iter();
        RealKAry {
            counters: counters.map(|counter| counter as f64).collect(),
            layout: sketch.layout().clone(),
            total: sketch.total() as f64,
        }
    }
}

/// The estimators divide by w - 1.
fn check_width<F: Family>(layout: &Layout<F>) -> Result<(), ShapeError> {
    match layout.shape().width {
        1 => Err(ShapeError::OneBucket),
        _ => Ok(()),
    }
}

/// The counters of the buckets of one key.
fn indices(width: u32, buckets: &[u32]) -> impl Iterator<Item = usize> {
    let rows = buckets.iter().enumerate();
    rows.map(move |(row, bucket)| row * width as usize + *bucket as usize)
}

/// Equation 6.7: the median over the rows of (C - Z/w) / (1 - 1/w).
fn point(width: u32, total: f64, counters: impl Iterator<Item = f64>) -> f64 {
    let w = f64::from(width);
    median(counters.map(|counter| (counter - total / w) / (1.0 - 1.0 / w)))
}

/// Equation 6.9: the median over the rows of (w ΣC² - Z²) / (w - 1).
fn second_moment<R: Iterator<Item = f64>>(
    shape: Shape,
    total: f64,
    row: impl Fn(usize) -> R,
) -> f64 {
    let w = f64::from(shape.width);
    median((0..shape.rows).map(|number| {
        let squares: f64 = row(number).map(|counter| counter * counter).sum();
        (w * squares - total * total) / (w - 1.0)
    }))
}

/// The median of what the rows say; of an even number, the mean of the middle
/// two.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted = [0.0; weir_hash::MAX_ROWS];
    let mut len = 0;
    for (place, value) in sorted.iter_mut().zip(values) {
        *place = value;
        len += 1;
    }
    let sorted = &mut sorted[..len];
    sorted.sort_unstable_by(f64::total_cmp);
    match len {
        0 => 0.0,
        _ => f64::midpoint(sorted[(len - 1) / 2], sorted[len / 2]),
    }
}

#[cfg(test)]
mod tests;
