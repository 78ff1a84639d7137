//! One word of all clusters' words.

use crate::stream_processor::kernel::{Builder, Value};

/// Clusters that are brought together in pairs, pairs of pairs and so on.
pub(super) struct Tree {
    partners: Vec<Value>,
}

impl Tree {
    pub(super) fn declare(k: &mut Builder, clusters: usize) -> Tree {
        let own = k.cluster_id();
        let distances = (0..clusters.ilog2()).map(|level| k.constant(1 << level));
        let distances: Vec<Value> = distances.collect();
        Tree {
            partners: distances
                .into_iter()
                .map(|distance| k.xor(own, distance))
                .collect(),
        }
    }

    /// What `join` makes of all clusters' words, in every cluster: whatever the order.
    pub(super) fn fold(
        &self,
        k: &mut Builder,
        word: Value,
        join: impl Fn(&mut Builder, Value, Value) -> Value,
    ) -> Value {
        self.partners.iter().fold(word, |word, &partner| {
            let other = k.communicate(word, partner);
            join(k, word, other)
        })
    }
}
