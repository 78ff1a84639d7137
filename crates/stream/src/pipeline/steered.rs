//! Several shards on one source: a thread that reads and steers, one thread
//! per shard, one for the sinks.
//!
//! Batches travel a circle: filled by the source's thread, run by a shard,
//! written by the sinks, and back empty. Their number is fixed, so memory is
//! bounded and whoever is slow slows the source down.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::chain::Chain;
use super::{Outcome, Pipeline, PipelineError, Steer, StopFlag, join};
use crate::batch::{Batch, BatchLimits};
use crate::stage::{Stage, StageError};
use crate::statistics::Statistics;

/// Batches that may wait for a shard.
const QUEUE_BATCHES: usize = 4;

/// After so many batches of the source, or when it has nothing more for now,
/// every shard is sent what it has, so that a shard with little traffic still
/// learns the time and no record waits for others.
const FLUSH_AFTER_BATCHES: usize = 64;

/// A batch on its way through the threads.
struct Parcel {
    batch: Batch,
    shard: usize,
    filled: Instant,
}

impl Pipeline {
    pub(super) fn run_steered(self) -> Result<Outcome, PipelineError> {
        let started = Instant::now();
        let shard_count = self.shards.len();
        let limits = self.limits;
        let (to_sinks, at_sinks) = sync_channel(QUEUE_BATCHES * shard_count);
        let circulating = shard_count * (2 * QUEUE_BATCHES + 2);
        let (give_back, free) = sync_channel(circulating);
        for _ in 0..circulating {
            // The channel has room for all of them.
            let _ = give_back.try_send(Batch::new(limits));
        }

        thread::scope(|scope| {
            let mut to_shards = Vec::with_capacity(shard_count);
            let mut shard_threads = Vec::with_capacity(shard_count);
            for (shard, stages) in self.shards.into_iter().enumerate() {
                let (to_shard, at_shard) = sync_channel(QUEUE_BATCHES);
                to_shards.push(to_shard);
                let to_sinks = to_sinks.clone();
                let chain = Chain::new(stages);
                shard_threads
                    .push(scope.spawn(move || run_shard(shard, chain, at_shard, to_sinks, limits)));
            }
            drop(to_sinks);
            let sinks = Chain::new(self.sinks);
            let sink_thread =
                scope.spawn(move || run_sinks(sinks, shard_count, at_sinks, give_back, limits));

            let intake = Intake {
                source: self.source,
                steer: self.steer,
                stop: self.stop,
                to_shards,
                free,
                limits,
                steered: 0,
            };
            let source = intake.run();
            let chains: Result<Vec<Chain>, PipelineError> =
                shard_threads.into_iter().map(join).collect();
            let (sinks, mut shard_statistics) = join(sink_thread)?;
            let chains = chains?;
            let (source, interrupted) = source?;

            let elapsed = started.elapsed();
            let mut statistics = Statistics::new();
            for shard in &mut shard_statistics {
                shard.set_elapsed(elapsed);
                statistics.merge(shard);
            }
            Ok(Outcome {
                statistics,
                shard_statistics,
                source,
                shards: chains.into_iter().map(Chain::into_stages).collect(),
                sinks: sinks.into_stages(),
                interrupted,
            })
        })
    }
}

/// The other end of a channel is gone: its thread failed and will say why.
struct Disconnected;

struct Intake {
    source: Box<dyn Stage>,
    steer: Steer,
    stop: StopFlag,
    to_shards: Vec<SyncSender<Parcel>>,
    free: Receiver<Batch>,
    limits: BatchLimits,
    /// Number of the next record to be steered.
    steered: u64,
}

impl Intake {
    /// Reads to the end; returns the source and whether it was interrupted.
    fn run(mut self) -> Result<(Box<dyn Stage>, bool), PipelineError> {
        let mut intake = Batch::new(self.limits);
        let mut result = Ok(());
        let mut interrupted = false;
        if let Ok(mut open) = (0..self.to_shards.len())
            .map(|_| self.empty_batch())
            .collect::<Result<Vec<Batch>, Disconnected>>()
        {
            let mut unflushed = 0;
            while !intake.is_last() {
                intake.clear();
                result = self.source.process(&mut intake);
                if result.is_err() || self.distribute(&intake, &mut open).is_err() {
                    break;
                }
                unflushed += 1;
                // A source that leaves room has nothing more for now.
                let is_idle = intake.room() != (0, 0);
                if is_idle || unflushed == FLUSH_AFTER_BATCHES {
                    unflushed = 0;
                    if self.flush(&intake, &mut open).is_err() {
                        break;
                    }
                }
                if self.stop.is_stopped() {
                    interrupted = !intake.is_last();
                    break;
                }
            }
            // A shard that is gone has said why in its own result.
            let _ = self.flush(&intake, &mut open);
        }
        let finished = self.source.finish();
        result.and(finished)?;
        Ok((self.source, interrupted))
    }

