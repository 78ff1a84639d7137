//! One worker: the loop from receive queues through stages to send queues.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::boundary::Boundary;
use super::exchange::Exchange;
use super::path::{PathOfWorker, failure};
use super::plan::{Plan, Shared};
use super::queues::Queues;
use super::reason::FrameDrop;
use super::report::LiveReport;
use super::waker::Wakened;
use super::{output, path, wait};
use crate::batch::Batch;
use crate::context::Clock;
use crate::error::PipelineError;
use crate::meters::MeterWriter;
use crate::stage::{Stage, StageError};

/// The stages of every path are called at least this often.
const CALLED_EVERY_NS: u64 = 10_000_000;

/// The counters of queues are read this often.
const QUEUES_READ_EVERY_NS: u64 = 100_000_000;

/// Parcels that are taken before queues are looked at again.
const PARCELS_AT_ONCE: usize = 16;

pub(super) struct Worker {
    number: usize,
    shared: Arc<Shared>,
    paths: Vec<PathOfWorker>,
    queues: Queues,
    mtus_bytes: Arc<[usize]>,
    exchange: Exchange,
    clock: Clock,
    queues_read_ns: u64,
    spare: Vec<Batch>,
    fatal: Option<StageError>,
}

impl Worker {
    pub fn new(
        number: usize,
        shared: &Arc<Shared>,
        stages_and_meters: impl Iterator<Item = (Vec<Box<dyn Stage>>, MeterWriter)>,
        queues: Queues,
        exchange: Exchange,
    ) -> Worker {
        let paths = (stages_and_meters.enumerate())
            .map(|(path, (stages, meter))| PathOfWorker::new(number, path, shared, stages, meter));
        Worker {
            number,
            paths: paths.collect(),
            shared: Arc::clone(shared),
            mtus_bytes: queues.mtus_bytes(),
            queues,
            exchange,
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
            let change_waits = boundary.is_requested();
            if !change_waits {
                for queue in 0..self.queues.rx.len() {
                    has_worked |= self.receive(queue);
                }
                self.call_idle_paths();
            }
            drop(working);
            if change_waits {
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
            let Some((sender, mut parcel)) = self.exchange.take() else {
                return taken > 0;
            };
            self.pass(parcel.path, parcel.segment, true, &mut parcel.batch);
            self.exchange.give_back(sender, parcel.batch);
        }
        true
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
            self.mtus_bytes = self.queues.mtus_bytes();
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
        let wakened = &mut self.exchange.wakened;
        let fd = wakened.as_ref().map(Wakened::fd);
        wait::for_any(&mut self.queues.rx, fd, timeout);
        if let Some(wakened) = wakened {
            wakened.rise();
        }
    }

    /// Runs a batch through the rest of a path, from a segment on, and lets it leave. Its
    /// records `are_here` where they are on the worker that the segment needs them on. A failure
    /// of a stage ends here.
    fn pass(&mut self, path: usize, segment: usize, are_here: bool, batch: &mut Batch) {
        batch.set_interfaces(&self.shared.interfaces);
        batch.set_mtus_bytes(&self.mtus_bytes);
        let now_ns = self.clock.now_ns();
        let is_ready = self.paths[path].is_ready(now_ns).unwrap_or_else(|error| {
            self.fatal.get_or_insert(error);
            self.shared.stop.stop();
            false
        });
        let mut message = None;
        if is_ready {
            let process = AssertUnwindSafe(|| self.process(path, segment, are_here, batch, now_ns));
            message = failure(catch_unwind(process));
        } else {
            self.paths[path].called_ns = now_ns;
        }
        if !is_ready || message.is_some() {
            self.drop_live(batch, FrameDrop::StageFailed);
        }
        self.leave(path, batch);
        // Only now is it known what the stages hold.
        if let Some(message) = message {
            self.fail(path, message);
        }
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

    /// Lets the live records of a batch leave, and its events; counts what became of all.
    fn leave(&mut self, path: usize, batch: &mut Batch) {
        let tally = output::leave(&self.shared, &mut self.queues.tx, path, batch);
        let path = &mut self.paths[path];
        path.count(tally);
        let ended = tally.ended();
        if let (Some(last), true) = (batch.len().checked_sub(1), ended > 0) {
            // The first and the last record stand for the two halves of the batch.
            let wall_ns = self.clock.context(self.clock.now_ns()).wall_ns;
            let of = |index| wall_ns.saturating_sub(batch.arrival(index).timestamp_ns);
            path.meter.add_latency(of(0), ended / 2);
            path.meter.add_latency(of(last), ended - ended / 2);
        }
        if !batch.events().is_empty() {
            let events = batch.take_events();
            let count = events.len() as u64;
            if self.shared.events.try_send(events).is_err() {
                self.shared.events.count_lost(count);
            }
        }
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
        let (meter, spare) = (&mut self.paths[path].meter, &mut self.spare);
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

    fn fail(&mut self, path: usize, message: String) {
        self.paths[path].fail(self.clock.now_ns(), message);
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

    /// Lets a segment release what it holds, through those behind it. Where one of these fails,
    /// the rest is lost with what the path holds.
    fn drain(&mut self, path: usize, segment: usize) {
        let Some(chain) = self.paths[path].segments.get_mut(segment) else {
            return;
        };
        let mut chain = std::mem::take(chain);
        let mut batch = self.take_batch();
        let mut cx = self.clock.context(self.clock.now_ns());
        let failures = self.paths[path].failures;
        let drain = AssertUnwindSafe(|| {
            chain.drain(&mut batch, &mut cx, |batch| {
                self.pass(path, segment + 1, false, batch);
                match self.paths[path].failures == failures {
                    true => Ok(()),
                    false => Err(StageError::new("path", "a later segment has failed")),
                }
            })
        });
        let message = failure(catch_unwind(drain));
        if self.paths[path].failures != failures {
            path::discard(vec![chain]);
            return;
        }
        self.paths[path].segments[segment] = chain;
        if let Some(message) = message {
            self.drop_live(&mut batch, FrameDrop::StageFailed);
            self.leave(path, &mut batch);
            self.fail(path, message);
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
