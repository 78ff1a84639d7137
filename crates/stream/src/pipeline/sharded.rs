//! Several shards on one source: a thread that reads and steers, one thread
//! per shard, one for the sinks.
//!
//! The stages of a shard are cut into *segments*, each with its own steering.
//! The stream is cut into *rounds*: the intake gives every shard one batch, and
//! in front of each further segment every shard gives every shard the records
//! that are steered there, waits for theirs, and merges them by arrival. So each shard
//! sees its records in order of arrival, whatever the threads do meanwhile.
//!
//! ```text
//!            ┌ shard 0: segment ┐ hand-over ┌ segment ┐
//!  intake ───┤                  ├─────╳─────┤         ├─── sinks
//!            └ shard 1: segment ┘           └ segment ┘
//! ```
//!
//! Every queue between threads is bounded, and who finds no space waits: nothing is lost,
//! and memory is bounded. Nothing can block in a circle: records go forward only, and all
//! shards hand over equally often ([`Exchange`]).

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::chain::Chain;
use super::handover::{Exchange, Merger};
use super::intake::Intake;
use super::outlet::Outlet;
use super::shard::{SegmentOfShard, Shard};
use super::{Outcome, Pipeline, PipelineError, join};
use crate::batch::{Batch, BatchLimits};
use crate::context::Clock;
use crate::meters::Meters;
use crate::ring::ring;
use crate::steering::segments;
use crate::vocabulary::Vocabulary;

/// Rounds that may wait for a shard, and those of a shard that may wait for the sinks.
const ROUNDS: usize = 8;

/// Empty batches, for every thread of a run.
#[derive(Clone)]
pub(super) struct Pool {
    limits: BatchLimits,
    free: Arc<Mutex<Vec<Batch>>>,
}

impl Pool {
    fn new(limits: BatchLimits) -> Pool {
        Pool {
            limits,
            free: Arc::default(),
        }
    }

    pub fn take(&self) -> Batch {
        let free = self
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut batch = free.unwrap_or_else(|| Batch::new(self.limits));
        batch.clear();
        batch
    }

    pub fn put(&self, batch: Batch) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(batch);
    }
}

impl Pipeline {
    pub(super) fn run_sharded(
        self,
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<Outcome, PipelineError> {
        let shard_count = self.shards.len();
        // The sinks write a shard's accounts, the shard those of what it hands over.
        let (meters, mut at_shards) = Meters::new(vocabulary, 2 * shard_count);
        let at_outlet = at_shards.split_off(shard_count);
        let pool = Pool::new(self.limits);
        let cuts = segments(self.shards.first().map_or(&[], Vec::as_slice));
        let (inboxes, receivers): (Vec<_>, Vec<_>) = (0..shard_count).map(|_| ring(ROUNDS)).unzip();
        let (to_sinks, at_sinks) = ring(ROUNDS * shard_count);

        thread::scope(|scope| {
            let mut shard_threads = Vec::with_capacity(shard_count);
            let ends = receivers.into_iter().zip(Exchange::between(shard_count));
            let parts = self.shards.into_iter().zip(at_shards).zip(ends);
            for (number, ((stages, meter), (inbox, exchange))) in parts.enumerate() {
                let chains = Chain::cut(stages, &cuts).into_iter().zip(&cuts);
                let segments = chains.map(|(chain, segment)| SegmentOfShard {
                    chain,
                    rule: segment.rule.clone(),
                    merger: Merger::default(),
                });
                let shard = Shard {
                    number,
                    segments: segments.collect(),
                    inbox,
                    exchange,
                    to_sinks: to_sinks.clone(),
                    pool: pool.clone(),
                    meter,
                    clock: Clock::start(false),
                };
                shard_threads.push(scope.spawn(move || shard.run()));
            }
            drop(to_sinks);
            let outlet = Outlet {
                sinks: Chain::new(self.sinks),
                meters: at_outlet,
                at_sinks,
                pool: pool.clone(),
                clock: Clock::start(false),
            };
            let sink_thread = scope.spawn(move || outlet.run());

            let intake = Intake {
                source: self.source,
                watcher: self.watcher,
                rule: cuts.into_iter().next().map(|segment| segment.rule),
                stop: self.stop,
                shards: inboxes,
                pool,
                limits: self.limits,
                clock: Clock::start(false),
                steered: 0,
            };
            let source = intake.run();
            // All are joined before the first error is looked for.
            let chains: Vec<_> = shard_threads.into_iter().map(join).collect();
            let sinks = join(sink_thread)?;
            let shards = chains.into_iter().collect::<Result<Vec<_>, _>>()?;
            let (source, interrupted) = source?;

            let statistics = meters.snapshot()?;
            let shard_statistics = (0..shard_count).map(|shard| {
                let mut of_shard = meters.of_thread(shard);
                of_shard.merge(&meters.of_thread(shard_count + shard));
                of_shard
            });
            let shard_statistics = shard_statistics.collect();
            Ok(Outcome {
                statistics,
                shard_statistics,
                source,
                shards,
                sinks: sinks.into_stages(),
                interrupted,
            })
        })
    }
}