    fn empty_batch(&self) -> Result<Batch, Disconnected> {
        let mut batch = self.free.recv().map_err(|_| Disconnected)?;
        batch.clear();
        Ok(batch)
    }

    fn distribute(&mut self, intake: &Batch, open: &mut [Batch]) -> Result<(), Disconnected> {
        for batch in &mut *open {
            batch.set_interfaces(intake.interfaces());
        }
        for index in 0..intake.len() {
            let shard = (self.steer)(intake, index) as usize % open.len();
            if open[shard].room() == (0, 0) {
                self.send(shard, intake, open)?;
            }
            if open[shard].take_over(intake, index).is_err() {
                self.send(shard, intake, open)?;
                // An empty batch takes any record.
                let taken = open[shard].take_over(intake, index);
                debug_assert!(taken.is_ok());
            }
            self.steered = intake.number(index) + 1;
        }
        Ok(())
    }

    fn flush(&mut self, intake: &Batch, open: &mut [Batch]) -> Result<(), Disconnected> {
        for shard in 0..open.len() {
            self.send(shard, intake, open)?;
        }
        Ok(())
    }

    fn send(
        &mut self,
        shard: usize,
        intake: &Batch,
        open: &mut [Batch],
    ) -> Result<(), Disconnected> {
        let mut empty = self.empty_batch()?;
        empty.set_interfaces(intake.interfaces());
        let mut batch = std::mem::replace(&mut open[shard], empty);
        batch.set_records_steered(self.steered);
        let parcel = Parcel {
            batch,
            shard,
            filled: Instant::now(),
        };
        self.to_shards[shard].send(parcel).map_err(|_| Disconnected)
    }
}

fn run_shard(
    shard: usize,
    mut chain: Chain,
    at_shard: Receiver<Parcel>,
    to_sinks: SyncSender<Parcel>,
    limits: BatchLimits,
) -> Result<Chain, PipelineError> {
    let mut result = Ok(());
    for mut parcel in at_shard {
        result = chain.process(&mut parcel.batch);
        if result.is_err() || to_sinks.send(parcel).is_err() {
            break;
        }
    }
    if result.is_ok() {
        result = chain.drain(&mut Batch::new(limits), |batch| {
            let parcel = Parcel {
                batch: std::mem::replace(batch, Batch::new(limits)),
                shard,
                filled: Instant::now(),
            };
            // If the sinks are gone, their thread says why.
            let _ = to_sinks.send(parcel);
            Ok(())
        });
    }
    let finished = chain.finish();
    result.and(finished)?;
    Ok(chain)
}

fn run_sinks(
    mut sinks: Chain,
    shard_count: usize,
    at_sinks: Receiver<Parcel>,
    give_back: SyncSender<Batch>,
    limits: BatchLimits,
) -> Result<(Chain, Vec<Statistics>), PipelineError> {
    let mut statistics = vec![Statistics::new(); shard_count];
    let mut result = Ok(());
    for mut parcel in at_sinks {
        result = sinks.process(&mut parcel.batch);
        if result.is_err() {
            break;
        }
        statistics[parcel.shard]
            .add_batch(&parcel.batch.settle_accounts(), parcel.filled.elapsed());
        match give_back.try_send(parcel.batch) {
            // Full: the batch came from a drain and was one too many.
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }
    if result.is_ok() {
        result = sinks.drain(&mut Batch::new(limits), |batch| {
            statistics[0].add_batch(&batch.settle_accounts(), Duration::ZERO);
            Ok(())
        });
    }
    let finished: Result<(), StageError> = sinks.finish();
    result.and(finished)?;
    Ok((sinks, statistics))
}
