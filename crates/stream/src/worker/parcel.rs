//! What workers pass along their paths, and to each other.

use crate::batch::Batch;

/// Batches on their way along a path.
pub(crate) struct Parcel {
    pub path: usize,
    /// The segment that they go on with.
    pub segment: usize,
    /// Whether their records are on the worker that the segment needs them on.
    pub is_here: bool,
    /// When they were filled.
    pub filled_ns: u64,
    pub batches: Vec<Batch>,
}

impl Parcel {
    /// Batches at the beginning of a path.
    pub fn new(batches: Vec<Batch>, path: usize, filled_ns: u64) -> Parcel {
        Parcel {
            path,
            segment: 0,
            is_here: true,
            filled_ns,
            batches,
        }
    }
}
