//! One worker: the loop from receive queues through stages to send queues.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::boundary::Boundary;
use super::exchange::{Exchange, Parcel};
use super::queues::Queues;
use super::reason::FrameDrop;
use super::wait;
use super::{LiveReport, Plan, Shared};
use crate::batch::Batch;
use crate::context::Clock;
use crate::meters::MeterWriter;
use crate::pipeline::{Chain, PipelineError, panic_message};
use crate::stage::{Stage, StageError};
use crate::statistics::Tally;

/// The stages of every path are called at least this often.
const CALLED_EVERY_NS: u64 = 10_000_000;

/// The counters of queues are read this often.
const QUEUES_READ_EVERY_NS: u64 = 100_000_000;

/// A failure counts as another one of a series this long after the one before.
const SERIES_NS: u64 = 10_000_000_000;

/// The pause after the second failure of a series; it doubles with each further one.
const FIRST_PAUSE_NS: u64 = 10_000_000;

/// The longest pause.
const LONGEST_PAUSE_NS: u64 = 10_000_000_000;

/// Parcels that are taken before queues are looked at again.
const PARCELS_AT_ONCE: usize = 16;

/// A worker's part of a path.
#[derive(Default)]
pub(super) struct PathOfWorker {
    segments: Vec<Chain>,
    /// When all of them were called the last time.
    called_ns: u64,
    /// Records that the stages hold.
    pub held: u64,
    /// Failures of a series, and when the last one was.
    failures: u32,
    failed_ns: u64,
    /// When the stages of a path that has failed are made again.
    again_ns: Option<u64>,
}

pub(super) struct Worker {
    number: usize,
    pub(super) shared: Arc<Shared>,
    pub(super) paths: Vec<PathOfWorker>,
    pub(super) queues: Queues,
    exchange: Exchange,
    pub(super) meter: MeterWriter,
    pub(super) clock: Clock,
    queues_read_ns: u64,
    spare: Vec<Batch>,
    fatal: Option<StageError>,
}

impl Worker {
    pub fn new(
        number: usize,
        shared: &Arc<Shared>,
        stages: Vec<Vec<Box<dyn Stage>>>,
        queues: Queues,
        exchange: Exchange,
        meter: MeterWriter,
    ) -> Worker {
        let paths = stages.into_iter().zip(&shared.plans);
        let paths = paths.map(|(stages, plan)| PathOfWorker {
            segments: Chain::cut(stages, &plan.segments),
            ..PathOfWorker::default()
        });
        Worker {
            number,
            paths: paths.collect(),
            shared: Arc::clone(shared),
            queues,
            exchange,
            meter,
            clock: Clock::start(true),
            queues_read_ns: 0,
            spare: Vec::new(),
            fatal: None,
        }
    }

