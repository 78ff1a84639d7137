//! Hand-over in step: how records of a file come to the shards that need them.
//!
//! A thread gives the same round of batches to all shards, which only read it: each copies the records that
//! are steered to it into batches of its own, in order of arrival. All threads that give to a
//! shard do so equally often, so that what it sees does not depend on what the threads do meanwhile.

use std::sync::Arc;

use super::parcel::Parcel;
use crate::batch::{BATCH_RECORDS, Batch};
use crate::error::PipelineError;
use crate::event::Event;
use crate::meters::MeterWriter;
use crate::pool::Pool;
use crate::ring::{RingReceiver, RingSender, ring};
use crate::steering::SteeringRule;

/// What a thread hands over in a round.
struct Round {
    batches: Vec<Steered>,
    /// When the first of its records had been read.
    filled_ns: u64,
}

/// A batch whose live records have a shard each.
struct Steered {
    batch: Batch,
    shards: [u8; BATCH_RECORDS],
    /// The live record that each event goes with; those without one go to the
    /// first shard.
    events_of: Vec<Option<usize>>,
}

impl Steered {
    fn new(batch: Batch, rule: &SteeringRule, shard_count: usize) -> Steered {
        let shards = rule.shards(&batch, shard_count);
        let record_of = |event: &Event| {
            let arrival = event.arrival?;
            batch.live().find(|index| batch.number(*index) == arrival)
        };
        let events_of = batch.events().iter().map(record_of).collect();
        Steered {
            batch,
            shards,
            events_of,
        }
    }

    fn events(&self, of: Option<usize>) -> impl Iterator<Item = &Event> {
        let events = self.batch.events().iter().zip(&self.events_of);
        events.filter_map(move |(event, record)| (*record == of).then_some(event))
    }
}

/// A thread's end of a hand-over to all shards.
///
/// Nobody waits in a circle, also with space for one round only: the thread that has given least
/// finds space everywhere, and the others have given what it waits for.
pub(crate) struct ToShards(Vec<RingSender<Arc<Round>>>);

/// A shard's end of a hand-over, with a ring for every thread that gives.
pub(crate) struct AtShard {
    shard: usize,
    from: Vec<RingReceiver<Arc<Round>>>,
    /// [`Batch::records_steered`] of the round before, for each segment.
    records_steered: Vec<u64>,
}

impl ToShards {
    /// Another thread's end of the hand-over to these shards, where some rounds may wait.
    pub fn join(at_shards: &mut [AtShard], rounds: usize) -> ToShards {
        let to_each = at_shards.iter_mut().map(|at_shard| {
            let (sender, receiver) = ring(rounds);
            at_shard.from.push(receiver);
            sender
        });
        ToShards(to_each.collect())
    }

    /// Gives a round's batches to all shards, and waits where one has no space.
    pub fn give(
        &self,
        rule: &SteeringRule,
        parcel: &mut Parcel,
        meter: &mut MeterWriter,
        now_ns: u64,
    ) -> Result<(), PipelineError> {
        for batch in &mut parcel.batches {
            let tally = batch.settle_handed_over();
            meter.add(tally);
            meter.add_latency(now_ns - parcel.filled_ns, tally.ended());
        }
        let steered = |batch| Steered::new(batch, rule, self.0.len());
        let round = Arc::new(Round {
            batches: parcel.batches.drain(..).map(steered).collect(),
            filled_ns: parcel.filled_ns,
        });
        let is_given = (self.0.iter()).all(|to| to.send_waiting(Arc::clone(&round)));
        is_given.then_some(()).ok_or(PipelineError::Abandoned)
    }
}

impl AtShard {
    /// The ends of all shards, before anybody gives to them.
    pub fn all(shard_count: usize, segments: usize) -> Vec<AtShard> {
        let end = |shard| AtShard {
            shard,
            from: Vec::new(),
            records_steered: vec![0; segments],
        };
        (0..shard_count).map(end).collect()
    }

    /// Waits for a round of every thread that gives, and returns this shard's records for a segment,
    /// in order of arrival, in one batch at least. `None` where a thread gives no more.
    pub fn take(&mut self, segment: usize, pool: &mut Pool) -> Option<Parcel> {
        let rounds = self.from.iter().map(RingReceiver::receive_waiting);
        let rounds: Vec<Arc<Round>> = rounds.collect::<Option<_>>()?;
        let merged = self.merge(&rounds, segment, pool);
        let parcel = Parcel::new(merged, 0, rounds.first()?.filled_ns);
        // The last shard that got a round gives its memory back.
        for round in rounds.into_iter().filter_map(Arc::into_inner) {
            for steered in round.batches {
                pool.put(steered.batch);
            }
        }
        Some(parcel)
    }

    fn merge(&mut self, rounds: &[Arc<Round>], segment: usize, pool: &mut Pool) -> Vec<Batch> {
        let all = || rounds.iter().flat_map(|round| &round.batches);
        let widest = all().map(|steered| steered.batch.interfaces());
        let widest = widest.max_by_key(|interfaces| interfaces.len());
        let before = self.records_steered[segment];
        let mut empty = || {
            let mut batch = pool.take();
            if let Some(interfaces) = widest {
                batch.set_interfaces(interfaces);
            }
            batch.set_records_steered(before);
            batch
        };
        let (mut merged, mut open) = (Vec::with_capacity(1), empty());
        if self.shard == 0 {
            for event in all().flat_map(|steered| steered.events(None)) {
                open.notice_beside(event.clone());
            }
        }
        for (steered, index) in in_order_of_arrival(rounds, self.shard) {
            if open.room() == (0, 0) || open.take_over(&steered.batch, index).is_err() {
                merged.push(std::mem::replace(&mut open, empty()));
                // An empty batch takes any record.
                let taken = open.take_over(&steered.batch, index);
                debug_assert!(taken.is_ok());
            }
            for event in steered.events(Some(index)) {
                open.notice_beside(event.clone());
            }
        }
        // Only with the last batch has all of the round passed.
        let steered = all().map(|steered| steered.batch.records_steered());
        let now = steered.max().unwrap_or(0).max(before);
        open.set_records_steered(now);
        self.records_steered[segment] = now;
        merged.push(open);
        merged
    }
}

/// The records that go to a shard, with their batches. One that was held comes after
/// those that it left with.
fn in_order_of_arrival(rounds: &[Arc<Round>], shard: usize) -> Vec<(&Steered, usize)> {
    let mut records = Vec::new();
    for round in rounds {
        let mut latest = 0;
        for steered in &round.batches {
            for index in steered.batch.live() {
                if usize::from(steered.shards[index]) == shard {
                    latest = steered.batch.number(index).max(latest);
                    records.push((latest, (steered, index)));
                }
            }
        }
    }
    // Keeps the order of equals, and finds the rounds in order.
    records.sort_by_key(|(arrival, _)| *arrival);
    records.into_iter().map(|(_, record)| record).collect()
}
