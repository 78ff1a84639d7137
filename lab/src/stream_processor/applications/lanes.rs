//! Rows of a cluster's own lane of the stream register file.

use crate::stream_processor::kernel::{Addressing, Builder, IndexedId, Value};

/// How a cluster names a row of its lane.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    /// The lanes, a power of two.
    clusters: usize,
    addressing: Addressing,
}

impl Lanes {
    /// Lanes whose indices the cluster forms.
    pub(super) fn new(clusters: usize) -> Lanes {
        Lanes {
            clusters,
            addressing: Addressing::Stream,
        }
    }

    /// The same with or without hardware that forms indices.
    pub(super) fn assisted(self, by_hardware: bool) -> Lanes {
        Lanes {
            addressing: if by_hardware {
                Addressing::Row
            } else {
                Addressing::Stream
            },
            ..self
        }
    }

    /// The index of a row: `cid() + N × row` (5.4.1), or the row itself where
    /// hardware does the rest. A kernel knows the number of clusters (8.2), and
    /// shifts by its logarithm.
    pub(super) fn index(&self, k: &mut Builder, row: Value) -> Value {
        match (self.addressing, self.clusters) {
            (Addressing::Row, _) | (_, 1) => row,
            (Addressing::Stream, clusters) => {
                let own = k.cluster_id();
                let first = k.shift_left(row, clusters.ilog2());
                k.add(first, own)
            }
        }
    }

    /// The word in a row.
    pub(super) fn read(&self, k: &mut Builder, stream: IndexedId, row: Value) -> Value {
        let index = self.index(k, row);
        self.at(k, stream, index)
    }

    /// The word at an index of [`Lanes::index`].
    pub(super) fn at(&self, k: &mut Builder, stream: IndexedId, index: Value) -> Value {
        k.indexed_read(stream, self.addressing, index)
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
        let counter = self.at(k, counters, index);
        let sum = k.add(counter, weight);
        k.indexed_write(counters, self.addressing, index, sum);
        sum
    }
}