    /// Runs until the stop flag is raised.
    pub fn run(mut self, cpu: Option<usize>) -> Result<(), PipelineError> {
        let _attendance = Attendance(Arc::clone(&self.shared));
        if let Some(cpu) = cpu {
            wait::bind_to(cpu)?;
        }
        let boundary = self.shared.boundary.clone();
        while !self.shared.stop.is_stopped() {
            let working = boundary.work(self.number);
            let mut has_worked = self.take_parcels();
            let is_asked = boundary.is_asked();
            if !is_asked {
                for queue in 0..self.queues.rx.len() {
                    has_worked |= self.receive(queue);
                }
                self.call_idle_paths();
            }
            drop(working);
            if is_asked {
                boundary.pause();
            } else if !has_worked {
                self.wait(&boundary);
            }
        }
        let _working = boundary.work(self.number);
        self.end();
        match self.fatal {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Takes a batch from a queue and runs it. False where the queue had nothing.
    fn receive(&mut self, number: usize) -> bool {
        let mut batch = self.take_batch();
        let queue = &mut self.queues.rx[number];
        let rx = &mut *queue.rx;
        let mut received = batch.fill(rx, queue.ingress, queue.next) as u64;
        let max_wait = self.shared.max_wait;
        if received > 0 && !max_wait.is_zero() {
            let closes_ns = self.clock.now_ns() + max_wait.as_nanos() as u64;
            while batch.room() != (0, 0) {
                let left_ns = closes_ns.saturating_sub(self.clock.now_ns());
                if left_ns == 0 {
                    break;
                }
                rx.wait(Duration::from_nanos(left_ns));
                received += batch.fill(rx, queue.ingress, queue.next + received) as u64;
            }
        }
        queue.next += received;
        let path = queue.path;
        if received > 0 {
            let is_steered = self.shared.plans[path].is_steered;
            self.pass(path, 0, is_steered, &mut batch);
        }
        self.spare.push(batch);
        received > 0
    }

    /// Runs what other workers have handed over. False where there was nothing.
    fn take_parcels(&mut self) -> bool {
        for taken in 0..PARCELS_AT_ONCE {
            let Some((sender, parcel)) = self.exchange.take() else {
                return taken > 0;
            };
            self.take_parcel(sender, parcel);
        }
        true
    }

    fn take_parcel(&mut self, sender: usize, parcel: Parcel) {
        let Parcel {
            path,
            segment,
            mut batch,
        } = parcel;
        self.pass(path, segment, true, &mut batch);
        self.exchange.give_back(sender, batch);
    }

    /// Calls the stages of paths that nothing has come by for a while, and reads the counters
    /// of queues.
    fn call_idle_paths(&mut self) {
        let now_ns = self.clock.now_ns();
        for path in 0..self.paths.len() {
            if now_ns.saturating_sub(self.paths[path].called_ns) >= CALLED_EVERY_NS {
                let mut batch = self.take_batch();
                self.pass(path, 0, true, &mut batch);
                self.spare.push(batch);
            }
        }
        if now_ns.saturating_sub(self.queues_read_ns) >= QUEUES_READ_EVERY_NS {
            self.queues_read_ns = now_ns;
            let reports = &self.shared.reports;
            self.queues.renew(|reading| {
                reports.send(LiveReport::PortChanged { reading });
            });
        }
    }

    /// Waits for packets on all queues together, until a path's stages are to be called.
    fn wait(&mut self, boundary: &Boundary) {
        let now_ns = self.clock.now_ns();
        let called_ns = self.paths.iter().map(|path| path.called_ns).min();
        let until_ns = called_ns.unwrap_or(now_ns) + CALLED_EVERY_NS;
        let timeout = Duration::from_nanos(until_ns.saturating_sub(now_ns));
        if let Some(wakened) = &self.exchange.wakened {
            wakened.lie_down();
            let _working = boundary.work(self.number);
            // What was put there before that wakes nobody.
            if self.take_parcels() {
                return;
            }
        }
        match (&mut *self.queues.rx, &mut self.exchange.wakened) {
            ([queue], None) => {
                queue.rx.wait(timeout);
            }
            (queues, Some(wakened)) => {
                wait::for_any(queues, Some(wakened.fd()), timeout);
                wakened.rise();
            }
            (queues, None) => wait::for_any(queues, None, timeout),
        }
    }

    /// Runs a batch through the rest of a path, from a segment on, and lets it leave. Its
    /// records `are_here` where they are on the worker that the segment needs them on. A failure
    /// of a stage ends here.
    fn pass(&mut self, path: usize, segment: usize, are_here: bool, batch: &mut Batch) {
        batch.set_interfaces(&self.shared.interfaces);
        let now_ns = self.clock.now_ns();
        if self.paths[path]
            .again_ns
            .is_some_and(|again_ns| now_ns >= again_ns)
        {
            self.make_again(path);
        }
        if self.paths[path].again_ns.is_some() {
            self.drop_live(batch, FrameDrop::StageFailed);
            self.paths[path].called_ns = now_ns;
        } else {
            let process = AssertUnwindSafe(|| self.process(path, segment, are_here, batch, now_ns));
            if let Some(message) = failure(catch_unwind(process)) {
                self.drop_live(batch, FrameDrop::StageFailed);
                self.fail(path, message);
            }
        }
        self.leave(path, batch);
    }

    fn process(
        &mut self,
        path: usize,
        first: usize,
        are_here: bool,
        batch: &mut Batch,
        now_ns: u64,
    ) -> Result<(), StageError> {
        let mut cx = self.clock.next_context(now_ns);
        for segment in first..self.paths[path].segments.len() {
            if segment > first || !are_here {
                self.hand_over(path, segment, batch);
            }
            self.paths[path].segments[segment].process(batch, &mut cx)?;
        }
        if first == 0 {
            self.paths[path].called_ns = now_ns;
        }
        Ok(())
    }

    /// Gives the records of a batch to the workers that a segment needs them on.
    fn hand_over(&mut self, path: usize, segment: usize, batch: &mut Batch) {
        if !self.exchange.has_others() || batch.is_empty() {
            return;
        }
        let shared = &self.shared;
        let rule = &shared.plans[path].segments[segment].rule;
        let workers = rule.shards(batch, self.exchange.workers());
        for index in batch.live() {
            let to = usize::from(workers[index]);
            let new = || Batch::new(shared.limits);
            if to != self.number && self.exchange.put(to, batch, index, new) {
                batch.hand_over(index);
            }
        }
        let full = shared.codes.code(FrameDrop::HandoverFull);
        let (meter, spare) = (&mut self.meter, &mut self.spare);
        self.exchange.send(path, segment, |mut batch| {
            for index in batch.live() {
                batch.drop_record(index, full);
            }
            meter.add(batch.settle_accounts());
            spare.push(batch);
        });
    }

    fn drop_live(&self, batch: &mut Batch, reason: FrameDrop) {
        let code = self.shared.codes.code(reason);
        for index in batch.live() {
            batch.drop_record(index, code);
        }
    }

    /// Takes the stages of a path away, with what they held, and says when they are made again.
    fn fail(&mut self, path: usize, message: String) {
        let now_ns = self.clock.now_ns();
        let PathOfWorker {
            segments,
            held,
            failures,
            failed_ns,
            again_ns,
            ..
        } = &mut self.paths[path];
        let is_series = now_ns.saturating_sub(*failed_ns) < SERIES_NS;
        *failures = if is_series { *failures + 1 } else { 1 };
        let pause_ns = match *failures {
            0 | 1 => 0,
            more => (FIRST_PAUSE_NS << (more - 2).min(16)).min(LONGEST_PAUSE_NS),
        };
        (*failed_ns, *again_ns) = (now_ns, Some(now_ns + pause_ns));
        let mut lost = Tally::default();
        lost.released = std::mem::take(held);
        lost.add_drops(
            self.shared.codes.code(FrameDrop::StageFailed),
            lost.released,
        );
        self.meter.add(&lost);
        let stages = std::mem::take(segments);
        // What panics while it is dropped was reported already.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(stages)));
        self.shared.reports.send(LiveReport::StageFailed {
            worker: self.number,
            path,
            message,
            pause: Duration::from_nanos(pause_ns),
        });
    }

    /// Makes the stages of a path that has failed again. Where that fails, the run ends.
    fn make_again(&mut self, path: usize) {
        let shared = &self.shared;
        let make = AssertUnwindSafe(|| {
            let mut stages = (shared.factory)(self.number, path)?;
            // Words that are known keep their numbers; a new one has no counter.
            let mut vocabulary = (*shared.vocabulary).clone();
            let mut each = stages.iter_mut();
            (each.try_for_each(|stage| stage.register(&mut vocabulary)))
                .map_err(|error| StageError::new("stages made again", error))?;
            Ok(Chain::cut(stages, &shared.plans[path].segments))
        });
        let made = catch_unwind(make).unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            Err(StageError::new("stages made again", message))
        });
        match made {
            Ok(segments) => {
                self.paths[path].segments = segments;
                self.paths[path].again_ns = None;
            }
            Err(error) => {
                self.fatal.get_or_insert(error);
                shared.stop.stop();
            }
        }
    }

