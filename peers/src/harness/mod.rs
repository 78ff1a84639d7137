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

/// Weir's search for contents called for each packet, which calls for batches
/// are compared with.
pub const PER_PACKET: &str = "weir, packet by packet";

/// Weir's search for a tenth of the contents.
pub const FEWER_CONTENTS: &str = "weir, 3000 contents";

/// Weir's search in usual traffic, which hostile one is compared with.
pub const USUAL_TRAFFIC: &str = "weir, mixed traffic";

/// Weir with a tag of one word, which tags of several are compared with.
pub const ONE_WORD: &str = "weir, one word of tag";
