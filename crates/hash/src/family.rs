//! What all families of row functions have in common.

use std::fmt::{self, Debug};

use weir_simd::Tier;

use crate::buckets::{BucketSink, Buckets};
use crate::columns::{KeyColumns, MAX_KEY_WORDS};

/// The most buckets per row: beyond this the collision bounds leave 1/w by too
/// much.
pub const MAX_WIDTH: u32 = 1 << 21;

/// The most rows: a failure probability of e⁻³² is none.
pub const MAX_ROWS: usize = 32;

/// A family that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Buckets per row out of range.
    #[error("{0} counters per row: use 1 to {MAX_WIDTH}")]
    Width(u64),
    /// Number of rows out of range.
    #[error("{0} rows: use 1 to {MAX_ROWS}")]
    Rows(usize),
    /// A single bucket where there must be several.
    #[error("one counter per row tells no keys apart: use 2 to {MAX_WIDTH}")]
    OneBucket,
    /// Words per key out of range.
    #[error("keys of {0} words: use 1 to {1}")]
    Words(usize, usize),
}

/// `rows` functions, independent of each other, from keys of up to `words`
/// 32-bit words to `width` buckets, drawn from a seed. What is guaranteed of
/// them, and why, is said by each type.
///
/// A key with fewer words is the key padded with zero words. `Debug` shows no
/// parameters: they may be secret.
pub trait Family: Clone + PartialEq + Debug + Send + Sync {
    /// Number of the family in stored sketches; never given to another one.
    const CODE: u8;

    /// Draws the family from `seed`. Equal arguments give equal functions on
    /// every machine.
    ///
    /// # Errors
    /// [`ShapeError`] for a size out of range.
    fn draw(rows: usize, width: u32, words: usize, seed: u64) -> Result<Self, ShapeError>;

    /// Number of functions.
    fn rows(&self) -> usize;

    /// Buckets per function.
    fn width(&self) -> u32;

    /// Words of the longest key.
    fn words(&self) -> usize;

    /// The definition: the bucket of `key` under row `row`, below
    /// [`Family::width`]. Words beyond [`Family::words`] do not count.
    ///
    /// # Panics
    /// `row` is not below [`Family::rows`].
    fn bucket(&self, row: usize, key: &[u32]) -> u32;

    /// One key through all functions: writes its bucket under row `r` to
    /// `out[r]`, for as many rows as `out` has and the family.
    fn buckets_of_key(&self, key: &[u32], out: &mut [u32]) {
        for (row, bucket) in (0..self.rows()).zip(out) {
            *bucket = self.bucket(row, key);
        }
    }

    /// One key through all functions, lanes of which are functions where `tier` has
    /// such lanes and the processor has `tier`: what [`Family::buckets_of_key`] says, for
    /// a query of few keys.
    fn buckets_across(&self, tier: Tier, key: &[u32], out: &mut [u32]) {
        let rows = self.rows().min(out.len());
        if !self.buckets_across_in_lanes(tier, key, &mut out[..rows]) {
            self.buckets_of_key(key, out);
        }
    }

    /// Fills `out`, which is no longer than there are functions, and returns true; or
    /// returns false where the family has no such kernel for `tier`, or the processor no
    /// `tier`.
    fn buckets_across_in_lanes(&self, tier: Tier, key: &[u32], out: &mut [u32]) -> bool {
        let _ = (tier, key, out);
        false
    }

    /// Many keys through all functions: in lanes where `tier` has them and the
    /// processor has `tier`, else as [`Family::bucket`] says, with the same
    /// result.
    fn buckets(&self, tier: Tier, keys: &KeyColumns, out: &mut Buckets) {
        self.buckets_to(tier, keys, out, &mut ());
    }

    /// The same, and hands the result to `sink` as it comes, every key once
    /// under every row.
    ///
    /// Kernels hash one block of keys between handing out the rows of the block
    /// before, so that a processor that waits for what is done with a bucket has
    /// something to do meanwhile.
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

    /// Fills `out`, which has the shape of the result, hands it out and returns true;
    /// or returns false where the family has no kernel for `tier`, or the processor no
    /// `tier`.
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

/// Of any four different keys, the buckets under one row are independent and
/// uniform, up to the deviation that the type states: what the variance of a
/// second moment (F₂) needs.
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

/// The twin of all kernels: key by key, as [`Family::bucket`] says, into `out`, which has
/// the shape of the result.
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
