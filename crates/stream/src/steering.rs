//! Steering: which shard a record goes to, and what stages need of that.

use std::fmt;
use std::sync::Arc;

use crate::batch::{BATCH_RECORDS, Batch};
use crate::stage::Stage;

/// What a stage needs of the steering in front of it
/// ([`Stage::steering`]).
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

/// Consecutive stages that one steering serves.
#[derive(Debug)]
pub(crate) struct Segment {
    pub rule: SteeringRule,
    pub stages: usize,
}

/// Cuts a chain of stages where records must change their shards: before a
/// stage whose need the steering so far does not meet. A stage that changes
/// flows ends what the steering in front of it promised.
pub(crate) fn segments(stages: &[Box<dyn Stage>]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut rule: Option<SteeringRule> = None;
    let (mut count, mut is_spent) = (0, false);
    for stage in stages {
        let needed = match stage.steering() {
            Steering::Any => None,
            Steering::Flow => Some(SteeringRule::by_flow()),
            Steering::By(rule) => Some(rule),
        };
        if let Some(needed) = needed {
            let is_met = match &rule {
                None => false,
                Some(rule) => needed.name == FLOW || needed.name == rule.name,
            };
            if is_spent || (rule.is_some() && !is_met) {
                let stages = std::mem::replace(&mut count, 0);
                let rule = rule.replace(needed).unwrap_or_else(SteeringRule::by_flow);
                segments.push(Segment { rule, stages });
                is_spent = false;
            } else if rule.is_none() {
                rule = Some(needed);
            }
        }
        is_spent |= stage.changes_flows();
        count += 1;
    }
    segments.push(Segment {
        rule: rule.unwrap_or_else(SteeringRule::by_flow),
        stages: count,
    });
    segments
}

const FLOW: &str = "flow";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::stage::StageError;

    struct Needs(Steering, bool);

    impl Stage for Needs {
        fn name(&self) -> &str {
            "needs"
        }

        fn process(&mut self, _batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
            Ok(())
        }

        fn steering(&self) -> Steering {
            self.0.clone()
        }

        fn changes_flows(&self) -> bool {
            self.1
        }
    }

    /// Each word is a stage: `any`, `flow` or the name of a rule; `!` behind it
    /// says that it changes flows.
    fn cut(words: &'static str) -> Vec<(&'static str, usize)> {
        let stages: Vec<Box<dyn Stage>> = words
            .split_whitespace()
            .map(|word| {
                let name = word.trim_end_matches('!');
                let steering = match name {
                    "any" => Steering::Any,
                    "flow" => Steering::Flow,
                    name => Steering::By(SteeringRule::new(name, |_, _| 0)),
                };
                Box::new(Needs(steering, word != name)) as Box<dyn Stage>
            })
            .collect();
        let segments = segments(&stages);
        segments.iter().map(|s| (s.rule.name, s.stages)).collect()
    }

    #[test]
    fn a_chain_is_cut_only_where_a_need_is_not_met() {
        assert_eq!(cut(""), [("flow", 0)]);
        assert_eq!(cut("any any"), [("flow", 2)]);
        assert_eq!(cut("any pair any flow"), [("pair", 4)]);
        assert_eq!(cut("flow pair"), [("flow", 1), ("pair", 1)]);
        assert_eq!(cut("any pair any key key!"), [("pair", 3), ("key", 2)]);
    }

    #[test]
    fn changed_flows_are_steered_again_where_it_matters() {
        assert_eq!(cut("key key! any any"), [("key", 4)]);
        assert_eq!(cut("key key! any flow"), [("key", 3), ("flow", 1)]);
        assert_eq!(
            cut("pair key! pair"),
            [("pair", 1), ("key", 1), ("pair", 1)]
        );
        assert_eq!(cut("any! key"), [("flow", 1), ("key", 1)]);
        assert_eq!(cut("in in! any out out!"), [("in", 3), ("out", 2)]);
    }
}
