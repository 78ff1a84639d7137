//! Searches for thousands of literal patterns at once.
//!
//! An engine answers one question for a whole batch: which of its patterns
//! occur in which haystack? What it reports is a *hit*. A [`Pattern`] is
//! a string of bytes, and whether the case of its letters matters.
//!
//! * [`Database`] is the engine that runs: filters before comparisons;
//! * [`Segmented`] is that of the thesis, to be read and compared;
//! * [`Automaton`] is the judge that both are tested by.
//!
//! All are exact: they report what occurs ([`Pattern::occurs_in`]) and nothing
//! else. An engine may report a hit more than once; [`Hits`] keeps it once.
//!
//! A haystack that continues another one, as a segment of a stream does, is a
//! [`Haystack`] that begins with the last bytes of what came before: the *carried*
//! bytes, at least one less than the longest pattern has
//! ([`Engine::longest_pattern_bytes`]). What ends among them was
//! reported before and is not reported again; what ends behind them is found,
//! wherever it begins. [`Continuation`] keeps these bytes for a stream.
//!
//! Engines are built once and never change. Threads share one; each has a [`Hits`],
//! which serves any engine.

#![deny(unsafe_code)]

mod automaton;
mod cascade;
mod choice;
mod continuation;
mod engine;
mod haystack;
mod hits;
mod pattern;
mod segmented;

/// Places buffers at unmapped pages where a test requests it.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: weir_guard::GuardedAllocator = weir_guard::GuardedAllocator;

pub use automaton::Automaton;
pub use cascade::{Database, ExplainedTable, Explanation, Profile, ProfileError, ScanStatistics};
pub use choice::{EngineChoice, EngineKind, UnknownEngine};
pub use continuation::Continuation;
pub use engine::{BuildError, Engine};
pub use haystack::Haystack;
pub use hits::{Hit, Hits};
pub use pattern::Pattern;
pub use segmented::Segmented;
