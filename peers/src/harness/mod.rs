//! Comparisons of several candidates at the same work.
//!
//! ```text
//!  comparison  one work at one size: its candidates, and whether Weir meets
//!              its targets
//!  row         results, as they are stored
//!  recorder    runs comparisons, prints the results and keeps the rows
//! ```
//!
//! The loop that measures is `weir_bench::compare`.

mod comparison;
mod recorder;
mod row;

pub use comparison::Comparison;
pub use recorder::Recorder;
pub use row::{Row, Verdict};
pub use weir_bench::{Sample, SampleParts, timed};

/// Name of the candidate that all others are compared with.
pub const WEIR: &str = "weir";

/// How the names of the prototypes in C begin. They bound what is possible, and are
/// not published software.
pub const PROTOTYPE: &str = "c-prototype";

/// Weir sealing the packets that it opens otherwise.
pub const SEALING: &str = "weir, sealing them";

/// The part of a sketch's update that nothing can avoid.
pub const FLOOR: &str = "counter adds alone";

/// Weir's sketches with keys of one word.
pub const SHORT_KEYS: &str = "weir, keys of 32 bits";

/// Weir's sketches on one core.
pub const ONE_SHARD: &str = "weir, one shard";

/// Weir's search called for each packet, beside calls for batches.
pub const PER_PACKET: &str = "weir, packet by packet";

/// Weir's search for a tenth of the patterns.
pub const FEWER_PATTERNS: &str = "weir, 3000 patterns";

/// Weir's search in usual traffic, beside hostile traffic.
pub const USUAL_TRAFFIC: &str = "weir, mixed traffic";

/// Weir with a tag of one word, beside tags of several words.
pub const ONE_WORD: &str = "weir, one word of tag";
