//! The stages of a gateway. Each receives a batch, asks the core packet by
//! packet, runs one call of the cipher over the batch, and forwards or counts.

mod classify;
mod protect;
mod unprotect;

use weir_crypto::JobFault;

pub use classify::{ClassifyInbound, ClassifyOutbound};
pub use protect::Protect;
pub use unprotect::Unprotect;

/// How many packets before its own an association is asked for: as far ahead as
/// the next cache but one is away.
const LOOK_AHEAD: usize = 24;

/// How many packets before its own that is asked for which an association points
/// to: the association must be there.
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
