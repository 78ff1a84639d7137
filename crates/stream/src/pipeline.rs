//! Pipelines over sources: a source, shards, sinks, and the run that joins them.

use std::sync::Arc;

use crate::batch::BatchLimits;
use crate::chain::Chain;
use crate::egress::Egress;
use crate::error::PipelineError;
use crate::meters::Meters;
use crate::pool::Pool;
use crate::ring::ring;
use crate::running::{Outcome, Running};
use crate::stage::Stage;
use crate::statistics::Statistics;
use crate::stop::StopFlag;
use crate::vocabulary::{Vocabulary, VocabularyError};
use crate::worker::{
    AtShard, Boundary, Exchange, Exit, Input, Plan, Shared, Source, ToShards, Worker,
};

/// Rounds that may wait for a shard, and those of a shard that may wait for the sinks.
const ROUNDS: usize = 8;

/// A source, one chain of stages per shard, and sinks.
pub struct Pipeline {
    /// The source, and the stages that watch it.
    source: Vec<Box<dyn Stage>>,
    /// A chain of the same stages for every shard.
    shards: Vec<Vec<Box<dyn Stage>>>,
    sinks: Vec<Box<dyn Stage>>,
    limits: BatchLimits,
    stop: StopFlag,
}

impl Pipeline {
    /// A pipeline with one shard that does nothing yet.
    pub fn new(source: impl Stage) -> Pipeline {
        Pipeline {
            source: vec![Box::new(source)],
            shards: vec![Vec::new()],
            sinks: Vec::new(),
            limits: BatchLimits::default(),
            stop: StopFlag::default(),
        }
    }

    /// Adds a stage to the end of a pipeline with one shard.
    #[must_use]
    pub fn stage(mut self, stage: impl Stage) -> Pipeline {
        if let Some(first) = self.shards.first_mut() {
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
        self.shards = shards;
        self
    }

    /// Adds a sink. Sinks see the batches of all shards, in the order of each
    /// flow; with one shard, in order of arrival.
    #[must_use]
    pub fn sink(mut self, sink: impl Stage) -> Pipeline {
        self.sinks.push(Box::new(sink));
        self
    }

    /// Adds a stage behind the source, where it sees every batch before its records go to a
    /// shard, in order of arrival. It is not drained.
    #[must_use]
    pub fn watch(mut self, stage: impl Stage) -> Pipeline {
        self.source.push(Box::new(stage));
        self
    }

    /// Sets when batches close.
    #[must_use]
    pub fn limits(mut self, limits: BatchLimits) -> Pipeline {
        self.limits = limits;
        self
    }

    /// Lets the holder of `stop` end the run.
    #[must_use]
    pub fn stop_flag(mut self, stop: StopFlag) -> Pipeline {
        self.stop = stop;
        self
    }

    /// Enters the words of all stages into a vocabulary. [`Pipeline::run`] does that before
    /// it reads; this shows the vocabulary, and what is wrong with it, before the run.
    ///
    /// # Errors
    /// Two stages use one name for different things, or name too many.
    pub fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        let shards = self.shards.iter_mut().flatten();
        let mut stages = self.source.iter_mut().chain(shards).chain(&mut self.sinks);
        stages.try_for_each(|stage| stage.register(vocabulary))
    }

    /// Runs to the end of the source.
    ///
    /// # Errors
    /// Stages whose words clash, the first stage that failed (the others still finish their
    /// files where they can), or accounts that do not balance.
    pub fn run(self) -> Result<Outcome, PipelineError> {
        let (_, mut outcomes) = run_side_by_side(vec![self])?;
        outcomes.pop().ok_or(PipelineError::NoShard)
    }

