//! Sketches: sums per key in fixed memory, from which questions about a stream
//! are answered approximately, with a stated error.
//!
//! ```text
//!              Layout: hash family + seed            where keys count
//!                 │
//!              Sums: d rows of w exact counters      updates, C[r][h_r(key)] += value
//!              ├── CountMin  (2-universal)           point, inner product, L2
//!              └── KAry      (4-universal)           point, F2
//!                      └── RealKAry                  linear combinations of these
//! ```
//!
//! All of these are linear: the sketch of two streams is the sum of their
//! sketches, as long as both have the same [`Layout`], and nothing else can be
//! added ([`LayoutMismatch`]). Beside them, [`RangeCountMin`] answers for ranges of
//! keys, [`ConservativeCountMin`] gives linearity up for smaller errors,
//! [`SharedCountMin`] is there for comparison, and [`RecentKeys`] stands in front of
//! any of them where keys come again soon.

mod conservative;
mod count_min;
mod counters;
mod k_ary;
mod layout;
mod range;
mod recent;
mod shared;
mod stored;
mod sums;

pub use conservative::ConservativeCountMin;
pub use count_min::CountMin;
pub use k_ary::{KAry, RealKAry};
pub use layout::{Layout, LayoutMismatch, Places};
pub use range::RangeCountMin;
pub use recent::RecentKeys;
pub use shared::SharedCountMin;
pub use stored::DecodeError;
pub use sums::AddWork;
