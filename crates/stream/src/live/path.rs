//! A worker's part of a path: its stages, and what becomes of them when one fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::plan::Shared;
use super::reason::FrameDrop;
use super::report::LiveReport;
use crate::chain::Chain;
use crate::error::panic_message;
use crate::meters::MeterWriter;
use crate::stage::{Stage, StageError};
use crate::statistics::Tally;

/// A failure counts as another one of a series this long after the one before.
const SERIES_NS: u64 = 10_000_000_000;

/// The pause after the second failure of a series; it doubles with each further one.
const FIRST_PAUSE_NS: u64 = 10_000_000;

/// The longest pause.
const LONGEST_PAUSE_NS: u64 = 10_000_000_000;

pub(super) struct PathOfWorker {
    worker: usize,
    number: usize,
    shared: Arc<Shared>,
    /// Empty while the stages are not made again.
    pub segments: Vec<Chain>,
    /// When all of them were called the last time.
    pub called_ns: u64,
    /// Records that the stages hold.
    held: u64,
    pub meter: MeterWriter,
    /// How often stages have failed, how often in this series, and when the last time.
    pub failures: u64,
    failures_of_series: u32,
    failed_ns: u64,
    /// When the stages of a path that has failed are made again.
    again_ns: Option<u64>,
}

impl PathOfWorker {
    pub fn new(
        worker: usize,
        number: usize,
        shared: &Arc<Shared>,
        stages: Vec<Box<dyn Stage>>,
        meter: MeterWriter,
    ) -> PathOfWorker {
        PathOfWorker {
            worker,
            number,
            shared: Arc::clone(shared),
            segments: Chain::cut(stages, &shared.plans[number].segments),
            called_ns: 0,
            held: 0,
            meter,
            failures: 0,
            failures_of_series: 0,
            failed_ns: 0,
            again_ns: None,
        }
    }

    /// Whether the stages can be called. Those of a path that has failed are made again when it
    /// is time.
    ///
    /// # Errors
    /// They cannot be made: the run ends.
    #[inline]
    pub fn is_ready(&mut self, now_ns: u64) -> Result<bool, StageError> {
        match self.again_ns {
            None => Ok(true),
            Some(again_ns) if now_ns < again_ns => Ok(false),
            Some(_) => self.make_again().map(|()| true),
        }
    }

    #[cold]
    fn make_again(&mut self) -> Result<(), StageError> {
        let shared = &self.shared;
        let make = AssertUnwindSafe(|| {
            let mut stages = (shared.factory)(self.worker, self.number)?;
            // Words that are known keep their numbers; a new one has no counter.
            let mut vocabulary = (*shared.vocabulary).clone();
            let mut each = stages.iter_mut();
            (each.try_for_each(|stage| stage.register(&mut vocabulary)))
                .map_err(|error| StageError::new("stages made again", error))?;
            Ok(Chain::cut(stages, &shared.plans[self.number].segments))
        });
        self.segments = catch_unwind(make).unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            Err(StageError::new("stages made again", message))
        })?;
        self.again_ns = None;
        Ok(())
    }

    /// Adds the accounts of a batch.
    pub fn count(&mut self, tally: &Tally) {
        self.meter.add(tally);
        self.held = (self.held + tally.held).saturating_sub(tally.released);
    }

    /// Takes the stages away, with what they held, and decides when they are made again.
    pub fn fail(&mut self, now_ns: u64, message: String) {
        let is_series = now_ns.saturating_sub(self.failed_ns) < SERIES_NS;
        self.failures += 1;
        self.failures_of_series = if is_series {
            self.failures_of_series + 1
        } else {
            1
        };
        let pause_ns = match self.failures_of_series {
            0 | 1 => 0,
            more => (FIRST_PAUSE_NS << (more - 2).min(16)).min(LONGEST_PAUSE_NS),
        };
        (self.failed_ns, self.again_ns) = (now_ns, Some(now_ns + pause_ns));
        discard(std::mem::take(&mut self.segments));
        self.shared.reports.send(LiveReport::StageFailed {
            worker: self.worker,
            path: self.number,
            message,
            pause: Duration::from_nanos(pause_ns),
        });
        let mut lost = Tally::default();
        lost.released = self.held;
        let failed = self.shared.codes.code(FrameDrop::StageFailed);
        lost.add_drops(failed, lost.released);
        self.count(&lost);
    }
}

/// Drops stages after a failure. What panics meanwhile was reported already.
pub(super) fn discard(segments: Vec<Chain>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(segments)));
}

/// The message of a stage that has failed or panicked.
pub(super) fn failure(result: thread::Result<Result<(), StageError>>) -> Option<String> {
    match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(panic_message(&*panic)),
    }
}
