//! Pipelines over sources: a source, shards, sinks, and the run that joins them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crate::batch::BatchLimits;
use crate::error::{PipelineError, joined};
use crate::stage::Stage;
use crate::statistics::Statistics;
use crate::stop::StopFlag;
use crate::vocabulary::{Vocabulary, VocabularyError};

mod outcome;
mod outlet;
mod parts;
mod reader;
mod round;
mod shard;
mod sharded;
mod single;

pub use outcome::Outcome;

use parts::Parts;

/// A source, one chain of stages per shard, and sinks.
pub struct Pipeline(Parts);

impl Pipeline {
    /// A pipeline with one shard that does nothing yet.
    pub fn new(source: impl Stage) -> Pipeline {
        Pipeline(Parts {
            source: vec![Box::new(source)],
            shards: vec![Vec::new()],
            sinks: Vec::new(),
            limits: BatchLimits::default(),
            stop: StopFlag::default(),
        })
    }

    /// Adds a stage to the end of a pipeline with one shard.
    #[must_use]
    pub fn stage(mut self, stage: impl Stage) -> Pipeline {
        if let Some(first) = self.0.shards.first_mut() {
            first.push(Box::new(stage));
        }
        self
    }

    /// Sets the stages of every shard, one chain of the same stages each. More
    /// than one runs on as many threads, with one thread for the source and one
    /// for the sinks. Where stages need different steering
    /// ([`Stage::steering`]), records are handed over between the shards.
    #[must_use]
    pub fn shards(mut self, shards: Vec<Vec<Box<dyn Stage>>>) -> Pipeline {
        self.0.shards = shards;
        self
    }

    /// Adds a sink. Sinks see the batches of all shards, in the order of each
    /// flow; with one shard, in order of arrival.
    #[must_use]
    pub fn sink(mut self, sink: impl Stage) -> Pipeline {
        self.0.sinks.push(Box::new(sink));
        self
    }

    /// Adds a stage behind the source, where it sees every batch before its records go to a
    /// shard, in order of arrival. It is not drained.
    #[must_use]
    pub fn watch(mut self, stage: impl Stage) -> Pipeline {
        self.0.source.push(Box::new(stage));
        self
    }

    /// Sets when batches close.
    #[must_use]
    pub fn limits(mut self, limits: BatchLimits) -> Pipeline {
        self.0.limits = limits;
        self
    }

    /// Lets the holder of `stop` end the run.
    #[must_use]
    pub fn stop_flag(mut self, stop: StopFlag) -> Pipeline {
        self.0.stop = stop;
        self
    }

    /// Enters the words of all stages into a vocabulary. [`Pipeline::run`] does that before
    /// it reads; this shows the vocabulary, and what is wrong with it, before the run.
    ///
    /// # Errors
    /// Two stages use one name for different things, or name too many.
    pub fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        let parts = &mut self.0;
        let shards = parts.shards.iter_mut().flatten();
        let mut stages = parts
            .source
            .iter_mut()
            .chain(shards)
            .chain(&mut parts.sinks);
        stages.try_for_each(|stage| stage.register(vocabulary))
    }

    /// Runs to the end of the source.
    ///
    /// # Errors
    /// Stages whose words clash, the first stage that failed (the others still finish their
    /// files where they can), or accounts that do not balance.
    pub fn run(mut self) -> Result<Outcome, PipelineError> {
        let mut vocabulary = Vocabulary::default();
        self.register(&mut vocabulary)?;
        self.run_registered(&Arc::new(vocabulary))
    }

    /// Runs with the vocabulary into which its words were entered.
    fn run_registered(self, vocabulary: &Arc<Vocabulary>) -> Result<Outcome, PipelineError> {
        let Pipeline(mut parts) = self;
        let mut stages = parts.shards.iter().flatten().chain(&parts.sinks);
        let keeps_flows = stages.any(|stage| stage.wants_flow_keys());
        parts.limits = parts.limits.keep_flows(keeps_flows);
        let outcome = match parts.shards.len() {
            0 => return Err(PipelineError::NoShard),
            1 => single::run(parts, vocabulary)?,
            _ => sharded::run(parts, vocabulary)?,
        };
        outcome.statistics.check_conservation_at_end()?;
        Ok(outcome)
    }
}

/// Runs several pipelines at once, each with its own source, as the queues of
/// a network interface do, and adds up their accounts. The pipelines have one
/// vocabulary, and share nothing else.
///
/// When one of them fails, the stop flags of all are raised: the others finish
/// the batches under way and complete their files.
///
/// # Errors
/// The failure of the first pipeline that has failed, in their order.
pub fn run_side_by_side(
    mut pipelines: Vec<Pipeline>,
) -> Result<(Statistics, Vec<Outcome>), PipelineError> {
    let mut vocabulary = Vocabulary::default();
    for pipeline in &mut pipelines {
        pipeline.register(&mut vocabulary)?;
    }
    let vocabulary = &Arc::new(vocabulary);
    let stops: Vec<StopFlag> = pipelines.iter().map(|p| p.0.stop.clone()).collect();
    let run = |pipeline: Pipeline| {
        let run = AssertUnwindSafe(|| pipeline.run_registered(vocabulary));
        joined(catch_unwind(run)).inspect_err(|_| stops.iter().for_each(StopFlag::stop))
    };
    let run = &run;
    let outcomes = thread::scope(|scope| {
        let start = |pipeline| scope.spawn(move || run(pipeline));
        let threads: Vec<_> = pipelines.into_iter().map(start).collect();
        let ended = threads.into_iter().map(|thread| joined(thread.join()));
        ended.collect::<Result<Vec<Outcome>, _>>()
    })?;
    let mut statistics = Statistics::new(vocabulary);
    for outcome in &outcomes {
        statistics.merge(&outcome.statistics);
    }
    Ok((statistics, outcomes))
}

#[cfg(test)]
mod tests;