    /// Starts with the vocabulary into which its words were entered. A failure raises all of `ends`.
    ///
    /// With one shard, one worker does everything. With several, there is one that reads, one for
    /// each shard, and one for the sinks. Every queue between them is bounded, and who finds
    /// no space waits: nothing is lost. Nobody waits in a circle: records go forward only, and all
    /// shards hand over equally often.
    fn start(
        self,
        vocabulary: &Arc<Vocabulary>,
        ends: &Arc<[StopFlag]>,
    ) -> Result<Running, PipelineError> {
        let mut stages = self.shards.iter().flatten().chain(&self.sinks);
        let keeps_flows = stages.any(|stage| stage.wants_flow_keys());
        let pool = Pool::new(self.limits.keep_flows(keeps_flows));
        let shard_count = self.shards.len();
        let plan = |stages: &[_]| Arc::new(Plan::new(Egress::NONE, stages, true, true));
        let of_shards = plan(self.shards.first().ok_or(PipelineError::NoShard)?);
        let source = Chain::new(self.source);
        let source = Input::Source(Source::new(source, shard_count, &self.stop));
        let shared = Arc::new(Shared {
            vocabulary: Arc::clone(vocabulary),
            boundary: Boundary::of(shard_count + 2),
            stop: self.stop,
            ends: Arc::clone(ends),
            live: None,
        });
        let mut parts = Vec::with_capacity(shard_count + 2);
        if shard_count == 1 {
            let stages = self
                .shards
                .into_iter()
                .flatten()
                .chain(self.sinks)
                .collect();
            parts.push((of_shards, stages, source, Exchange::Alone, Exit::Settled));
        } else {
            let mut at_reader = AtShard::all(shard_count, 1);
            let mut at_shards = AtShard::all(shard_count, of_shards.segments.len());
            let to_shards = Exit::Shards(ToShards::join(&mut at_reader, ROUNDS));
            parts.push((
                Arc::clone(&of_shards),
                Vec::new(),
                source,
                Exchange::Alone,
                to_shards,
            ));
            let to_shards = (0..shard_count).map(|_| ToShards::join(&mut at_shards, 1));
            let to_shards: Vec<ToShards> = to_shards.collect();
            let (to_sinks, at_sinks) = ring(ROUNDS * shard_count);
            let ends = at_reader
                .into_iter()
                .zip(to_shards.into_iter().zip(at_shards));
            for (stages, (at_reader, (to_shards, at_shard))) in self.shards.into_iter().zip(ends) {
                let exchange = Exchange::InStep(to_shards, at_shard);
                let exit = Exit::Sinks(to_sinks.clone());
                parts.push((
                    Arc::clone(&of_shards),
                    stages,
                    Input::Reader(at_reader),
                    exchange,
                    exit,
                ));
            }
            let plan = plan(&self.sinks);
            let input = Input::Shards(at_sinks);
            parts.push((plan, self.sinks, input, Exchange::Alone, Exit::Settled));
        }
        let (meters, writers) = Meters::new(vocabulary, parts.len());
        let parts = parts.into_iter().zip(writers).enumerate();
        let workers = parts.map(|(number, ((plan, stages, input, exchange, exit), meter))| {
            let paths = [(plan, stages, meter)];
            Worker::new(number, &shared, input, paths, exchange, exit, &pool)
        });
        let workers = workers.collect();
        Running::start(workers, &[], &shared, meters)
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
    let vocabulary = Arc::new(vocabulary);
    let ends = pipelines
        .iter()
        .map(|pipeline| pipeline.stop.clone())
        .collect();
    let start = |pipeline: Pipeline| pipeline.start(&vocabulary, &ends);
    let running: Vec<Running> = pipelines.into_iter().map(start).collect::<Result<_, _>>()?;
    // All are joined before the first error is looked for.
    let outcomes: Vec<_> = running.into_iter().map(Running::join).collect();
    let outcomes = outcomes.into_iter().collect::<Result<Vec<Outcome>, _>>()?;
    let mut statistics = Statistics::new(&vocabulary);
    for outcome in &outcomes {
        statistics.merge(&outcome.statistics);
    }
    Ok((statistics, outcomes))
}

#[cfg(test)]
mod tests;
