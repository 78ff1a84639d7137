//! Where the records of a worker come from.

use super::parcel::Parcel;
use super::queues::RxQueue;
use super::rounds::AtShard;
use crate::chain::Chain;
use crate::context::Clock;
use crate::error::PipelineError;
use crate::pool::Pool;
use crate::ring::RingReceiver;
use crate::stop::StopFlag;

pub(crate) enum Input {
    /// Receive queues of ports.
    Queues(Vec<RxQueue>),
    Source(Source),
    /// The worker that reads the source and gives to all shards.
    Reader(AtShard),
    /// The shards, for the worker that runs the sinks.
    Shards(RingReceiver<Parcel>),
}

impl Input {
    /// The next batches, from one of the queues where there are some. `None` where a queue has
    /// nothing now. All others wait, and `None` is their end.
    pub fn next(
        &mut self,
        queue: usize,
        pool: &mut Pool,
        clock: &Clock,
    ) -> Result<Option<Parcel>, PipelineError> {
        match self {
            Input::Queues(queues) => Ok(queues[queue].receive(pool, clock)),
            Input::Source(source) => source.read(pool),
            Input::Reader(from) => Ok(from.take(0, pool)),
            Input::Shards(from) => Ok(from.receive_waiting().map(|parcel| Parcel {
                segment: 0,
                is_here: true,
                ..parcel
            })),
        }
    }

    pub fn queues(&mut self) -> &mut [RxQueue] {
        match self {
            Input::Queues(queues) => queues,
            _ => &mut [],
        }
    }
}

/// A source that one worker reads.
pub(crate) struct Source {
    /// The source, and the stages that watch it.
    pub chain: Chain,
    shards: usize,
    stop: StopFlag,
    clock: Clock,
    filled_ns: u64,
    /// Number of the next record.
    next: u64,
    is_last: bool,
}

impl Source {
    /// A source whose records go to `shards` shards.
    pub fn new(chain: Chain, shards: usize, stop: &StopFlag) -> Source {
        let clock = Clock::start(false);
        Source {
            chain,
            shards,
            stop: stop.clone(),
            filled_ns: clock.now_ns(),
            clock,
            next: 0,
            is_last: false,
        }
    }

    /// Whether the source had more when it was read the last time.
    pub fn is_interrupted(&self) -> bool {
        !self.is_last
    }

    /// On average a batch for every shard; fewer where the source has nothing more for now.
    fn read(&mut self, pool: &mut Pool) -> Result<Option<Parcel>, PipelineError> {
        if self.is_last || self.stop.is_stopped() {
            return Ok(None);
        }
        let (mut batches, mut is_idle) = (Vec::with_capacity(self.shards), false);
        while !is_idle && !self.is_last && batches.len() < self.shards {
            let mut batch = pool.take();
            let mut cx = self.clock.next_context(self.filled_ns);
            self.chain.process(&mut batch, &mut cx)?;
            self.filled_ns = self.clock.now_ns();
            // A source that leaves room has nothing more for now.
            is_idle = batch.room() != (0, 0);
            self.is_last = batch.is_last();
            if let Some(last) = batch.len().checked_sub(1) {
                self.next = batch.number(last) + 1;
            }
            batch.set_records_steered(self.next);
            batches.push(batch);
        }
        Ok(Some(Parcel::new(batches, 0, self.filled_ns)))
    }
}
