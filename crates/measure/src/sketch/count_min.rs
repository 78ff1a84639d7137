//! The Count-Min sketch.

use weir_hash::{ByteHash, Family, KeyColumns, Ms52, Seed, ShapeError};
use weir_simd::Tier;

use super::Sketch;
use super::layout::{Layout, LayoutMismatch};
use super::stored::{DecodeError, Kind};
use super::sums::{AddWork, Sums};
use crate::accuracy::Shape;

/// Sums per key in fixed memory (Cormode and Muthukrishnan 2005).
///
/// Each row hashes a key to one of its counters, an update adds to one counter per row, an
/// estimate is the least of them (equation 6.4). Collisions only add, therefore an estimate
/// is **never below the truth**, and **above it by more than ε·L1 with probability at most
/// δ**, where L1 is the sum of all values ([`CountMin::total`]), ε = (e/w)(1 + w²/2⁴⁴) for w
/// counters per row and δ = e⁻ᵈ for d rows. [`CountMin::bound`] is ε·L1,
/// [`Accuracy`](crate::Accuracy) gives w and d for ε and δ. The bound holds for each
/// query, for keys chosen without knowledge of the seed.
///
/// Values may be negative as long as no key's sum ever is (the strict turnstile model):
/// what was added may be subtracted again.
///
/// Counters are signed numbers of 64 bits and saturate: an estimate of `i64::MAX`
/// means "at least this" ([`CountMin::is_saturated`]).
///
/// ```
/// use weir_measure::{Accuracy, CountMin, Seed};
///
/// let shape = Accuracy { epsilon: 1e-3, delta: 0.01 }.shape()?;
/// let mut packets = CountMin::for_bytes(shape, Seed::random()?)?;
/// packets.update_bytes(b"www.example.org", 3);
/// packets.update_bytes(b"www.example.net", 1);
/// let estimate = packets.estimate_bytes(b"www.example.org");
/// assert!(3 <= estimate && estimate <= 3 + packets.bound() as i64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Keys of words, as packets have them, in batches:
///
/// ```
/// use weir_measure::{AddWork, CountMin, KeyColumns, Seed, Shape};
///
/// let shape = Shape { rows: 4, width: 4096 };
/// let mut bytes = CountMin::new(shape, 1, Seed::random()?)?;
/// let (mut keys, mut work) = (KeyColumns::new(1, 256), AddWork::default());
/// for address in [0xc000_0201, 0xc633_6407] {
///     assert!(keys.push(&[address])); // false when the batch is full
/// }
/// bytes.add(weir_measure::tier(), &keys, &[1500i64, 40], &mut work);
/// assert!(bytes.estimate(&[0xc000_0201]) >= 1500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CountMin<F: Family = Ms52> {
    sums: Sums<F>,
}

impl CountMin {
    /// An empty sketch over [`Ms52`] for keys of up to `words` 32-bit words, its
    /// hash functions drawn from `seed`.
    ///
    /// # Errors
    /// A shape or key length that the hash family does not have.
    pub fn new(shape: Shape, words: usize, seed: Seed) -> Result<CountMin, ShapeError> {
        Ok(CountMin::of_layout(Layout::new(shape, words, seed)?))
    }

    /// An empty sketch for keys of bytes, of any length: [`CountMin::update_bytes`] and
    /// [`Updater`](crate::Updater).
    ///
    /// # Errors
    /// A shape that the hash family does not have.
    pub fn for_bytes(shape: Shape, seed: Seed) -> Result<CountMin, ShapeError> {
        CountMin::new(shape, ByteHash::KEY_WORDS, seed)
    }
}

