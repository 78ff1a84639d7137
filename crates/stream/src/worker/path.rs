//! A worker's part of a path: its stages, and what becomes of them when one fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::reason::FrameDrop;
use super::report::LiveReport;
use super::shared::{Plan, Shared, SharedLive};
use crate::chain::Chain;
use crate::error::{PipelineError, caught};
use crate::meters::MeterWriter;
use crate::stage::Stage;
use crate::statistics::Tally;

/// A failure counts as another one of a series this long after the one before.
const SERIES_NS: u64 = 10_000_000_000;

/// The pause after the second failure of a series; it doubles with each further one.
const FIRST_PAUSE_NS: u64 = 10_000_000;

/// The longest pause.
const LONGEST_PAUSE_NS: u64 = 10_000_000_000;

pub(crate) struct PathOfWorker {
    worker: usize,
    pub number: usize,
    shared: Arc<Shared>,
    pub plan: Arc<Plan>,
    /// Empty while the stages are not made again.
    pub segments: Vec<Chain>,
    /// When all of them were called the last time.
    pub called_ns: u64,
    /// Records that the stages hold.
    held: u64,
    pub meter: MeterWriter,
    /// How often stages have failed in this series, and when the last time.
    failures: u32,
    failed_ns: u64,
    /// When the stages of a path that has failed are made again.
    again_ns: Option<u64>,
}

/// What it is made of.
pub(crate) type PathParts = (Arc<Plan>, Vec<Box<dyn Stage>>, MeterWriter);

impl PathOfWorker {
    pub fn new(
        (worker, number): (usize, usize),
        shared: &Arc<Shared>,
        (plan, stages, meter): PathParts,
    ) -> PathOfWorker {
        PathOfWorker {
            worker,
            number,
            shared: Arc::clone(shared),
            segments: Chain::cut(stages, &plan.segments),
            plan,
            called_ns: 0,
            held: 0,
            meter,
            failures: 0,
            failed_ns: 0,
            again_ns: None,
        }
    }

    /// Whether the stages can be called. Those of a path that has failed are made again when it
    /// is time, but not any more at the end of the run.
    ///
    /// # Errors
    /// They cannot be made: the run ends.
    #[inline]
    pub fn is_ready(&mut self, now_ns: u64) -> Result<bool, PipelineError> {
        match (self.again_ns, &self.shared.live) {
            (Some(again_ns), _) if now_ns < again_ns || self.shared.stop.is_stopped() => Ok(false),
            (Some(_), Some(live)) => {
                self.segments = self.make_again(live)?;
                self.again_ns = None;
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    #[cold]
    fn make_again(&self, live: &SharedLive) -> Result<Vec<Chain>, PipelineError> {
        let make = AssertUnwindSafe(|| {
            let mut stages = (live.factory)(self.worker, self.number)?;
            // Words that are known keep their numbers; a new one has no counter.
            let mut vocabulary = (*self.shared.vocabulary).clone();
            let mut each = stages.iter_mut();
            each.try_for_each(|stage| stage.register(&mut vocabulary))?;
            Ok::<_, PipelineError>(Chain::cut(stages, &self.plan.segments))
        });
        caught(catch_unwind(make))
    }

    /// Whether a stage has failed, and the stages were not made again.
    pub fn has_failed(&self) -> bool {
        self.again_ns.is_some()
    }

    /// Adds the accounts of a batch.
    pub fn count(&mut self, tally: &Tally) {
        self.meter.add(tally);
        self.held = (self.held + tally.held).saturating_sub(tally.released);
    }

    /// Takes the stages away, with what they held, and decides when they are made again.
    ///
    /// # Errors
    /// The failure, where it ends the run.
    pub fn fail(&mut self, now_ns: u64, error: PipelineError) -> Result<(), PipelineError> {
        let Some(live) = &self.shared.live else {
            return Err(error);
        };
        let is_series = now_ns.saturating_sub(self.failed_ns) < SERIES_NS;
        self.failures = if is_series { self.failures + 1 } else { 1 };
        let pause_ns = match self.failures {
            0 | 1 => 0,
            more => (FIRST_PAUSE_NS << (more - 2).min(16)).min(LONGEST_PAUSE_NS),
        };
        (self.failed_ns, self.again_ns) = (now_ns, Some(now_ns + pause_ns));
        let segments = std::mem::take(&mut self.segments);
        // What panics meanwhile is reported already.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(segments)));
        live.reports.send(LiveReport::StageFailed {
            worker: self.worker,
            path: self.number,
            message: match error {
                PipelineError::Thread(message) => message,
                error => error.to_string(),
            },
            pause: Duration::from_nanos(pause_ns),
        });
        let mut lost = Tally::default();
        lost.released = self.held;
        lost.add_drops(live.codes.code(FrameDrop::StageFailed), lost.released);
        self.count(&lost);
        Ok(())
    }
}
