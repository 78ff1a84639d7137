//! Batches: up to 256 records, their metadata in columns.
//!
//! A record's bytes lie in one of three places: in a shared block that the source
//! read (nobody writes there); in a frame of a live port that the batch owns, where
//! they are rewritten in place; or in the batch's own slab, into which a record is
//! copied once, when a stage first rewrites it and it does not lie in a frame with
//! space for it, with room in front and behind for the headers and trailers to come.

mod add;
mod copies;
mod held;
mod limits;
mod live;
mod records;
mod rewrite;
mod settle;
mod slab;

pub use copies::{Copies, CopyShape, OuterHeader, RecordCopy, RecordRow};
pub use held::HeldRecord;
pub use limits::{BATCH_RECORDS, BatchLimits};
pub(crate) use live::{Ingress, link_type};
pub use records::{Batch, BatchFull};

#[cfg(test)]
mod tests;