impl<F: Family> CountMin<F> {
    /// An empty sketch that counts where `layout` says.
    pub fn of_layout(layout: Layout<F>) -> CountMin<F> {
        CountMin {
            sums: Sums::new(layout),
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

    /// Sum of all values added (L1), saturating.
    pub fn total(&self) -> i64 {
        self.sums.state().total
    }

    /// Whether a counter stopped at the end of its range.
    pub fn is_saturated(&self) -> bool {
        self.sums.state().is_saturated
    }

    /// What an estimate may be above the truth, see [`Shape::bound`].
    pub fn bound(&self) -> u64 {
        self.shape().bound(self.total().unsigned_abs())
    }

    /// Adds `value` to `key`, words of which beyond those of the layout do not count. Values may be negative as long as no key's sum is.
    ///
    /// For many updates use [`Updater`](crate::Updater) or [`CountMin::add`], which hash in
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

    /// Calls `above(i, estimate)` for every key number i among `keys`, of those
    /// added last with `work`, whose estimate is now above `threshold`.
    ///
    /// # Panics
    /// No key of such a number was added with `work`.
    pub fn above(
        &self,
        keys: &[usize],
        threshold: i64,
        work: &mut AddWork,
        above: impl FnMut(usize, i64),
    ) {
        self.sums.above(keys, threshold, work, above);
    }

    /// The estimate of a key's sum.
    pub fn estimate(&self, key: &[u32]) -> i64 {
        self.sums.of_key(key).min().unwrap_or(0)
    }

    /// The estimate of the sum of a key of bytes.
    pub fn estimate_bytes(&self, key: &[u8]) -> i64 {
        self.estimate(&self.layout().byte_key(key))
    }

    /// The estimate of the inner product Σ A_k·B_k of two streams, the least of
    /// the rows': never below the truth, and above it by more than ε·‖A‖₁·‖B‖₁
    /// with probability at most δ (Cormode and Muthukrishnan 2005, theorem 2).
    ///
    /// # Errors
    /// The layouts differ.
    pub fn inner_product(&self, other: &CountMin<F>) -> Result<f64, LayoutMismatch> {
        self.layout().check(other.layout())?;
        let rows = (0..self.shape().rows).map(|row| {
            let pairs = self.sums.row(row).zip(other.sums.row(row));
            pairs.map(|(a, b)| a as f64 * b as f64).sum::<f64>()
        });
        Ok(rows.fold(f64::INFINITY, f64::min))
    }

    /// The estimate of the L2 norm (equation 6.6), the root of [`CountMin::f2`].
    pub fn l2_norm(&self) -> f64 {
        self.f2().sqrt()
    }

    /// The estimate of F₂, the sum over all keys of the squared sum, where no sum is
    /// negative: the least sum of squares of a row. It is the inner product of the
    /// stream with itself, so never below the truth, and above it by more than
    /// [`CountMin::f2_bound`] with probability at most δ. That is close for skewed
    /// streams; no variance is bounded, for which there is [`super::KAry::f2`].
    pub fn f2(&self) -> f64 {
        let rows = (0..self.shape().rows).map(|row| self.sums.squares_of_row(row));
        rows.fold(f64::INFINITY, f64::min)
    }

    /// What [`CountMin::f2`] may be above the truth: ε·‖A‖₁².
    pub fn f2_bound(&self) -> f64 {
        self.shape().epsilon() * (self.total() as f64).powi(2)
    }

    /// Adds another sketch.
    ///
    /// # Errors
    /// The layouts differ; nothing was added.
    pub fn combine(&mut self, other: &CountMin<F>) -> Result<(), LayoutMismatch> {
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
        self.sums.encode(Kind::CountMin)
    }

    /// The sketch that [`CountMin::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are something else, of another version or hash family, cut
    /// short or damaged.
    pub fn decode(bytes: &[u8]) -> Result<CountMin<F>, DecodeError> {
        let sums = Sums::decode(Kind::CountMin, bytes)?;
        Ok(CountMin { sums })
    }
}

impl<F: Family> Sketch for CountMin<F> {
    type Family = F;
    type Estimate = i64;

    fn layout(&self) -> &Layout<F> {
        CountMin::layout(self)
    }

    fn update(&mut self, key: &[u32], value: i64) {
        CountMin::update(self, key, value);
    }

    fn add_batch(&mut self, tier: Tier, keys: &KeyColumns, values: &[i64], work: &mut AddWork) {
        self.add(tier, keys, values, work);
    }

    fn estimate(&self, key: &[u32]) -> i64 {
        CountMin::estimate(self, key)
    }
}

#[cfg(test)]
mod tests;
