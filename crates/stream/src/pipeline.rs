//! Pipelines: a source, shards, sinks, and the run that joins them.

use std::any::Any;
use std::io;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::batch::{Batch, BatchLimits};
use crate::context::Clock;
use crate::egress::MAX_PORTS;
use crate::meters::Meters;
use crate::stage::{Stage, StageError};
use crate::statistics::{Conservation, Statistics};
use crate::vocabulary::{Vocabulary, VocabularyError};

mod chain;
mod handover;
mod intake;
mod outlet;
mod shard;
mod sharded;

pub(crate) use chain::Chain;

/// Asks a running pipeline to end: it finishes the batches in flight, writes
/// everything, and reports itself as interrupted.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Asks for the end.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sees every batch of the source before its records go to a shard, in order
/// of arrival.
pub type Watcher = Box<dyn FnMut(&Batch) + Send>;

/// A source, one chain of stages per shard, and sinks.
pub struct Pipeline {
    source: Box<dyn Stage>,
    shards: Vec<Vec<Box<dyn Stage>>>,
    sinks: Vec<Box<dyn Stage>>,
    watcher: Option<Watcher>,
    limits: BatchLimits,
    stop: StopFlag,
}

/// A finished run: its accounts, and the stages for whoever wants their
/// results.
pub struct Outcome {
    /// Accounts of the whole run.
    pub statistics: Statistics,
    /// Accounts of each shard. Where records are handed over between shards, one
    /// counts them as received and another their fate.
    pub shard_statistics: Vec<Statistics>,
    /// The source.
    pub source: Box<dyn Stage>,
    /// The stages of each shard.
    pub shards: Vec<Vec<Box<dyn Stage>>>,
    /// The sinks.
    pub sinks: Vec<Box<dyn Stage>>,
    /// Whether the run was ended by its [`StopFlag`].
    pub interrupted: bool,
}

impl Outcome {
    /// The stages of type `S`, one per shard that has it, then those among
    /// the sinks.
    pub fn stages<S: Stage>(&self) -> impl Iterator<Item = &S> {
        let all = self.shards.iter().flatten().chain(&self.sinks);
        all.filter_map(|stage| (stage.as_ref() as &dyn std::any::Any).downcast_ref())
    }

    /// The same stages, for those that have something left to do.
    pub fn stages_mut<S: Stage>(&mut self) -> impl Iterator<Item = &mut S> {
        let all = self.shards.iter_mut().flatten().chain(&mut self.sinks);
        all.filter_map(|stage| (stage.as_mut() as &mut dyn std::any::Any).downcast_mut())
    }

