//! The stages of a gateway. Each receives a batch, asks the core packet by
//! packet, runs one call of the cipher over the batch, and forwards or counts.

mod classify;
mod protect;
mod slots;
mod too_big;
mod unprotect;
mod words;

pub use classify::{ClassifyInbound, ClassifyOutbound};
pub use protect::Protect;
pub(crate) use slots::Association;
pub use unprotect::Unprotect;
pub use words::{PROTECT, SOFT_LIFETIME, UNPROTECT};

/// How many packets ahead an association is prefetched: the latency of the third-level cache.
const LOOK_AHEAD: usize = 24;

/// How many packets ahead the data behind an association is prefetched. The association itself
/// must have arrived.
const LOOK_AHEAD_FURTHER: usize = 12;
