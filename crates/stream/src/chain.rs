//! The stages that one thread runs, one after the other, and where records change threads between
//! them.

use crate::batch::Batch;
use crate::context::Context;
use crate::stage::{Stage, StageError};
use crate::steering::{Steering, SteeringRule};

/// Stages that run one after the other in one thread.
#[derive(Default)]
pub(crate) struct Chain {
    stages: Vec<Box<dyn Stage>>,
}

impl Chain {
    pub fn new(stages: Vec<Box<dyn Stage>>) -> Chain {
        Chain { stages }
    }

    /// Cuts the stages of one thread into a chain for each segment.
    pub fn cut(stages: Vec<Box<dyn Stage>>, segments: &[Segment]) -> Vec<Chain> {
        let mut rest = stages.into_iter();
        let mut chains: Vec<Chain> = (segments.iter())
            .map(|segment| Chain::new(rest.by_ref().take(segment.stages).collect()))
            .collect();
        // What a thread has more than the first one is of the last segment.
        if let Some(last) = chains.last_mut() {
            last.stages.extend(rest);
        }
        chains
    }

    pub fn into_stages(self) -> Vec<Box<dyn Stage>> {
        self.stages
    }

    pub fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        self.process_from(0, batch, cx)
    }

    fn process_from(
        &mut self,
        first: usize,
        batch: &mut Batch,
        cx: &mut Context,
    ) -> Result<(), StageError> {
        for stage in &mut self.stages[first..] {
            stage.process(batch, cx)?;
        }
        Ok(())
    }

    /// Lets every stage release what it holds and note its last events,
    /// first to last, each batch through the stages behind, and hands each batch
    /// that has records or events to `done`.
    pub fn drain(
        &mut self,
        batch: &mut Batch,
        cx: &mut Context,
        mut done: impl FnMut(&mut Batch),
    ) -> Result<(), StageError> {
        for index in 0..self.stages.len() {
            loop {
                batch.clear();
                self.stages[index].drain(batch, cx)?;
                if batch.is_empty() && batch.events().is_empty() {
                    break;
                }
                self.process_from(index + 1, batch, cx)?;
                done(batch);
            }
        }
        Ok(())
    }

    /// Finishes every stage, also after one failed, and returns the first
    /// error.
    pub fn finish(&mut self) -> Result<(), StageError> {
        self.stages
            .iter_mut()
            .map(|stage| stage.finish())
            .fold(Ok(()), Result::and)
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
                Some(rule) => needed.is_by_flow() || needed.name() == rule.name(),
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
        segments.iter().map(|s| (s.rule.name(), s.stages)).collect()
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
