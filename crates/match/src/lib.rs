//! Searches for thousands of literal patterns at once.
//!
//! * [`Database`] holds the patterns; it is built once, never changes, and is shared by threads.
//! * [`Scanner`] finds every match with its offsets ([`Match`]): in one haystack, in many, and in
//!   [`Stream`]s that come in chunks.
//! * [`Engine::scan`] reports for a batch of [`Haystack`]s which patterns occur in which, each pair
//!   once ([`Hits`]): the fastest, where offsets do not matter or are verified anyway.
//! * [`Database::to_bytes`] saves it, [`Database::from_bytes`] loads it.
//!
//! All are exact: they report what occurs ([`Pattern::occurs_in`]) and nothing else.
//!
//! [`Segmented`] and [`Automaton`] are other engines to compare with: that of the thesis, and the
//! judge that both are tested by. [`EngineChoice`] builds one of the three.
//!
//! ```
//! use weir_match::{Database, Pattern};
//!
//! let database = Database::new(&[Pattern::exact("needle"), Pattern::nocase("hay")])?;
//! let mut scanner = database.scanner();
//! let found: Vec<_> = scanner.find_iter(b"HAY, a needle").collect();
//! assert_eq!((found[0].pattern, found[0].start, found[0].end), (1, 0, 3));
//! assert_eq!((found[1].pattern, found[1].start, found[1].end), (0, 7, 13));
//! # Ok::<(), weir_match::BuildError>(())
//! ```

#![deny(unsafe_code)]

mod automaton;
mod cascade;
mod choice;
mod engine;
mod haystack;
mod hits;
mod pattern;
mod scanner;
mod segmented;

/// Places buffers at unmapped pages where a test requests it.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: weir_guard::GuardedAllocator = weir_guard::GuardedAllocator;

pub use automaton::Automaton;
pub use cascade::{
    Database, ExplainedTable, Explanation, LoadError, Profile, ProfileError, ScanStatistics,
};
pub use choice::{EngineChoice, EngineKind, UnknownEngine};
pub use engine::{BuildError, Engine};
pub use haystack::Haystack;
pub use hits::{Hit, Hits};
pub use pattern::Pattern;
pub use scanner::{Match, Matches, Scanner, Stream};
pub use segmented::Segmented;
pub use weir_simd::Tier;

/// The example of the README, which has to run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
