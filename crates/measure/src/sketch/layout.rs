//! Where keys are counted.

use std::fmt;

use weir_hash::{Buckets, ByteHash, Family, KeyColumns, Seed, ShapeError};
use weir_simd::Tier;

use crate::accuracy::Shape;

/// What the seed of the hash function for keys of bytes is derived for.
const BYTE_KEYS: u32 = u32::from_be_bytes(*b"byte");

/// Which counters a key has in a sketch: a hash family drawn from a seed. Sketches can be
/// added if and only if their layouts are equal. `Debug` does not show the seed: a
/// sender who knows it can choose keys that collide.
#[derive(Clone)]
pub struct Layout<F> {
    family: F,
    bytes: ByteHash,
    seed: Seed,
}

/// Sketches that cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sketches differ in size, seed, keys or hash family: their counters do not correspond")]
pub struct LayoutMismatch;

/// The counters of a batch of keys under one layout, kept to query several
/// sketches without hashing again.
#[derive(Clone, Debug)]
pub struct BucketIndices<F> {
    layout: Layout<F>,
    buckets: Buckets,
    keys: usize,
}

impl<F: fmt::Debug> fmt::Debug for Layout<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout")
            .field("family", &self.family)
            .finish_non_exhaustive()
    }
}

impl<F: Family> Layout<F> {
    /// The layout of sketches of this shape for keys of up to `words` 32-bit
    /// words, whose hash functions `seed` draws.
    ///
    /// # Errors
    /// A shape or key length that the hash family does not have.
    pub fn new(shape: Shape, words: usize, seed: Seed) -> Result<Layout<F>, ShapeError> {
        let family = F::draw(shape.rows, shape.width, words, seed)?;
        let bytes = ByteHash::new(seed.derive(BYTE_KEYS));
        Ok(Layout {
            family,
            bytes,
            seed,
        })
    }

    /// Rows and counters per row.
    pub fn shape(&self) -> Shape {
        Shape {
            rows: self.family.rows(),
            width: self.family.width(),
        }
    }

    /// Words of the longest key.
    pub fn words(&self) -> usize {
        self.family.words()
    }

    /// Number of counters.
    pub(crate) fn counters(&self) -> usize {
        self.family.rows() * self.family.width() as usize
    }

    pub(crate) fn family(&self) -> &F {
        &self.family
    }

    /// The key of a byte string, for the methods that take keys of words. Two different
    /// strings of at most L bytes have the same with probability at most (⌈L/7⌉ + 1)/2⁶¹,
    /// and (⌈L/7⌉ + 1)/2³¹ in a layout for keys of one word ([`ByteHash`]).
    pub fn byte_key(&self, bytes: &[u8]) -> [u32; ByteHash::KEY_WORDS] {
        self.bytes.key(bytes)
    }

    pub(crate) fn bytes(&self) -> &ByteHash {
        &self.bytes
    }

    pub(crate) fn seed(&self) -> Seed {
        self.seed
    }

    /// The index of a key's counter in each row, rows one after the other.
    pub(crate) fn indices(&self, key: &[u32]) -> impl Iterator<Item = usize> {
        let mut buckets = [0; weir_hash::MAX_ROWS];
        self.family
            .buckets_across(weir_simd::tier(), key, &mut buckets);
        let width = self.family.width() as usize;
        (0..self.family.rows()).map(move |row| row * width + buckets[row] as usize)
    }

    /// Whether sketches of both may be added.
    pub(crate) fn check(&self, other: &Layout<F>) -> Result<(), LayoutMismatch> {
        let equal = self.seed == other.seed
            && self.shape() == other.shape()
            && self.words() == other.words();
        equal.then_some(()).ok_or(LayoutMismatch)
    }

    /// The counters of a batch of keys, hashed in SIMD lanes.
    pub fn bucket_indices(&self, tier: Tier, keys: &KeyColumns) -> BucketIndices<F> {
        let mut buckets = Buckets::new();
        self.family.buckets(tier, keys, &mut buckets);
        BucketIndices {
            layout: self.clone(),
            buckets,
            keys: keys.len(),
        }
    }
}

impl<F: Family> PartialEq for Layout<F> {
    fn eq(&self, other: &Layout<F>) -> bool {
        self.check(other).is_ok()
    }
}

impl<F: Family> BucketIndices<F> {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.keys
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    pub(crate) fn layout(&self) -> &Layout<F> {
        &self.layout
    }

    /// The index of the counter of key number `key` in each row.
    pub(crate) fn indices(&self, key: usize) -> impl Iterator<Item = usize> {
        let width = self.layout.family.width() as usize;
        let rows = 0..self.layout.family.rows();
        rows.map(move |row| row * width + self.buckets.row(row)[key] as usize)
    }
}
