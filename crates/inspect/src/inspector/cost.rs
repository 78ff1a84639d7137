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
