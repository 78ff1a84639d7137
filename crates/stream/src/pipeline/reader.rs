//! The thread that reads, and cuts the stream into rounds.

use super::round::{Pool, ToShards};
use crate::chain::Chain;
use crate::context::Clock;
use crate::error::PipelineError;
use crate::stage::Stage;
use crate::steering::SteeringRule;
use crate::stop::StopFlag;

pub(super) struct Reader {
    pub source: Chain,
    /// How the first segment is steered.
    pub rule: SteeringRule,
    pub to_shards: ToShards,
    pub stop: StopFlag,
    pub pool: Pool,
    pub clock: Clock,
    /// Number of the next record.
    pub next: u64,
}

impl Reader {
    /// Reads to the end; returns the source and whether it was interrupted.
    pub fn run(mut self) -> Result<(Vec<Box<dyn Stage>>, bool), PipelineError> {
        let mut result = Ok(());
        let (mut is_last, mut interrupted) = (false, false);
        while result.is_ok() && !is_last && !interrupted {
            // On average a batch for every shard.
            let mut batches = Vec::with_capacity(self.to_shards.len());
            let mut is_idle = false;
            while !is_idle && !is_last && batches.len() < self.to_shards.len() {
                let mut batch = self.pool.take();
                let mut cx = self.clock.next_context(self.clock.now_ns());
                result = self.source.process(&mut batch, &mut cx);
                // A source that leaves room has nothing more for now, or has failed.
                is_idle = batch.room() != (0, 0) || result.is_err();
                is_last = batch.is_last();
                if let Some(last) = batch.len().checked_sub(1) {
                    self.next = batch.number(last) + 1;
                }
                batch.set_records_steered(self.next);
                batches.push(batch);
            }
            let filled_ns = self.clock.now_ns();
            if !self.to_shards.give(batches, &self.rule, filled_ns) {
                break;
            }
            interrupted = self.stop.is_stopped() && !is_last;
        }
        let finished = self.source.finish();
        result.and(finished)?;
        Ok((self.source.into_stages(), interrupted))
    }
}
