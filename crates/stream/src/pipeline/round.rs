//! Rounds: how records come from one thread to the shards that need them.
//!
//! A thread gives the same parcel to all shards, which only read it: each copies
//! the records that are steered to it into batches of its own, in order of arrival.

use std::sync::{Arc, Mutex, PoisonError};

use crate::batch::{BATCH_RECORDS, Batch, BatchFull, BatchLimits};
use crate::event::Event;
use crate::ring::{RingReceiver, RingSender, ring};
use crate::steering::SteeringRule;

/// Empty batches, for every thread of a run.
#[derive(Clone)]
pub(super) struct Pool {
    limits: BatchLimits,
    free: Arc<Mutex<Vec<Batch>>>,
}

impl Pool {
    pub fn new(limits: BatchLimits) -> Pool {
        let free = Arc::default();
        Pool { limits, free }
    }

    pub fn take(&self) -> Batch {
        let free = self
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut batch = free.unwrap_or_else(|| Batch::new(self.limits));
        batch.clear();
        batch
    }

    pub fn put(&self, batch: Batch) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(batch);
    }
}

/// What a thread hands over in a round.
pub(super) struct Parcel {
    batches: Vec<Steered>,
    /// When the first of its records had been read.
    pub filled_ns: u64,
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
/// Where all threads give and take equally often, rings with space for one round let nobody wait in
/// a circle: the thread that has given least finds space everywhere, and the others have given what
/// it waits for.
pub(super) struct ToShards(Vec<RingSender<Arc<Parcel>>>);

/// A shard's end of a hand-over, with a ring for every thread that gives.
#[derive(Default)]
pub(super) struct FromAll(Vec<RingReceiver<Arc<Parcel>>>);

impl ToShards {
    /// Another thread's end of the hand-over to these shards, where some rounds may wait.
    pub fn join(at_shards: &mut [FromAll], rounds: usize) -> ToShards {
        let to_each = at_shards.iter_mut().map(|FromAll(from)| {
            let (sender, receiver) = ring(rounds);
            from.push(receiver);
            sender
        });
        ToShards(to_each.collect())
    }

    /// How many shards there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Gives a round's batches to all shards. False where a shard is gone.
    pub fn give(&self, batches: Vec<Batch>, rule: &SteeringRule, filled_ns: u64) -> bool {
        let steered = |batch| Steered::new(batch, rule, self.len());
        let batches = batches.into_iter().map(steered).collect();
        let parcel = Arc::new(Parcel { batches, filled_ns });
        (self.0.iter()).all(|to| to.send_waiting(Arc::clone(&parcel)))
    }
}

impl FromAll {
    /// Waits for the round of every thread that gives. `None` where one is gone.
    pub fn take(&self) -> Option<Vec<Arc<Parcel>>> {
        self.0.iter().map(RingReceiver::receive_waiting).collect()
    }
}

/// Merges what comes to a shard.
pub(super) struct Merger {
    /// Whether the records come from the source, and are counted as received here.
    is_first: bool,
    /// [`Batch::records_steered`] of the round before.
    records_steered: u64,
}

impl Merger {
    /// The merger in front of a segment.
    pub fn of_segment(number: usize) -> Merger {
        Merger {
            is_first: number == 0,
            records_steered: 0,
        }
    }

    fn take(&self, into: &mut Batch, from: &Batch, index: usize) -> Result<(), BatchFull> {
        match self.is_first {
            true => into.receive_from(from, index),
            false => into.take_over(from, index),
        }
    }

    /// This shard's records of a round in order of arrival, in one batch at
    /// least.
    pub fn merge(&mut self, parcels: Vec<Arc<Parcel>>, shard: usize, pool: &Pool) -> Vec<Batch> {
        let all = || parcels.iter().flat_map(|parcel| &parcel.batches);
        let widest = all().map(|steered| steered.batch.interfaces());
        let widest = widest.max_by_key(|interfaces| interfaces.len());
        let empty = |records_steered| {
            let mut batch = pool.take();
            if let Some(interfaces) = widest {
                batch.set_interfaces(interfaces);
            }
            batch.set_records_steered(records_steered);
            batch
        };
        let mut open = empty(self.records_steered);
        if shard == 0 {
            for event in all().flat_map(|steered| steered.events(None)) {
                open.notice_beside(event.clone());
            }
        }
        let mut merged = Vec::with_capacity(1);
        for (steered, index) in in_order_of_arrival(&parcels, shard) {
            if open.room() == (0, 0) || self.take(&mut open, &steered.batch, index).is_err() {
                merged.push(std::mem::replace(&mut open, empty(self.records_steered)));
                // An empty batch takes any record.
                let taken = self.take(&mut open, &steered.batch, index);
                debug_assert!(taken.is_ok());
            }
            for event in steered.events(Some(index)) {
                open.notice_beside(event.clone());
            }
        }
        // Only with the last batch has all of the round passed.
        let steered = all().map(|steered| steered.batch.records_steered());
        self.records_steered = steered.max().unwrap_or(0).max(self.records_steered);
        open.set_records_steered(self.records_steered);
        merged.push(open);
        // The last shard that got a parcel gives its memory back.
        for parcel in parcels.into_iter().filter_map(Arc::into_inner) {
            for steered in parcel.batches {
                pool.put(steered.batch);
            }
        }
        merged
    }
}

/// The records that go to a shard, with their batches. One that was held comes after
/// those that it left with.
fn in_order_of_arrival(parcels: &[Arc<Parcel>], shard: usize) -> Vec<(&Steered, usize)> {
    let mut records = Vec::new();
    for parcel in parcels {
        let mut latest = 0;
        for steered in &parcel.batches {
            for index in steered.batch.live() {
                if usize::from(steered.shards[index]) == shard {
                    latest = steered.batch.number(index).max(latest);
                    records.push((latest, (steered, index)));
                }
            }
        }
    }
    // Keeps the order of equals, and finds the parcels in order.
    records.sort_by_key(|(arrival, _)| *arrival);
    records.into_iter().map(|(_, record)| record).collect()
}
