//! The thread of one shard: its part of every segment.

use super::outlet::Done;
use super::round::{FromAll, Merger, Pool, ToShards};
use crate::batch::Batch;
use crate::chain::Chain;
use crate::context::Clock;
use crate::error::PipelineError;
use crate::meters::MeterWriter;
use crate::ring::RingSender;
use crate::stage::{Stage, StageError};
use crate::steering::SteeringRule;

/// A shard's part of a segment.
pub(super) struct SegmentOfShard {
    pub chain: Chain,
    /// How the segment is steered.
    pub rule: SteeringRule,
    pub merger: Merger,
}

/// The ends of the rings by which a shard is joined to the other threads. Where it
/// fails, it drops them, and the others end.
pub(super) struct Shard {
    pub number: usize,
    pub segments: Vec<SegmentOfShard>,
    pub from_reader: FromAll,
    pub to_shards: ToShards,
    pub from_shards: FromAll,
    pub to_sinks: RingSender<Done>,
    pub pool: Pool,
    /// Of what was handed over.
    pub meter: MeterWriter,
    pub clock: Clock,
}

impl Shard {
    /// Runs to the end; returns the stages.
    pub fn run(mut self) -> Result<Vec<Box<dyn Stage>>, PipelineError> {
        let result = self.work();
        let Shard { segments, .. } = self;
        let mut chains: Vec<Chain> = segments.into_iter().map(|s| s.chain).collect();
        let finished = chains.iter_mut().map(Chain::finish);
        result.and(finished.fold(Ok(()), Result::and))?;
        Ok(chains.into_iter().flat_map(Chain::into_stages).collect())
    }

    /// Also ends where another thread has failed, which says why itself.
    fn work(&mut self) -> Result<(), StageError> {
        while let Some(parcels) = self.from_reader.take() {
            let filled_ns = parcels.first().map_or(0, |parcel| parcel.filled_ns);
            let merger = &mut self.segments[0].merger;
            let batches = merger.merge(parcels, self.number, &self.pool);
            if !self.pass(0, batches, filled_ns)? {
                return Ok(());
            }
        }
        for number in 0..self.segments.len() {
            let mut cx = self.clock.next_context(self.clock.now_ns());
            let (mut drained, pool) = (Vec::new(), &self.pool);
            let chain = &mut self.segments[number].chain;
            chain.drain(&mut pool.take(), &mut cx, |batch| {
                drained.push(std::mem::replace(batch, pool.take()));
                Ok(())
            })?;
            if !self.pass(number + 1, drained, cx.now_ns)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs batches through the segments from one on, and gives them to the sinks. All
    /// shards come to each segment equally often. False where another thread is gone.
    fn pass(
        &mut self,
        first: usize,
        mut batches: Vec<Batch>,
        filled_ns: u64,
    ) -> Result<bool, StageError> {
        for number in first..self.segments.len() {
            if number > 0 {
                match self.hand_over(number, batches, filled_ns) {
                    Some(handed_over) => batches = handed_over,
                    None => return Ok(false),
                }
            }
            for batch in &mut batches {
                let mut cx = self.clock.next_context(self.clock.now_ns());
                self.segments[number].chain.process(batch, &mut cx)?;
            }
        }
        Ok(self.to_sinks.send_waiting(Done {
            shard: self.number,
            batches,
            filled_ns,
        }))
    }

    /// Gives all records to the shards that a segment needs them on; returns those
    /// that it needs here. `None` where another thread is gone.
    fn hand_over(
        &mut self,
        number: usize,
        mut batches: Vec<Batch>,
        filled_ns: u64,
    ) -> Option<Vec<Batch>> {
        let latency_ns = self.clock.now_ns() - filled_ns;
        for batch in &mut batches {
            let tally = batch.settle_handed_over();
            self.meter.add(tally);
            self.meter.add_latency(latency_ns, tally.ended());
        }
        let SegmentOfShard { rule, merger, .. } = &mut self.segments[number];
        if !self.to_shards.give(batches, rule, filled_ns) {
            return None;
        }
        Some(merger.merge(self.from_shards.take()?, self.number, &self.pool))
    }
}
