//! The thread of one shard: its part of every segment.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use super::PipelineError;
use super::chain::Chain;
use super::handover::{Merger, Parcel};
use super::outlet::Done;
use super::sharded::Pool;
use crate::batch::Batch;
use crate::context::{Clock, Context};
use crate::meters::MeterWriter;
use crate::stage::{Stage, StageError};
use crate::steering::SteeringRule;

/// What comes to a shard.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every message is a batch, and a box would be an allocation for each"
)]
pub(super) enum Message {
    /// Of one giver of a segment: the intake, or a shard.
    Item {
        segment: usize,
        giver: usize,
        item: Item,
    },
    /// A thread failed: the run ends here.
    Halt,
}

impl Message {
    /// Of the intake.
    pub fn first(item: Item) -> Message {
        Message::Item {
            segment: 0,
            giver: 0,
            item,
        }
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly every message is a batch, and a box would be an allocation for each"
)]
pub(super) enum Item {
    /// This shard's records of a round.
    Batch { batch: Batch, filled_ns: u64 },
    /// Records of a shard, some of them for this one.
    Parcel(Arc<Parcel>),
    /// The giver has no more.
    End,
}

/// Ends the shards when it is dropped, unless it was disarmed: by a failure or
/// a panic of the thread that holds it.
pub(super) struct Alarm {
    shards: Vec<Sender<Message>>,
}

impl Alarm {
    pub fn new(shards: &[Sender<Message>]) -> Alarm {
        Alarm {
            shards: shards.to_vec(),
        }
    }

    pub fn disarm(&mut self) {
        self.shards.clear();
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        for shard in &self.shards {
            // A shard that is gone needs no end.
            let _ = shard.send(Message::Halt);
        }
    }
}

/// A shard's part of a segment.
pub(super) struct SegmentOfShard {
    chain: Chain,
    givers: Vec<Giver>,
    /// How the next segment is steered; `None` before the sinks.
    next: Option<SteeringRule>,
    merger: Merger,
    is_drained: bool,
}

/// One of those from whom a segment gets its records.
#[derive(Default)]
struct Giver {
    waiting: VecDeque<Item>,
    has_ended: bool,
}

impl SegmentOfShard {
    pub fn new(chain: Chain, givers: usize, next: Option<SteeringRule>) -> SegmentOfShard {
        SegmentOfShard {
            chain,
            givers: (0..givers).map(|_| Giver::default()).collect(),
            next,
            merger: Merger::default(),
            is_drained: false,
        }
    }

    /// Whether every giver has given its part of the next round.
    fn is_ready(&self) -> bool {
        let has_given = |giver: &Giver| giver.has_ended || !giver.waiting.is_empty();
        !self.is_drained && self.givers.iter().all(has_given)
    }

    /// The next round, one item of each giver that has not ended.
    fn take_round(&mut self) -> Vec<Item> {
        let mut items = Vec::with_capacity(self.givers.len());
        for giver in self.givers.iter_mut().filter(|giver| !giver.has_ended) {
            match giver.waiting.pop_front() {
                Some(Item::End) | None => giver.has_ended = true,
                Some(item) => items.push(item),
            }
        }
        items
    }
}

pub(super) struct Worker {
    pub shard: usize,
    pub segments: Vec<SegmentOfShard>,
    pub inbox: Receiver<Message>,
    /// All shards, this one too.
    pub peers: Vec<Sender<Message>>,
    pub to_sinks: Sender<Done>,
    pub pool: Pool,
    /// Of what was handed over.
    pub meter: MeterWriter,
    pub clock: Clock,
    pub batches: u64,
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

impl Worker {
    /// Runs to the end; returns the stages.
    pub fn run(mut self) -> Result<Vec<Box<dyn Stage>>, PipelineError> {
        let mut alarm = Alarm::new(&self.peers);
        let halted = self.work();
        if halted.is_ok() {
            alarm.disarm();
        }
        drop(alarm);
        let result = match halted {
            Err(Halted::Failed(error)) => Err(error),
            Ok(()) | Err(Halted::Elsewhere) => Ok(()),
        };
        let chains = self.segments.iter_mut().map(|segment| &mut segment.chain);
        let finished = chains.map(Chain::finish).fold(Ok(()), Result::and);
        result.and(finished)?;
        let chains = self.segments.into_iter().map(|segment| segment.chain);
        Ok(chains.flat_map(Chain::into_stages).collect())
    }

