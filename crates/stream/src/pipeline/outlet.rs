//! The thread that runs the sinks.

use super::round::Pool;
use crate::batch::Batch;
use crate::chain::Chain;
use crate::context::Clock;
use crate::error::PipelineError;
use crate::meters::MeterWriter;
use crate::ring::RingReceiver;
use crate::stage::StageError;

/// What a shard has finished.
pub(super) struct Done {
    pub shard: usize,
    pub batches: Vec<Batch>,
    pub filled_ns: u64,
}

pub(super) struct Outlet {
    pub sinks: Chain,
    /// Of each shard.
    pub meters: Vec<MeterWriter>,
    pub at_sinks: RingReceiver<Done>,
    pub pool: Pool,
    pub clock: Clock,
}

impl Outlet {
    pub fn run(mut self) -> Result<Chain, PipelineError> {
        let mut result = Ok(());
        while result.is_ok()
            && let Some(done) = self.at_sinks.receive_waiting()
        {
            result = self.write(done);
        }
        // The shards find out by that where the sinks have failed.
        drop(self.at_sinks);
        if result.is_ok() {
            let meter = &mut self.meters[0];
            let mut cx = self.clock.context(self.clock.now_ns());
            result = self.sinks.drain(&mut self.pool.take(), &mut cx, |batch| {
                meter.add(batch.settle_accounts());
                Ok(())
            });
        }
        result.and(self.sinks.finish())?;
        Ok(self.sinks)
    }

    fn write(&mut self, done: Done) -> Result<(), StageError> {
        for mut batch in done.batches {
            let mut cx = self.clock.next_context(self.clock.now_ns());
            self.sinks.process(&mut batch, &mut cx)?;
            let tally = batch.settle_accounts();
            let latency_ns = self.clock.now_ns() - done.filled_ns;
            let meter = &mut self.meters[done.shard];
            meter.add(tally);
            meter.add_latency(latency_ns, tally.ended());
            self.pool.put(batch);
        }
        Ok(())
    }
}
