//! Rows of a cluster's own lane of the stream register file.

use crate::kernel::{Addressing, Builder, IndexedId, Value};

/// How a cluster names a row of its lane.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    /// What the indices of its accesses are.
    pub(super) addressing: Addressing,
}

impl Lanes {
    /// With or without the assist in hardware.
    pub(super) fn new(assist: bool) -> Lanes {
        Lanes {
            addressing: if assist {
                Addressing::Row
            } else {
                Addressing::Stream
            },
        }
    }

    /// The index of a row: `cid() + N × row` (5.4.1), or the row itself where
    /// hardware does the rest.
    pub(super) fn index(&self, k: &mut Builder, row: Value) -> Value {
        match self.addressing {
            Addressing::Row => row,
            Addressing::Stream => {
                let (own, lanes) = (k.cluster_id(), k.cluster_count());
                let first = k.multiply_low(row, lanes);
                k.add(first, own)
            }
        }
    }

    /// Adds to the counter in a row, and gives the sum.
    pub(super) fn count(
        &self,
        k: &mut Builder,
        counters: IndexedId,
        row: Value,
        weight: Value,
    ) -> Value {
        let index = self.index(k, row);
        let counter = k.indexed_read(counters, self.addressing, index);
        let sum = k.add(counter, weight);
        k.indexed_write(counters, self.addressing, index, sum);
        sum
    }
}
