//! The stages of a gateway. Each receives a batch, asks the core packet by
//! packet, runs one call of the cipher over the batch, and forwards or counts.

mod classify;
mod protect;
mod unprotect;

pub use classify::{ClassifyInbound, ClassifyOutbound};
pub use protect::Protect;
pub use unprotect::Unprotect;

use crate::esp::Layout;

/// How many packets before its own an association is asked for: as far ahead as
/// the next cache but one is away.
const LOOK_AHEAD: usize = 24;

/// How many packets before its own that is asked for which an association points
/// to: the association must be there.
const LOOK_AHEAD_FURTHER: usize = 12;

/// A stage's own accounts do not fit the batch: a defect, after which packets
/// must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record is not laid out as planned ({layout:?})")]
struct Displaced {
    layout: Layout,
}
