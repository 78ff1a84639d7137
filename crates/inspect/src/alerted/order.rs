//! Puts records of several shards into the order of their arrival.

use std::collections::{BTreeMap, VecDeque};

use weir_stream::Arrival;

/// A record that is to be written.
pub(super) struct KeptRecord {
    pub(super) arrival: Arrival,
    pub(super) bytes: Box<[u8]>,
}

/// Every record of a source comes to the sinks, whether it is kept or not, so
/// it is known when all before a kept one have come. Until then it waits.
///
/// What is remembered grows with how far shards are apart, which the pipeline
/// bounds; the bytes of waiting records are bounded here.
pub(super) struct ArrivalOrder {
    /// All records before this number have come.
    next: u64,
    /// Of the records from `next` on, whether each has come.
    come: VecDeque<bool>,
    /// By number, and by how many were kept before it: what a stage makes has
    /// the number of the record that occasioned it.
    waiting: BTreeMap<(u64, u64), KeptRecord>,
    waiting_bytes: usize,
    limit_bytes: usize,
    kept: u64,
    released_early: u64,
}

impl ArrivalOrder {
    pub(super) fn new(limit_bytes: usize) -> ArrivalOrder {
        ArrivalOrder {
            next: 0,
            come: VecDeque::new(),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            limit_bytes,
            kept: 0,
            released_early: 0,
        }
    }

    /// Keeps a record until it is its turn.
    pub(super) fn keep(&mut self, number: u64, record: KeptRecord) {
        self.waiting_bytes += record.bytes.len();
        self.waiting.insert((number, self.kept), record);
        self.kept += 1;
    }

    /// Record `number` has come, kept or not.
    pub(super) fn note(&mut self, number: u64) {
        let Some(ahead) = number.checked_sub(self.next) else {
            return;
        };
        let ahead = ahead as usize;
        if ahead >= self.come.len() {
            self.come.resize(ahead + 1, false);
        }
        self.come[ahead] = true;
        while self.come.front() == Some(&true) {
            self.come.pop_front();
            self.next += 1;
        }
    }

    /// Nothing more comes: nothing need wait.
    pub(super) fn end(&mut self) {
        self.next = u64::MAX;
    }

    /// The next record whose turn it is, or that there is no room for.
    pub(super) fn release(&mut self) -> Option<KeptRecord> {
        let first = self.waiting.first_entry()?;
        let is_early = first.key().0 >= self.next;
        if is_early && self.waiting_bytes <= self.limit_bytes {
            return None;
        }
        self.released_early += u64::from(is_early);
        let record = first.remove();
        self.waiting_bytes -= record.bytes.len();
        Some(record)
    }

    /// Records released before it was their turn.
    pub(super) fn released_early(&self) -> u64 {
        self.released_early
    }
}
