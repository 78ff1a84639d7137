//! The stages of a gateway. Each receives a batch, asks the core packet by
//! packet, runs one call of the cipher over the batch, and forwards or counts.

mod classify;
mod protect;
mod unprotect;

use weir_stream::Batch;

pub use classify::{ClassifyInbound, ClassifyOutbound};
pub use protect::Protect;
pub use unprotect::Unprotect;

use crate::esp::Layout;

/// Fills `order` with the positions `0..count`, sorted by where their records
/// lie in memory, which is the order in which a batch hands them out for
/// writing. It is the order of arrival unless a record outgrew its room.
fn sort_by_place(
    batch: &Batch,
    order: &mut Vec<usize>,
    count: usize,
    index: impl Fn(usize) -> usize,
) {
    order.clear();
    order.extend(0..count);
    order.sort_by_key(|position| batch.record(index(*position)).as_ptr());
}

/// A stage's own accounts do not fit the batch: a defect, after which packets
/// must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record is not laid out as planned ({layout:?})")]
struct Displaced {
    layout: Layout,
}
