//! Sketches: sums per key in fixed memory, queried approximately with a stated error.
//!
//! ```text
//!              Layout: hash family + seed            which counters a key has
//!                 │
//!              Sums: d rows of w exact counters      updates, C[r][h_r(key)] += value
//!              ├── CountMin  (2-universal)           point, inner product, L2
//!              └── KAry      (4-universal)           point, F2
//!                      └── RealKAry                  linear combinations of these
//! ```
//!
//! All of these are linear: the sketch of two streams is the sum of their
//! sketches, as long as both have the same [`Layout`]; sketches of other layouts are
//! refused ([`LayoutMismatch`]). Beside them, [`RangeCountMin`] estimates sums over ranges
//! of keys, [`ConservativeCountMin`] gives linearity up for smaller errors, and
//! [`SharedCountMin`] is there for comparison.

mod conservative;
mod count_min;
mod counters;
mod k_ary;
mod layout;
mod range;
mod shared;
mod stored;
mod sums;

use weir_hash::{Family, KeyColumns};
use weir_simd::Tier;

pub use conservative::ConservativeCountMin;
pub use count_min::CountMin;
pub use k_ary::{KAry, RealKAry};
pub use layout::{BucketIndices, Layout, LayoutMismatch};
pub use range::RangeCountMin;
pub use shared::SharedCountMin;
pub use stored::DecodeError;
pub use sums::AddWork;

/// A linear sketch that an [`Updater`](crate::Updater) can fill.
pub trait Sketch {
    /// Hash family of its rows.
    type Family: Family;
    /// What is estimated of a key.
    type Estimate;

    /// Which counters a key has.
    fn layout(&self) -> &Layout<Self::Family>;

    /// Adds `value` to `key`.
    fn update(&mut self, key: &[u32], value: i64);

    /// Adds `values[i]` to key `i` for a batch of keys, with the kernels of `tier`.
    fn add_batch(&mut self, tier: Tier, keys: &KeyColumns, values: &[i64], work: &mut AddWork);

    /// The estimate of a key's sum.
    fn estimate(&self, key: &[u32]) -> Self::Estimate;
}
