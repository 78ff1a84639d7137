//! Contests: several subjects at one kind of work, round after round.
//!
//! ```text
//!  contest     who takes part, their turns, whether Weir met its bars
//!  row         what came out, for a file
//!  scoreboard  the same for people
//! ```

mod contest;
mod row;
mod scoreboard;

pub use contest::{Contest, Lap, timed};
pub use row::{Row, Verdict};
pub use scoreboard::Scoreboard;

/// Name of the subject that all others are compared with.
pub const WEIR: &str = "weir";

/// Weir at the opposite work, where one bar is about both.
pub const SEALING: &str = "weir, sealing them";

/// What a sketch cannot do without.
pub const FLOOR: &str = "counter adds alone";

/// Weir's sketches at keys of one word.
pub const SHORT_KEYS: &str = "weir, keys of 32 bits";

/// Weir's sketches on one core.
pub const ONE_SHARD: &str = "weir, one shard";

/// Weir with a tag of one word, which tags of several are compared with.
pub const ONE_WORD: &str = "weir, one word of tag";
