//! From the shards' parts of intervals to reports.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use crate::change::{ChangeError, ChangeMonitor, MonitoredInterval, Sample};
use crate::config::Plan;
use crate::contents::{Contents, Sketched};
use crate::filler::Filler;
use crate::interval::Slot;
use crate::report::{IntervalPart, IntervalReport};

/// A run of intervals without packets that is longer than this is left out and
/// counted in [`IntervalReport::skipped_before`]: a gap of a year must not
/// become a row per second.
const EMPTY_ROWS_MAX: u64 = 60;

/// Merges parts as they come and reports intervals, in order, that all shards
/// have passed.
#[derive(Debug)]
pub(crate) struct Merger {
    plan: Arc<Plan>,
    filler: Filler,
    open: BTreeMap<u64, IntervalPart>,
    /// The interval that each shard has reached; it sends no earlier one.
    reached: Vec<u64>,
    /// Index after the last interval that was reported.
    next: u64,
    /// Beginning of the last interval that was reported with packets.
    last_start_ns: u64,
    watch: Option<ChangeMonitor>,
    ready: Vec<IntervalReport>,
}

impl Merger {
    /// # Errors
    /// A search for changes that cannot be made.
    pub fn new(plan: &Arc<Plan>, shards: usize) -> Result<Merger, ChangeError> {
        let watch = match (&plan.change, &plan.blank.change) {
            (Some(change), Some(blank)) => {
                let unit = plan.value.name();
                let delta = plan.shape.delta();
                Some(ChangeMonitor::new(
                    change, blank, plan.key, unit, plan.tier, delta,
                )?)
            }
            _ => None,
        };
        Ok(Merger {
            plan: Arc::clone(plan),
            filler: Filler::new(plan),
            open: BTreeMap::new(),
            reached: vec![0; shards],
            next: 0,
            last_start_ns: 0,
            watch,
            ready: Vec::new(),
        })
    }

    /// Takes a part of an interval that its shard has left.
    pub fn merge(&mut self, mut part: IntervalPart) {
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

    /// Learns that a shard sends nothing from before interval `index` any more.
    pub fn reach(&mut self, shard: usize, index: u64) {
        if let Some(reached) = self.reached.get_mut(shard) {
            *reached = index.max(*reached);
        }
        let slowest = self.reached.iter().copied().min().unwrap_or(0);
        self.report_before(slowest);
    }

    /// Reports all that is open: no part comes any more.
    pub fn finish(&mut self) {
        self.report_before(u64::MAX);
        if let Some(watch) = &mut self.watch {
            watch.flush(&mut self.ready);
        }
    }

    /// The reports since the last call.
    pub fn take_ready(&mut self) -> Vec<IntervalReport> {
        mem::take(&mut self.ready)
    }

    /// Cleared memory that is not needed here.
    pub fn take_spare(&mut self) -> Option<Sketched> {
        self.filler.take_spare()
    }

    fn report_before(&mut self, end: u64) {
        // At the end of the stream no index is excluded.
        while let Some(entry) = self.open.first_entry()
            && (*entry.key() < end || end == u64::MAX)
        {
            let mut part = entry.remove();
            let start_ns = part.slot.start_ns;
            let set_back_ns = mem::replace(&mut self.last_start_ns, start_ns);
            let set_back_ns = set_back_ns.saturating_sub(start_ns);
            let skipped_before = self.report_empty(&part, set_back_ns > 0);
            let mut report = part.report(&self.plan);
            report.skipped_before = skipped_before;
            report.set_back_seconds = set_back_ns as f64 / 1e9;
            if self.watch.is_some() || self.plan.sketches {
                self.filler.sketch(&self.plan, &mut part.contents);
                self.filler.flush(&self.plan, &mut part.contents);
            }
            if let Contents::Sketched(sketched) = &part.contents
                && self.plan.sketches
            {
                report.sketches = Some(sketched.store());
            }
            // The stream goes on behind every interval but its last.
            let is_whole = end < u64::MAX || !self.open.is_empty();
            self.watch(report, Some(&mut part), is_whole);
            self.next = part.slot.index.saturating_add(1);
            if let Contents::Sketched(sketched) = part.contents {
                self.filler.recycle(&self.plan, *sketched);
            }
        }
    }

    /// Reports the empty intervals before `part`, or returns how many there
    /// are where they are too many, or where the clock was set back, so that their
    /// times are unknown.
    fn report_empty(&mut self, part: &IntervalPart, is_set_back: bool) -> u64 {
        let gap = part.slot.index.saturating_sub(self.next);
        if gap > EMPTY_ROWS_MAX || is_set_back {
            return gap;
        }
        let length_ns = self.plan.interval_ns.map_or(0, |length| length.get());
        for before in (1..=gap).rev() {
            let slot = Slot {
                index: part.slot.index - before,
                start_ns: part.slot.start_ns.saturating_sub(before * length_ns),
            };
            let report = IntervalPart::new(slot).report(&self.plan);
            self.watch(report, None, true);
        }
        0
    }

    /// Searches for changes where that is configured; then the report is ready.
    fn watch(&mut self, report: IntervalReport, part: Option<&mut IntervalPart>, is_whole: bool) {
        let Some(watch) = &mut self.watch else {
            self.ready.push(report);
            return;
        };
        let mut interval = MonitoredInterval {
            counts: None,
            sample: Sample::default(),
            is_whole,
        };
        if let Some(part) = part {
            interval.sample = mem::take(&mut part.sample);
            if let Contents::Sketched(sketched) = &mut part.contents {
                let Sketched {
                    change, candidates, ..
                } = &mut **sketched;
                interval.counts = change.as_mut().map(|change| (change, &*candidates));
            }
        }
        watch.pass(report, interval, &mut self.ready);
    }
}
