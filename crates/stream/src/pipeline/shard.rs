//! The thread of one shard: its part of every segment.

use super::PipelineError;
use super::chain::Chain;
use super::handover::{Exchange, Merger};
use super::outlet::Done;
use super::sharded::Pool;
use crate::batch::Batch;
use crate::context::Clock;
use crate::meters::MeterWriter;
use crate::ring::{RingReceiver, RingSender};
use crate::stage::{Stage, StageError};
use crate::steering::SteeringRule;

/// What the intake gives to a shard.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every message is a batch, and a box would be an allocation for each"
)]
pub(super) enum Message {
    /// The shard's records of a round.
    Round { batch: Batch, filled_ns: u64 },
    /// There are no more.
    End,
}

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
    pub inbox: RingReceiver<Message>,
    pub exchange: Exchange,
    pub to_sinks: RingSender<Done>,
    pub pool: Pool,
    /// Of what was handed over.
    pub meter: MeterWriter,
    pub clock: Clock,
}

/// Why a shard stops before its end.
enum Halted {
    Failed(StageError),
    /// Another thread failed and says why.
    Elsewhere,
}

impl From<StageError> for Halted {
    fn from(error: StageError) -> Halted {
        Halted::Failed(error)
    }
}

impl Shard {
    /// Runs to the end; returns the stages.
    pub fn run(mut self) -> Result<Vec<Box<dyn Stage>>, PipelineError> {
        let result = match self.work() {
            Err(Halted::Failed(error)) => Err(error),
            Ok(()) | Err(Halted::Elsewhere) => Ok(()),
        };
        let Shard { segments, .. } = self;
        let mut chains: Vec<Chain> = segments.into_iter().map(|s| s.chain).collect();
        let finished = chains.iter_mut().map(Chain::finish);
        result.and(finished.fold(Ok(()), Result::and))?;
        Ok(chains.into_iter().flat_map(Chain::into_stages).collect())
    }

    fn work(&mut self) -> Result<(), Halted> {
        loop {
            match self.inbox.receive_waiting() {
                Some(Message::Round { batch, filled_ns }) => {
                    self.pass(0, vec![batch], filled_ns)?;
                }
                Some(Message::End) => break,
                None => return Err(Halted::Elsewhere),
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
            self.pass(number + 1, drained, cx.now_ns)?;
        }
        Ok(())
    }

    /// Runs batches through the segments from one on, and gives them to the sinks. All
    /// shards come to each segment equally often.
    fn pass(
        &mut self,
        first: usize,
        mut batches: Vec<Batch>,
        filled_ns: u64,
    ) -> Result<(), Halted> {
        for number in first..self.segments.len() {
            if number > 0 {
                batches = self.hand_over(number, batches, filled_ns)?;
            }
            for batch in &mut batches {
                let mut cx = self.clock.next_context(self.clock.now_ns());
                self.segments[number].chain.process(batch, &mut cx)?;
            }
        }
        let done = Done {
            shard: self.number,
            batches,
            filled_ns,
        };
        let sent = self.to_sinks.send_waiting(done);
        sent.then_some(()).ok_or(Halted::Elsewhere)
    }

    /// Gives all records to the shards that a segment needs them on; returns those
    /// that it needs here.
    fn hand_over(
        &mut self,
        number: usize,
        mut batches: Vec<Batch>,
        filled_ns: u64,
    ) -> Result<Vec<Batch>, Halted> {
        let latency_ns = self.clock.now_ns() - filled_ns;
        for batch in &mut batches {
            let tally = batch.settle_handed_over();
            self.meter.add(tally);
            self.meter.add_latency(latency_ns, tally.ended());
        }
        let SegmentOfShard { rule, merger, .. } = &mut self.segments[number];
        let parcels = self.exchange.swap(batches, rule);
        let parcels = parcels.ok_or(Halted::Elsewhere)?;
        Ok(merger.merge(parcels, self.number, &self.pool))
    }
}
