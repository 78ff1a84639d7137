//! Steering: which shard a record goes to, and what stages need of that.

use std::fmt;
use std::sync::Arc;

use crate::batch::{BATCH_RECORDS, Batch};

/// What a stage needs of the steering in front of it
/// ([`Stage::steering`](crate::Stage::steering)).
#[derive(Clone, Debug)]
pub enum Steering {
    /// Nothing: any record may come to any shard.
    Any,
    /// All records of a flow, in both directions, come to one shard.
    Flow,
    /// Records come to the shard that a rule says.
    By(SteeringRule),
}

/// Numbers records. Records of one number go to one shard: the number modulo
/// the number of shards. Records of one flow must get one number, so that every
/// rule satisfies [`Steering::Flow`] too.
#[derive(Clone)]
pub struct SteeringRule {
    name: &'static str,
    number_all: Arc<NumberAll>,
}

type NumberAll = dyn Fn(&Batch, &mut [u32; BATCH_RECORDS]) + Send + Sync;

impl SteeringRule {
    /// A rule that numbers records one by one. Within a pipeline, rules of one
    /// name are the same rule.
    pub fn new(
        name: &'static str,
        number: impl Fn(&Batch, usize) -> u32 + Send + Sync + 'static,
    ) -> SteeringRule {
        SteeringRule {
            name,
            number_all: Arc::new(move |batch, numbers| {
                for index in batch.live() {
                    numbers[index] = number(batch, index);
                }
            }),
        }
    }

    /// By flow: a hash of addresses, protocol and ports, the same in both
    /// directions.
    pub fn by_flow() -> SteeringRule {
        SteeringRule::new(FLOW, Batch::flow_hash)
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the rule is that of [`SteeringRule::by_flow`].
    pub(crate) fn is_by_flow(&self) -> bool {
        self.name == FLOW
    }

    /// The shard of each live record, by its index in the batch.
    pub fn shards(&self, batch: &Batch, shard_count: usize) -> [u8; BATCH_RECORDS] {
        let mut numbers = [0; BATCH_RECORDS];
        (self.number_all)(batch, &mut numbers);
        let shard_count = shard_count.clamp(1, MAX_SHARDS) as u32;
        numbers.map(|number| (number % shard_count) as u8)
    }
}

/// A pipeline has no more shards than this.
pub(crate) const MAX_SHARDS: usize = 256;

impl fmt::Debug for SteeringRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SteeringRule").field(&self.name).finish()
    }
}

const FLOW: &str = "flow";
