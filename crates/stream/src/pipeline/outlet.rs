//! The thread that runs the sinks.

use std::sync::mpsc::{Receiver, Sender};

use super::PipelineError;
use super::chain::Chain;
use super::sharded::Pool;
use crate::batch::Batch;
use crate::context::Clock;
use crate::meters::MeterWriter;
use crate::stage::StageError;

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
    pub meters: Vec<MeterWriter>,
    pub at_sinks: Receiver<Done>,
    pub permits: Sender<()>,
    pub pool: Pool,
    pub clock: Clock,
    pub batches: u64,
}

impl Outlet {
    pub fn run(mut self) -> Result<Chain, PipelineError> {
        let mut result = Ok(());
        while result.is_ok()
            && let Ok(done) = self.at_sinks.recv()
        {
            result = self.write(done);
        }
        if result.is_ok() {
            let meter = &mut self.meters[0];
            let mut cx = (self.clock).context(self.clock.now_ns(), self.batches, false);
            result = self.sinks.drain(&mut self.pool.take(), &mut cx, |batch| {
                meter.add(batch.settle_accounts());
                Ok(())
            });
        }
        let finished: Result<(), StageError> = self.sinks.finish();
        result.and(finished)?;
        Ok(self.sinks)
    }

    fn write(&mut self, done: Done) -> Result<(), StageError> {
        for mut batch in done.batches {
            let mut cx = (self.clock).context(self.clock.now_ns(), self.batches, false);
            self.batches += 1;
            self.sinks.process(&mut batch, &mut cx)?;
            let tally = batch.settle_accounts();
            let latency_ns = self.clock.now_ns() - done.filled_ns;
            let meter = &mut self.meters[done.shard];
            meter.add(tally);
            meter.add_latency(latency_ns, tally.ended());
            self.pool.put(batch);
        }
        if done.ends_round {
            // The intake may have ended.
            let _ = self.permits.send(());
        }
        Ok(())
    }
}