    /// Brings what is under way to its end, in the order of segments: every worker drains a
    /// segment when it has everything that the others will hand over to it.
    fn end(&mut self) {
        let shared = Arc::clone(&self.shared);
        let count = |plan: &Plan| plan.segments.len();
        let segments = shared.plans.iter().map(count).max().unwrap_or(0);
        for segment in 0..=segments {
            shared.rendezvous.meet(segment, || {
                self.take_parcels();
            });
            while self.take_parcels() {}
            for path in 0..self.paths.len() {
                self.drain(path, segment);
            }
        }
        for path in 0..self.paths.len() {
            for segment in 0..self.paths[path].segments.len() {
                let chain = &mut self.paths[path].segments[segment];
                if let Some(message) = failure(catch_unwind(AssertUnwindSafe(|| chain.finish()))) {
                    self.fail(path, message);
                    break;
                }
            }
        }
        for queue in self.queues.tx.iter_mut().flatten() {
            queue.tx.flush(Duration::from_millis(100));
        }
        self.queues.renew(drop);
    }

    fn drain(&mut self, path: usize, segment: usize) {
        let Some(chain) = self.paths[path].segments.get_mut(segment) else {
            return;
        };
        let mut chain = std::mem::take(chain);
        let mut drained = Vec::new();
        let mut batch = self.take_batch();
        let now_ns = self.clock.now_ns();
        let mut cx = self.clock.context(now_ns);
        let limits = self.shared.limits;
        let drain = AssertUnwindSafe(|| {
            chain.drain(&mut batch, &mut cx, |batch| {
                drained.push(std::mem::replace(batch, Batch::new(limits)));
                Ok(())
            })
        });
        let message = failure(catch_unwind(drain));
        self.paths[path].segments[segment] = chain;
        if message.is_some() {
            self.drop_live(&mut batch, FrameDrop::StageFailed);
            self.leave(path, &mut batch);
        }
        for mut batch in drained {
            self.pass_drained(path, segment + 1, &mut batch);
        }
        if let Some(message) = message {
            self.fail(path, message);
        }
    }

    fn pass_drained(&mut self, path: usize, next: usize, batch: &mut Batch) {
        if next < self.paths[path].segments.len() {
            self.pass(path, next, false, batch);
        } else {
            self.leave(path, batch);
        }
    }

    fn take_batch(&mut self) -> Batch {
        let spare = self.spare.pop();
        let mut batch = spare.unwrap_or_else(|| Batch::new(self.shared.limits));
        batch.clear();
        batch
    }
}

/// Breaks the rendezvous, and ends the run, where a worker's thread ends before it has come there.
struct Attendance(Arc<Shared>);

impl Drop for Attendance {
    fn drop(&mut self) {
        if thread::panicking() || !self.0.stop.is_stopped() {
            self.0.rendezvous.leave();
            self.0.stop.stop();
        }
    }
}

/// What a stage said that has failed.
fn failure(result: thread::Result<Result<(), StageError>>) -> Option<String> {
    match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(panic_message(&*panic)),
    }
}
