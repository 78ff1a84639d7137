//! Several shards on one source: a thread that reads and steers, one thread
//! per shard, one for the sinks.
//!
//! The stages of a shard are cut into *segments*, each with its own steering.
//! The stream is cut into *rounds*: the intake gives every shard one batch, and
//! in front of each further segment every shard gives every shard the records
//! that are steered there, and merges what it gets by arrival. So each shard
//! sees its records in order of arrival, whatever the threads do meanwhile.
//!
//! ```text
//!            ┌ shard 0: segment ┐ hand-over ┌ segment ┐
//!  intake ───┤                  ├─────╳─────┤         ├─── sinks
//!            └ shard 1: segment ┘           └ segment ┘
//!      ▲                                                    │
//!      └──────── permits: how many rounds are under way ────┘
//! ```
//!
//! No queue between threads has a bound of its own, so no thread waits for
//! another to take something: only the intake waits, for a permit that the
//! sinks give back when a shard has finished a round. That bounds memory, and
//! nothing can block in a circle.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::chain::Chain;
use super::intake::Intake;
use super::outlet::Outlet;
use super::worker::{Alarm, Message, SegmentOfShard, Worker};
use super::{Outcome, Pipeline, PipelineError, join};
use crate::batch::{Batch, BatchLimits};
use crate::context::Clock;
use crate::meters::Meters;
use crate::stage::Stage;
use crate::steering::{Segment, segments};
use crate::vocabulary::Vocabulary;

/// Rounds that may be under way.
const ROUNDS_UNDER_WAY: usize = 8;

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
        let (inboxes, receivers): (Vec<Sender<Message>>, Vec<Receiver<Message>>) =
            (0..shard_count).map(|_| channel()).unzip();
        let (to_sinks, at_sinks) = channel();
        let (give_permit, permits) = channel();
        for _ in 0..ROUNDS_UNDER_WAY * shard_count {
            // The receiver is here.
            let _ = give_permit.send(());
        }

        thread::scope(|scope| {
            let mut shard_threads = Vec::with_capacity(shard_count);
            for ((shard, stages), inbox) in self.shards.into_iter().enumerate().zip(receivers) {
                let meter = at_shards.remove(0);
                let worker = Worker {
                    shard,
                    segments: cut(stages, &cuts, shard_count),
                    inbox,
                    peers: inboxes.clone(),
                    to_sinks: to_sinks.clone(),
                    pool: pool.clone(),
                    meter,
                    clock: Clock::start(),
                    batches: 0,
                };
                shard_threads.push(scope.spawn(move || worker.run()));
            }
            drop(to_sinks);
            let outlet = Outlet {
                sinks: Chain::new(self.sinks),
                meters: at_outlet,
                at_sinks,
                permits: give_permit,
                pool: pool.clone(),
                clock: Clock::start(),
                batches: 0,
            };
            let sink_thread = scope.spawn(move || outlet.run());

            let intake = Intake {
                source: self.source,
                watcher: self.watcher,
                rule: cuts.into_iter().next().map(|segment| segment.rule),
                stop: self.stop,
                alarm: Alarm::new(&inboxes),
                shards: inboxes,
                permits,
                pool,
                limits: self.limits,
                clock: Clock::start(),
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

/// The segments of one shard.
fn cut(
    mut stages: Vec<Box<dyn Stage>>,
    cuts: &[Segment],
    shard_count: usize,
) -> Vec<SegmentOfShard> {
    let mut rest = stages.drain(..);
    (0..cuts.len())
        .map(|number| {
            let is_last = number + 1 == cuts.len();
            // What a shard has more than the first one is of the last segment.
            let count = if is_last {
                usize::MAX
            } else {
                cuts[number].stages
            };
            let chain = Chain::new(rest.by_ref().take(count).collect());
            let next = cuts.get(number + 1).map(|next| next.rule.clone());
            let givers = if number == 0 { 1 } else { shard_count };
            SegmentOfShard::new(chain, givers, next)
        })
        .collect()
}
