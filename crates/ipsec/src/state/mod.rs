//! The state file: which sequence numbers of which keys are used up, so that a
//! static key never counts through the same nonces twice, also across
//! restarts and crashes.
//!
//! Before a number is used, the file says that it is: a range is reserved,
//! written under a temporary name, synced, renamed over the old file, and the
//! directory synced. A crash then skips the rest of the range and never
//! repeats it. A run that ends in order writes back how far it came.
//!
//! Keys are known by a fingerprint, not by name or SPI: a new key under an old
//! SPI starts afresh, and a key that comes back goes on where it stopped.
//!
//! Beside the file lies a second one, `….lock`. It is locked while a process
//! counts, and it holds the number of the last writing, so that a state file
//! that was lost, or put back from a copy, is noticed. What cannot be noticed
//! is a copy of both, or a second machine with the same keys.

mod error;
mod file;
mod fingerprint;
mod reservation;

pub use error::StateError;
pub use file::{Progress, StateFile};
pub use fingerprint::Fingerprint;
pub use reservation::{KeyIdentity, Reservations};
