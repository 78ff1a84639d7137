//! The trait of the families whose functions index the rows of a sketch.

use std::fmt::{self, Debug};

use weir_simd::Tier;

use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::seed::Seed;

/// The most buckets per row: beyond this, collision probabilities exceed 1/w noticeably.
pub const MAX_WIDTH: u32 = 1 << 21;

/// The most rows: their failure probability is e⁻³².
pub const MAX_ROWS: usize = 32;

/// A size out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Buckets per row out of range.
    #[error("{0} counters per row: use 1 to {MAX_WIDTH}")]
    Width(u64),
    /// Number of rows out of range.
    #[error("{0} rows: use 1 to {MAX_ROWS}")]
    Rows(usize),
    /// A single bucket where at least two are required.
    #[error("one counter per row cannot distinguish keys: use 2 to {MAX_WIDTH}")]
    OneBucket,
    /// Words per key out of range.
    #[error("keys of {0} words: use 1 to {1}")]
    Words(usize, usize),
}

/// `rows` functions, independent of each other, from keys of up to `words`
/// 32-bit words to `width` buckets, drawn from a [`Seed`]. Each type states its property
/// and the proof.
///
/// A key with fewer words is the key padded with zero words. `Debug` shows no
/// parameters: they may be secret.
pub trait Family: Clone + PartialEq + Debug + Send + Sync {
    /// Number of the family in stored sketches; never reused.
    const CODE: u8;

    /// Draws the family from `seed`. Equal arguments give equal functions on
    /// every machine.
    ///
    /// # Errors
    /// [`ShapeError`] for a size out of range.
    fn draw(rows: usize, width: u32, words: usize, seed: Seed) -> Result<Self, ShapeError>;

    /// Number of functions.
    fn rows(&self) -> usize;

    /// Buckets per function.
    fn width(&self) -> u32;

    /// Words of the longest key.
    fn words(&self) -> usize;

    /// The scalar reference: the bucket of `key` under row `row`, below
    /// [`Family::width`]. Words beyond [`Family::words`] are ignored.
    ///
    /// # Panics
    /// `row` is not below [`Family::rows`].
    fn bucket(&self, row: usize, key: &[u32]) -> u32;

    /// Hashes one key with all functions: writes its bucket under row `r` to `out[r]`, for
    /// the first `out.len()` rows at most.
    fn buckets_of_key(&self, key: &[u32], out: &mut [u32]) {
        for (row, bucket) in (0..self.rows()).zip(out) {
            *bucket = self.bucket(row, key);
        }
    }

    /// Hashes one key with all functions, in SIMD lanes that hold functions where `tier` and
    /// the processor have them. Same result as [`Family::buckets_of_key`]; for queries of
    /// few keys.
    fn buckets_across(&self, tier: Tier, key: &[u32], out: &mut [u32]) {
        let rows = self.rows().min(out.len());
        if !self.buckets_across_in_lanes(tier, key, &mut out[..rows]) {
            self.buckets_of_key(key, out);
        }
    }

    /// The kernel of [`Family::buckets_across`]: fills `out`, which has at most one entry
    /// per function, and returns true; false where there is no kernel for `tier` or the
    /// processor lacks it.
    fn buckets_across_in_lanes(&self, tier: Tier, key: &[u32], out: &mut [u32]) -> bool {
        let _ = (tier, key, out);
        false
    }

    /// Hashes a batch of keys with all functions, in SIMD lanes where `tier` and the
    /// processor have them. Same result as [`Family::bucket`] for each key.
    fn buckets(&self, tier: Tier, keys: &KeyColumns, out: &mut Buckets) {
        self.buckets_to(tier, keys, out, &mut ());
    }

    /// The same, and passes the buckets to `sink` as they are computed, every key once
    /// per row.
    ///
    /// Kernels interleave hashing a block of keys with passing on the rows of the previous
    /// block, which hides the latency of what the sink does with a bucket.
    fn buckets_to(
        &self,
        tier: Tier,
        keys: &KeyColumns,
        out: &mut Buckets,
        sink: &mut impl BucketSink,
    ) {
        out.shape(self.rows(), keys);
        if !self.buckets_in_lanes(tier, keys, out, sink) {
            buckets_one_by_one(self, keys, out);
            out.hand_to(sink);
        }
    }

    /// The kernel of [`Family::buckets_to`]: fills `out`, which has the shape of the
    /// result, passes it to `sink` and returns true; false where there is no kernel for
    /// `tier` or the processor lacks it.
    fn buckets_in_lanes(
        &self,
        tier: Tier,
        keys: &KeyColumns,
        out: &mut Buckets,
        sink: &mut impl BucketSink,
    ) -> bool {
        let _ = (tier, keys, out, sink);
        false
    }
}

/// A family that is 4-universal up to the deviation that the type states: the buckets of
/// any four different keys under one row are independent and uniform. The variance of an
/// estimate of the second moment (F₂) requires it.
pub trait FourUniversal: Family {}

/// Checks a size.
pub(crate) fn check(
    rows: usize,
    width: u32,
    words: usize,
    max_words: usize,
) -> Result<(), ShapeError> {
    if !(1..=MAX_WIDTH).contains(&width) {
        return Err(ShapeError::Width(width.into()));
    }
    if !(1..=MAX_ROWS).contains(&rows) {
        return Err(ShapeError::Rows(rows));
    }
    if !(1..=max_words).contains(&words) {
        return Err(ShapeError::Words(words, max_words));
    }
    Ok(())
}

/// What `Debug` may show of a family.
pub(crate) fn describe(
    family: &impl Family,
    name: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.debug_struct(name)
        .field("rows", &family.rows())
        .field("width", &family.width())
        .field("words", &family.words())
        .finish_non_exhaustive()
}

/// The scalar reference of all kernels: key by key into `out`, which has the shape of the
/// result.
fn buckets_one_by_one(family: &impl Family, keys: &KeyColumns, out: &mut Buckets) {
    let stride = keys.padded_len();
    let places = out.padded_rows();
    let mut of_key = [0; MAX_ROWS];
    for lane in 0..keys.len() {
        let key = keys.key(lane);
        family.buckets_of_key(&key[..keys.words().min(MAX_KEY_WORDS)], &mut of_key);
        for (row, bucket) in of_key[..family.rows()].iter().enumerate() {
            places[row * stride + lane] = *bucket;
        }
    }
}