    /// The source, if it is of type `S`.
    pub fn source<S: Stage>(&self) -> Option<&S> {
        (self.source.as_ref() as &dyn std::any::Any).downcast_ref()
    }
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// A stage could not go on.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// Two stages use one name for different things, or name too many.
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
    /// The accounts do not balance: a defect of a stage or of the frame.
    #[error(transparent)]
    Conservation(#[from] Conservation),
    /// A thread could not be started or died.
    #[error("shard thread: {0}")]
    Thread(String),
    /// The operating system gives no thread, no processor, or no descriptor.
    #[error("starting a worker: {0}")]
    System(#[from] io::Error),
    /// A path begins or ends at a port that there is not.
    #[error("no port has number {number}")]
    NoPort {
        /// The number.
        number: usize,
    },
    /// A worker has nothing to send by.
    #[error("port {port} has no send queue for worker {worker}: open one for each worker")]
    NoQueue {
        /// Name of the port.
        port: String,
        /// Number of the worker.
        worker: usize,
    },
    /// There are more ports than a record's egress can name.
    #[error("a pipeline has at most {MAX_PORTS} ports")]
    TooManyPorts,
    /// No shard was given.
    #[error("a pipeline needs at least one shard")]
    NoShard,
}

impl Pipeline {
    /// A pipeline with one shard that does nothing yet.
    pub fn new(source: impl Stage) -> Pipeline {
        Pipeline {
            source: Box::new(source),
            shards: vec![Vec::new()],
            sinks: Vec::new(),
            watcher: None,
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

    /// Shows every batch of the source to `watcher`.
    #[must_use]
    pub fn watch(mut self, watcher: Watcher) -> Pipeline {
        self.watcher = Some(watcher);
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
        let mut stages = iter::once(&mut self.source)
            .chain(shards)
            .chain(&mut self.sinks);
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
    fn run_registered(mut self, vocabulary: &Arc<Vocabulary>) -> Result<Outcome, PipelineError> {
        let mut stages = self.shards.iter().flatten().chain(&self.sinks);
        let keeps_flows = stages.any(|stage| stage.wants_flow_keys());
        self.limits = self.limits.keep_flows(keeps_flows);
        let outcome = match self.shards.len() {
            0 => return Err(PipelineError::NoShard),
            1 => self.run_in_one_thread(vocabulary)?,
            _ => self.run_sharded(vocabulary)?,
        };
        outcome.statistics.check_conservation_at_end()?;
        Ok(outcome)
    }

    fn run_in_one_thread(mut self, vocabulary: &Arc<Vocabulary>) -> Result<Outcome, PipelineError> {
        let (meters, mut writers) = Meters::new(vocabulary, 1);
        let meter = &mut writers[0];
        let mut batch = Batch::new(self.limits);
        let mut stages = self.shards.pop().unwrap_or_default();
        let stages_of_shard = stages.len();
        stages.append(&mut self.sinks);
        let mut chain = Chain::new(stages);

        let mut clock = Clock::start(false);
        let mut now_ns = clock.now_ns();
        let mut interrupted = false;
        let mut result = Ok(());
        while result.is_ok() && !batch.is_last() {
            batch.clear();
            let mut cx = clock.context(now_ns);
            result = self.source.process(&mut batch, &mut cx);
            let filled_ns = clock.now_ns();
            if let Some(watcher) = &mut self.watcher {
                watcher(&batch);
            }
            cx = clock.next_context(filled_ns);
            result = result.and_then(|()| chain.process(&mut batch, &mut cx));
            now_ns = clock.now_ns();
            let tally = batch.settle_accounts();
            meter.add(tally);
            meter.add_latency(now_ns - filled_ns, tally.ended());
            if self.stop.is_stopped() {
                interrupted = !batch.is_last();
                break;
            }
        }
        if result.is_ok() {
            let mut cx = clock.context(now_ns);
            result = chain.drain(&mut batch, &mut cx, |batch| {
                meter.add(batch.settle_accounts());
                Ok(())
            });
        }
        let finished = self.source.finish().and(chain.finish());
        result.and(finished)?;

        let statistics = meters.snapshot()?;
        let mut stages = chain.into_stages();
        let sinks = stages.split_off(stages_of_shard);
        Ok(Outcome {
            shard_statistics: vec![statistics.clone()],
            statistics,
            source: self.source,
            shards: vec![stages],
            sinks,
            interrupted,
        })
    }
}

/// Runs several pipelines at once, each with its own source, as the queues of
/// a network interface do, and adds up their accounts. The pipelines have one
/// vocabulary, and share nothing else.
///
/// When one of them fails, the stop flags of all are raised: the others finish
/// the batches in flight and complete their files.
///
/// # Errors
/// The first failure.
pub fn run_side_by_side(
    mut pipelines: Vec<Pipeline>,
) -> Result<(Statistics, Vec<Outcome>), PipelineError> {
    let mut vocabulary = Vocabulary::default();
    for pipeline in &mut pipelines {
        pipeline.register(&mut vocabulary)?;
    }
    let vocabulary = &Arc::new(vocabulary);
    let stops: Vec<StopFlag> = pipelines.iter().map(|p| p.stop.clone()).collect();
    let failure = Mutex::new(None);
    let run = |pipeline: Pipeline| {
        let run = AssertUnwindSafe(|| pipeline.run_registered(vocabulary));
        let fail = |error| {
            let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
            stops.iter().for_each(StopFlag::stop);
        };
        joined(catch_unwind(run)).map_err(fail).ok()
    };
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let run = &run;
        let start = |pipeline| scope.spawn(move || run(pipeline));
        let threads: Vec<_> = pipelines.into_iter().map(start).collect();
        let ended = (threads.into_iter())
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.flatten().collect()
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut statistics = Statistics::new(vocabulary);
    for outcome in &outcomes {
        statistics.merge(&outcome.statistics);
    }
    Ok((statistics, outcomes))
}

/// The result of a thread; a panic in it becomes an error.
fn join<T>(
    thread: thread::ScopedJoinHandle<'_, Result<T, PipelineError>>,
) -> Result<T, PipelineError> {
    joined(thread.join())
}

pub(crate) fn joined<T>(
    result: thread::Result<Result<T, PipelineError>>,
) -> Result<T, PipelineError> {
    result.unwrap_or_else(|panic| Err(PipelineError::Thread(panic_message(&*panic))))
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("panicked").to_owned()
}

#[cfg(test)]
mod tests;
