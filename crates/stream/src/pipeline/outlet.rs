//! The thread that runs the sinks.

use std::sync::mpsc::{Receiver, Sender};

use super::PipelineError;
use super::chain::Chain;
use super::sharded::Pool;
use crate::batch::Batch;
use crate::context::Clock;
use crate::stage::StageError;
use crate::statistics::Statistics;

/// What a shard has finished.
pub(super) struct Done {
    pub shard: usize,
    pub batches: Vec<Batch>,
    pub filled_ns: u64,
    /// Whether the shard has finished a round by that.
    pub ends_round: bool,
}

pub(super) struct Outlet {
    pub sinks: Chain,
    /// Of each shard.
    pub statistics: Vec<Statistics>,
    pub at_sinks: Receiver<Done>,
    pub permits: Sender<()>,
    pub pool: Pool,
    pub clock: Clock,
    pub batches: u64,
}

impl Outlet {
    pub fn run(mut self) -> Result<(Chain, Vec<Statistics>), PipelineError> {
        let mut result = Ok(());
        while result.is_ok()
            && let Ok(done) = self.at_sinks.recv()
        {
            result = self.write(done);
        }
        if result.is_ok() {
            let statistics = &mut self.statistics[0];
            let mut cx = (self.clock).context(self.clock.now_ns(), self.batches, false);
            result = self.sinks.drain(&mut self.pool.take(), &mut cx, |batch| {
                statistics.add_batch(&batch.settle_accounts(), 0);
                Ok(())
            });
        }
        let finished: Result<(), StageError> = self.sinks.finish();
        result.and(finished)?;
        Ok((self.sinks, self.statistics))
    }

    fn write(&mut self, done: Done) -> Result<(), StageError> {
        for mut batch in done.batches {
            let mut cx = (self.clock).context(self.clock.now_ns(), self.batches, false);
            self.batches += 1;
            self.sinks.process(&mut batch, &mut cx)?;
            let tally = batch.settle_accounts();
            let latency_ns = self.clock.now_ns() - done.filled_ns;
            self.statistics[done.shard].add_batch(&tally, latency_ns);
            self.pool.put(batch);
        }
        if done.ends_round {
            // The intake may have ended.
            let _ = self.permits.send(());
        }
        Ok(())
    }
}
