//! The thread that reads and gives records to the shards.

use super::shard::Message;
use super::sharded::Pool;
use super::{PipelineError, StopFlag, Watcher};
use crate::batch::{Batch, BatchLimits};
use crate::context::Clock;
use crate::ring::RingSender;
use crate::stage::Stage;
use crate::steering::SteeringRule;

pub(super) struct Intake {
    pub source: Box<dyn Stage>,
    pub watcher: Option<Watcher>,
    pub rule: Option<SteeringRule>,
    pub stop: StopFlag,
    pub shards: Vec<RingSender<Message>>,
    pub pool: Pool,
    pub limits: BatchLimits,
    pub clock: Clock,
    /// Number of the next record to be steered.
    pub steered: u64,
}

/// The other end of a ring is gone: its thread failed, and its own result
/// says why.
struct Disconnected;

impl Intake {
    /// Reads to the end; returns the source and whether it was interrupted.
    pub fn run(mut self) -> Result<(Box<dyn Stage>, bool), PipelineError> {
        let mut intake = Batch::new(self.limits);
        let mut open: Vec<Batch> = self.shards.iter().map(|_| self.pool.take()).collect();
        let mut result = Ok(());
        let mut interrupted = false;
        while !intake.is_last() {
            intake.clear();
            let mut cx = self.clock.next_context(self.clock.now_ns());
            result = self.source.process(&mut intake, &mut cx);
            if result.is_err() || self.distribute(&intake, &mut open).is_err() {
                break;
            }
            // A source that leaves room has nothing more for now.
            let is_idle = intake.room() != (0, 0);
            if is_idle && self.close_round(&mut open).is_err() {
                break;
            }
            if self.stop.is_stopped() {
                interrupted = !intake.is_last();
                break;
            }
        }
        let _ = self.close_round(&mut open);
        for shard in &self.shards {
            let _ = shard.send_waiting(Message::End);
        }
        let finished = self.source.finish();
        result.and(finished)?;
        Ok((self.source, interrupted))
    }

    fn distribute(&mut self, intake: &Batch, open: &mut [Batch]) -> Result<(), Disconnected> {
        if let Some(watcher) = &mut self.watcher {
            watcher(intake);
        }
        let Some(rule) = &self.rule else {
            return Ok(());
        };
        let shards = rule.shards(intake, open.len());
        for batch in &mut *open {
            batch.set_interfaces(intake.interfaces());
        }
        for (index, shard) in shards[..intake.len()].iter().enumerate() {
            let shard = usize::from(*shard);
            if open[shard].room() == (0, 0) {
                self.close_round(open)?;
            }
            if open[shard].receive_from(intake, index).is_err() {
                self.close_round(open)?;
                // An empty batch takes any record.
                let taken = open[shard].receive_from(intake, index);
                debug_assert!(taken.is_ok());
            }
            self.steered = intake.number(index) + 1;
        }
        Ok(())
    }

    /// Gives every shard its batch, also an empty one: by that it learns how far
    /// the stream is, and the others need not wait for it.
    fn close_round(&self, open: &mut [Batch]) -> Result<(), Disconnected> {
        let filled_ns = self.clock.now_ns();
        for (shard, open) in self.shards.iter().zip(open) {
            let mut empty = self.pool.take();
            empty.set_interfaces(open.interfaces());
            let mut batch = std::mem::replace(open, empty);
            batch.set_records_steered(self.steered);
            if !shard.send_waiting(Message::Round { batch, filled_ns }) {
                return Err(Disconnected);
            }
        }
        Ok(())
    }
}
