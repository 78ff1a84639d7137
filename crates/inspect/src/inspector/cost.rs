//! What searching and trying cost, by group and by rule.

use std::time::Duration;

use serde::Serialize;

/// What a group of rules was searched for. Counts of several shards add up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupStatistics {
    /// The texts that the group looks at, as in `http.uri to_server`.
    pub name: String,
    /// Contents of the group.
    pub contents: u64,
    /// Bytes searched.
    pub bytes: u64,
    /// Contents that occurred, each once per text.
    pub hits: u64,
}

impl GroupStatistics {
    /// Adds the counts of another shard's groups to those of the same name.
    pub fn merge(sums: &mut Vec<GroupStatistics>, others: &[GroupStatistics]) {
        for other in others {
            match sums.iter_mut().find(|sum| sum.name == other.name) {
                Some(sum) => {
                    sum.bytes += other.bytes;
                    sum.hits += other.hits;
                }
                None => sums.push(other.clone()),
            }
        }
    }
}

/// What one rule cost. Counts of several shards add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleCost {
    /// How often it was tried: its header matched, and its content was there.
    pub trials: u64,
    /// How often it matched.
    pub matches: u64,
    /// Time that its trials took.
    pub time: Duration,
}

impl RuleCost {
    /// Adds the cost on another shard.
    pub fn merge(&mut self, other: &RuleCost) {
        self.trials += other.trials;
        self.matches += other.matches;
        self.time += other.time;
    }
}
