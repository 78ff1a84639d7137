//! Where the intervals of all shards come together.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::Plan;
use crate::contents::{Contents, Filler, Sketched};
use crate::report::{IntervalPart, IntervalReport};

/// A run of intervals without packets that is longer than this is left out and
/// counted in [`IntervalReport::skipped_before`]: a gap of a year must not
/// become a row per second.
const EMPTY_ROWS_MAX: u64 = 60;

/// Merges the shards' intervals and reports those that every shard has passed.
///
/// A shard hands its part over when it goes on to a later interval, and merges
/// it at once; so memory holds the intervals between the slowest shard and the
/// fastest, and the reports that nobody has taken yet.
#[derive(Clone, Debug)]
pub struct Collector {
    shared: Arc<Mutex<Merger>>,
}

impl Collector {
    pub(crate) fn new(plan: &Arc<Plan>, shards: usize) -> Collector {
        Collector {
            shared: Arc::new(Mutex::new(Merger {
                plan: Arc::clone(plan),
                filler: Filler::new(plan.key),
                open: BTreeMap::new(),
                reached: vec![0; shards],
                next: 0,
                ready: Vec::new(),
            })),
        }
    }

    /// The reports of intervals that all shards have passed, in order, each
    /// given once.
    pub fn take_ready(&self) -> Vec<IntervalReport> {
        mem::take(&mut self.merger().ready)
    }

    /// The same, with the intervals that are still open. To be called when all
    /// meters are finished ([`crate::Meter::finish`]).
    pub fn finish(&self) -> Vec<IntervalReport> {
        let mut merger = self.merger();
        merger.report_before(u64::MAX);
        mem::take(&mut merger.ready)
    }

    /// Takes a shard's part of an interval and the interval that the shard has
    /// reached (`u64::MAX` at its end); returns memory for reuse.
    pub(crate) fn submit(
        &self,
        shard: usize,
        part: Option<IntervalPart>,
        reached: u64,
    ) -> Option<Box<Sketched>> {
        let mut merger = self.merger();
        if let Some(part) = part {
            merger.merge(part);
        }
        merger.reach(shard, reached);
        merger.filler.take_spare()
    }

    /// A shard that panicked leaves the lock poisoned, but never the merger
    /// half-way through a part that anybody else needs.
    fn merger(&self) -> MutexGuard<'_, Merger> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Merger {
    plan: Arc<Plan>,
    filler: Filler,
    open: BTreeMap<u64, IntervalPart>,
    /// The interval that each shard has reached; it sends no earlier one.
    reached: Vec<u64>,
    /// Index after the last interval that was reported.
    next: u64,
    ready: Vec<IntervalReport>,
}

impl Merger {
    fn merge(&mut self, mut part: IntervalPart) {
        let Some(open) = self.open.get_mut(&part.slot.index) else {
            self.open.insert(part.slot.index, part);
            return;
        };
        open.merge_counts(&part);
        let contents = mem::replace(&mut part.contents, Contents::Listed(Vec::new()));
        let merged = self.filler.merge(&self.plan, &mut open.contents, contents);
        // All parts are made from one plan, with one seed.
        debug_assert_eq!(merged, Ok(()));
    }

    fn reach(&mut self, shard: usize, index: u64) {
        if let Some(reached) = self.reached.get_mut(shard) {
            *reached = index.max(*reached);
        }
        let slowest = self.reached.iter().copied().min().unwrap_or(0);
        self.report_before(slowest);
    }

    fn report_before(&mut self, end: u64) {
        // At the end of the stream no index is excluded.
        while let Some(entry) = self.open.first_entry()
            && (*entry.key() < end || end == u64::MAX)
        {
            let mut part = entry.remove();
            let skipped = self.report_empty(&part);
            self.ready.push(part.report(&self.plan, skipped));
            self.next = part.slot.index.saturating_add(1);
            if let Contents::Sketched(sketched) = part.contents {
                self.filler.recycle(&self.plan, sketched);
            }
        }
    }

    /// Reports the empty intervals before `part`, or returns how many there
    /// are where they are too many.
    fn report_empty(&mut self, part: &IntervalPart) -> u64 {
        let gap = part.slot.index.saturating_sub(self.next);
        let length_ns = self.plan.interval_ns.map_or(0, |length| length.get());
        if gap > EMPTY_ROWS_MAX {
            return gap;
        }
        for before in (1..=gap).rev() {
            let start_ns = part.slot.start_ns.saturating_sub(before * length_ns);
            self.ready.push(IntervalReport::empty(start_ns, length_ns));
        }
        0
    }
}
