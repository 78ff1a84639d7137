//! The thread that runs the sinks.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use super::PipelineError;
use super::chain::Chain;
use super::sharded::Pool;
use crate::batch::Batch;
use crate::stage::StageError;
use crate::statistics::Statistics;

/// What a shard has finished.
pub(super) struct Done {
    pub shard: usize,
    pub batches: Vec<Batch>,
    pub filled: Instant,
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
            result = self.sinks.drain(&mut self.pool.take(), |batch| {
                statistics.add_batch(&batch.settle_accounts(), Duration::ZERO);
                Ok(())
            });
        }
        let finished: Result<(), StageError> = self.sinks.finish();
        result.and(finished)?;
        Ok((self.sinks, self.statistics))
    }

    fn write(&mut self, done: Done) -> Result<(), StageError> {
        for mut batch in done.batches {
            self.sinks.process(&mut batch)?;
            let tally = batch.settle_accounts();
            self.statistics[done.shard].add_batch(&tally, done.filled.elapsed());
            self.pool.put(batch);
        }
        if done.ends_round {
            // The intake may have ended.
            let _ = self.permits.send(());
        }
        Ok(())
    }
}