    fn work(&mut self) -> Result<(), Halted> {
        while !self.segments.iter().all(|segment| segment.is_drained) {
            match self.inbox.recv() {
                Ok(Message::Item {
                    segment,
                    giver,
                    item,
                }) => self.segments[segment].givers[giver].waiting.push_back(item),
                Ok(Message::Halt) | Err(_) => return Err(Halted::Elsewhere),
            }
            // What is nearer to its end goes first.
            let ready = |segments: &[SegmentOfShard]| {
                let mut last_first = (0..segments.len()).rev();
                last_first.find(|number| segments[*number].is_ready())
            };
            while let Some(number) = ready(&self.segments) {
                self.run_round(number)?;
            }
        }
        Ok(())
    }

    fn run_round(&mut self, number: usize) -> Result<(), Halted> {
        let items = self.segments[number].take_round();
        if items.is_empty() {
            return match self.segments[number].givers.iter().all(|g| g.has_ended) {
                true => self.drain(number),
                false => Ok(()),
            };
        }
        let mut parcels = Vec::new();
        for item in items {
            match item {
                Item::Batch {
                    mut batch,
                    filled_ns,
                } => {
                    let mut cx = self.next_context();
                    self.segments[number].chain.process(&mut batch, &mut cx)?;
                    self.pass_on(number, vec![batch], filled_ns, true)?;
                }
                Item::Parcel(parcel) => parcels.push(parcel),
                Item::End => {}
            }
        }
        let Some(first) = parcels.first() else {
            return Ok(());
        };
        let (filled_ns, ends_round) = (first.filled_ns, first.ends_round);
        let segment = &mut self.segments[number];
        let mut batches = segment.merger.merge(&parcels, self.shard, &self.pool);
        for batch in &mut batches {
            let mut cx = (self.clock).context(self.clock.now_ns(), self.batches, false);
            self.batches += 1;
            segment.chain.process(batch, &mut cx)?;
        }
        for parcel in parcels {
            // The last of those who got it gives its memory back.
            if let Some(parcel) = Arc::into_inner(parcel) {
                parcel.recycle(&self.pool);
            }
        }
        self.pass_on(number, batches, filled_ns, ends_round)
    }

    fn next_context(&mut self) -> Context {
        let cx = (self.clock).context(self.clock.now_ns(), self.batches, false);
        self.batches += 1;
        cx
    }

    /// Lets a segment release what it holds, and ends it.
    fn drain(&mut self, number: usize) -> Result<(), Halted> {
        let mut cx = self.next_context();
        let segment = &mut self.segments[number];
        let (mut drained, pool) = (Vec::new(), &self.pool);
        segment.chain.drain(&mut pool.take(), &mut cx, |batch| {
            drained.push(std::mem::replace(batch, pool.take()));
            Ok(())
        })?;
        segment.is_drained = true;
        self.pass_on(number, drained, cx.now_ns, false)?;
        if self.segments[number].next.is_some() {
            for peer in &self.peers {
                self.send(peer, number + 1, Item::End)?;
            }
        }
        Ok(())
    }

    /// Gives what a segment has done to the next one, or to the sinks.
    fn pass_on(
        &mut self,
        number: usize,
        mut batches: Vec<Batch>,
        filled_ns: u64,
        ends_round: bool,
    ) -> Result<(), Halted> {
        let Some(rule) = &self.segments[number].next else {
            let done = Done {
                shard: self.shard,
                batches,
                filled_ns,
                ends_round,
            };
            return self.to_sinks.send(done).map_err(|_| Halted::Elsewhere);
        };
        let latency_ns = self.clock.now_ns() - filled_ns;
        for batch in &mut batches {
            let tally = batch.settle_handed_over();
            self.meter.add(tally);
            self.meter.add_latency(latency_ns, tally.ended());
        }
        let shard_count = self.peers.len();
        let parcel = Parcel::new(batches, rule, shard_count, filled_ns, ends_round);
        let parcel = Arc::new(parcel);
        for peer in &self.peers {
            self.send(peer, number + 1, Item::Parcel(Arc::clone(&parcel)))?;
        }
        Ok(())
    }

    fn send(&self, peer: &Sender<Message>, segment: usize, item: Item) -> Result<(), Halted> {
        let message = Message::Item {
            segment,
            giver: self.shard,
            item,
        };
        peer.send(message).map_err(|_| Halted::Elsewhere)
    }
}
