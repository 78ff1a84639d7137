//! Records on their way from the shards of one segment to those of the next.
//!
//! A shard gives the same parcel to all shards, which only read it: each copies
//! the records that are steered to it into batches of its own. The parcels of
//! all shards in a round are merged by arrival number.

use std::sync::Arc;

use super::sharded::Pool;
use crate::batch::{BATCH_RECORDS, Batch};
use crate::disposition::Disposition;
use crate::event::Event;
use crate::steering::SteeringRule;

/// What a shard hands over in a round.
pub(super) struct Parcel {
    batches: Vec<Steered>,
    pub filled_ns: u64,
    /// Whether it is a round of the source; what is drained belongs to none.
    pub ends_round: bool,
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

    /// The index of the first record from `index` on that goes to a shard.
    fn next_for(&self, shard: usize, index: usize) -> Option<usize> {
        (index..self.batch.len()).find(|index| {
            usize::from(self.shards[*index]) == shard
                && self.batch.disposition(*index) == Disposition::Forward
        })
    }

    fn events(&self, of: Option<usize>) -> impl Iterator<Item = &Event> {
        let events = self.batch.events().iter().zip(&self.events_of);
        events.filter_map(move |(event, record)| (*record == of).then_some(event))
    }
}

impl Parcel {
    pub fn new(
        batches: Vec<Batch>,
        rule: &SteeringRule,
        shard_count: usize,
        filled_ns: u64,
        ends_round: bool,
    ) -> Parcel {
        let steered = |batch| Steered::new(batch, rule, shard_count);
        Parcel {
            batches: batches.into_iter().map(steered).collect(),
            filled_ns,
            ends_round,
        }
    }

    pub fn recycle(self, pool: &Pool) {
        for steered in self.batches {
            pool.put(steered.batch);
        }
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
    pub fn merge(&mut self, parcels: &[Arc<Parcel>], shard: usize, pool: &Pool) -> Vec<Batch> {
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
        let cursors = parcels.iter().map(|parcel| Cursor::new(parcel, shard));
        let mut cursors: Vec<Cursor<'_>> = cursors.flatten().collect();
        while let Some((first, _)) = (cursors.iter().enumerate())
            .min_by_key(|(position, cursor)| (cursor.arrival, *position))
        {
            let Cursor { steered, index, .. } = cursors[first];
            if open.room() == (0, 0) || open.take_over(&steered.batch, index).is_err() {
                merged.push(std::mem::replace(&mut open, empty(self.records_steered)));
                // An empty batch takes any record.
                let taken = open.take_over(&steered.batch, index);
                debug_assert!(taken.is_ok());
            }
            for event in steered.events(Some(index)) {
                open.notice_beside(event.clone());
            }
            if !cursors[first].advance(shard) {
                cursors.remove(first);
            }
        }
        // Only with the last batch has all of the round passed.
        let steered = all().map(|steered| steered.batch.records_steered());
        self.records_steered = steered.max().unwrap_or(0).max(self.records_steered);
        open.set_records_steered(self.records_steered);
        merged.push(open);
        merged
    }
}

/// A place among the records of a parcel that go to one shard.
struct Cursor<'a> {
    steered: &'a Steered,
    index: usize,
    /// The latest arrival number so far: a record that was held comes after
    /// those that it left with.
    arrival: u64,
    rest: &'a [Steered],
}

impl<'a> Cursor<'a> {
    /// At the first record for a shard, if there is one.
    fn new(parcel: &'a Parcel, shard: usize) -> Option<Cursor<'a>> {
        let (steered, rest) = parcel.batches.split_first()?;
        let mut cursor = Cursor {
            steered,
            index: 0,
            arrival: 0,
            rest,
        };
        cursor.find(shard, 0).then_some(cursor)
    }

    /// Goes to the next record for a shard; false at the end.
    fn advance(&mut self, shard: usize) -> bool {
        self.find(shard, self.index + 1)
    }

    fn find(&mut self, shard: usize, from: usize) -> bool {
        let mut from = from;
        loop {
            if let Some(index) = self.steered.next_for(shard, from) {
                self.index = index;
                self.arrival = self.arrival.max(self.steered.batch.number(index));
                return true;
            }
            let Some((steered, rest)) = self.rest.split_first() else {
                return false;
            };
            (self.steered, self.rest, from) = (steered, rest, 0);
        }
    }
}
