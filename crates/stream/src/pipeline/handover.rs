//! Records on their way from the shards of one segment to those of the next.
//!
//! A shard gives the same parcel to all shards, which only read it: each copies
//! the records that are steered to it into batches of its own, in order of arrival.

use std::sync::Arc;

use super::sharded::Pool;
use crate::batch::{BATCH_RECORDS, Batch};
use crate::event::Event;
use crate::ring::{RingReceiver, RingSender, ring};
use crate::steering::SteeringRule;

/// What a shard hands over in a round.
pub(super) struct Parcel(Vec<Steered>);

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

/// A shard's ends of the hand-over between all shards.
///
/// All of them hand over equally often, so that a ring with space for one parcel
/// lets nobody wait in a circle: who has handed over least finds space everywhere,
/// and the others have given what it waits for.
pub(super) struct Exchange {
    to: Vec<RingSender<Arc<Parcel>>>,
    from: Vec<RingReceiver<Arc<Parcel>>>,
}

impl Exchange {
    /// The ends of every shard.
    pub fn between(shards: usize) -> Vec<Exchange> {
        let none = || Exchange {
            to: Vec::with_capacity(shards),
            from: Vec::with_capacity(shards),
        };
        let mut all: Vec<Exchange> = (0..shards).map(|_| none()).collect();
        for giver in 0..shards {
            for taker in 0..shards {
                let (to, from) = ring(1);
                all[giver].to.push(to);
                all[taker].from.push(from);
            }
        }
        all
    }

    /// Gives a round's batches to all shards, and waits for theirs. `None` where a
    /// shard is gone.
    pub fn swap(&self, batches: Vec<Batch>, rule: &SteeringRule) -> Option<Vec<Arc<Parcel>>> {
        let steered = |batch| Steered::new(batch, rule, self.to.len());
        let parcel = Arc::new(Parcel(batches.into_iter().map(steered).collect()));
        let mut given = self.to.iter();
        if !given.all(|to| to.send_waiting(Arc::clone(&parcel))) {
            return None;
        }
        drop(parcel);
        self.from
            .iter()
            .map(RingReceiver::receive_waiting)
            .collect()
    }
}

/// Merges what comes to a shard.
#[derive(Default)]
pub(super) struct Merger {
    /// [`Batch::records_steered`] of the round before.
    records_steered: u64,
}

impl Merger {
    /// This shard's records of a round in order of arrival, in one batch at
    /// least.
    pub fn merge(&mut self, parcels: Vec<Arc<Parcel>>, shard: usize, pool: &Pool) -> Vec<Batch> {
        let all = || parcels.iter().flat_map(|parcel| &parcel.0);
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
            if open.room() == (0, 0) || open.take_over(&steered.batch, index).is_err() {
                merged.push(std::mem::replace(&mut open, empty(self.records_steered)));
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
        self.records_steered = steered.max().unwrap_or(0).max(self.records_steered);
        open.set_records_steered(self.records_steered);
        merged.push(open);
        // The last of those who got a parcel gives its memory back.
        for steered in (parcels.into_iter())
            .filter_map(Arc::into_inner)
            .flat_map(|p| p.0)
        {
            pool.put(steered.batch);
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
        for steered in &parcel.0 {
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
