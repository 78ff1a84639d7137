//! The stages of a gateway. Each receives a batch, asks the core packet by
//! packet, runs one call of the cipher over the batch, and forwards or counts.

mod classify;
mod protect;
mod unprotect;

use weir_crypto::JobFault;

pub use classify::{ClassifyInbound, ClassifyOutbound};
pub use protect::Protect;
pub use unprotect::Unprotect;

/// How many packets ahead an association is prefetched: the latency of the third-level cache.
const LOOK_AHEAD: usize = 24;

/// How many packets ahead the data behind an association is prefetched. The association itself
/// must have arrived.
const LOOK_AHEAD_FURTHER: usize = 12;

/// What must not happen in a stage, after which packets must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Defect {
    /// The stage's own accounts do not fit the batch.
    #[error("record {index} of the batch is not laid out as planned")]
    Displaced { index: usize },
    /// The cipher refused a packet that the stage had made.
    #[error(transparent)]
    Unsealed(#[from] JobFault),
}
