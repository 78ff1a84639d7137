//! One worker: the loop from where records come from, through stages, to where they leave.
//!
//! A run consists of workers, each in a thread of its own:
//!
//! ```text
//!  over files, one shard     source ── stages and sinks
//!
//!  over files, several                 ┌ stages ─┐
//!                            source ──╳┤    ╳    ├── sinks
//!                                      └ stages ─┘
//!
//!  between ports             queues ── stages ── queues
//!                                        │ ▲
//!                            queues ── stages ── queues
//! ```
//!
//! Where consecutive stages need different steering, a path is cut into segments, and records go to
//! other workers between them ([`Exchange`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use weir_port::{Rx, wait_for_any};

use crate::batch::Batch;
use crate::chain::Chain;
use crate::context::Clock;
use crate::error::{PipelineError, caught};
use crate::pool::Pool;
use crate::queue_meter::QueueReading;
use crate::stage::Stage;

mod boundary;
mod cpu;
mod exchange;
mod exit;
mod input;
mod parcel;
mod path;
mod queues;
mod reason;
mod report;
mod rounds;
mod shared;

pub use boundary::Boundary;
pub(crate) use exchange::Exchange;
pub(crate) use exit::{Exit, Ports};
pub(crate) use input::{Input, Source};
pub use queues::LivePort;
pub(crate) use queues::share_out;
pub use reason::FrameDrop;
pub use report::{ControlPacket, LiveReport};
pub(crate) use rounds::{AtShard, ToShards};
pub use shared::StageFactory;
pub(crate) use shared::{Plan, Shared, SharedLive};

use cpu::bind_to;
use parcel::Parcel;
use path::{PathOfWorker, PathParts};
use queues::{RxQueue, TxQueue};

/// Between ports, the stages of every path are called at least this often.
const CALLED_EVERY_NS: u64 = 10_000_000;

/// The counters of queues are read this often.
const QUEUES_READ_EVERY_NS: u64 = 100_000_000;

/// Parcels that are taken before queues are looked at again.
const PARCELS_AT_ONCE: usize = 16;

pub(crate) struct Worker {
    pub number: usize,
    shared: Arc<Shared>,
    input: Input,
    paths: Vec<PathOfWorker>,
    exchange: Exchange,
    exit: Exit,
    pool: Pool,
    clock: Clock,
    queues_read_ns: u64,
    has_ended: bool,
}

/// What is left of a worker: its stages, and whether its source was interrupted.
pub(crate) type Ended = (Vec<Box<dyn Stage>>, bool);

type Result<T = ()> = std::result::Result<T, PipelineError>;

impl Worker {
    pub fn new(
        number: usize,
        shared: &Arc<Shared>,
        input: Input,
        paths: impl IntoIterator<Item = PathParts>,
        exchange: Exchange,
        exit: Exit,
        pool: &Pool,
    ) -> Worker {
        let paths = paths.into_iter().enumerate();
        let paths = paths.map(|(path, parts)| PathOfWorker::new((number, path), shared, parts));
        Worker {
            number,
            shared: Arc::clone(shared),
            input,
            paths: paths.collect(),
            exchange,
            exit,
            pool: pool.clone(),
            clock: Clock::start(shared.live.is_some()),
            queues_read_ns: 0,
            has_ended: false,
        }
    }

    /// Runs to the end of the input, or until the stop flag is raised. A failure that cannot be
    /// recovered raises it.
    pub fn run(mut self, cpu: Option<usize>) -> Result<Ended> {
        let bound = cpu.map_or(Ok(()), bind_to).map_err(PipelineError::from);
        let mut result = bound.and_then(|()| self.work());
        if result.is_err() {
            self.shared.end();
        }
        // Between ports, all end in order whatever has happened.
        if result.is_ok() || self.shared.live.is_some() {
            let shared = Arc::clone(&self.shared);
            let _working = shared.boundary.work(self.number);
            result = result.and(self.end());
        }
        result.and(self.finish())?;
        let (mut stages, mut is_interrupted) = (Vec::new(), false);
        if let Input::Source(source) = self.input {
            is_interrupted = source.is_interrupted();
            stages = source.chain.into_stages();
        }
        let segments = self.paths.into_iter().flat_map(|path| path.segments);
        stages.extend(segments.flat_map(Chain::into_stages));
        Ok((stages, is_interrupted))
    }

    fn work(&mut self) -> Result {
        let shared = Arc::clone(&self.shared);
        let boundary = &shared.boundary;
        while !self.has_ended {
            let working = boundary.work(self.number);
            let mut has_worked = self.take_parcels()?;
            let change_waits = boundary.is_requested();
            if !change_waits {
                has_worked |= match &shared.live {
                    Some(live) => self.receive_live(live)?,
                    None => self.receive(0)?,
                };
            }
            drop(working);
            if change_waits {
                boundary.pause();
            } else if !has_worked && !self.has_ended {
                self.wait(boundary)?;
            }
        }
        Ok(())
    }

    /// Takes batches from the input and runs them. False where it has nothing.
    fn receive(&mut self, queue: usize) -> Result<bool> {
        let parcel = (self.input).next(queue, &mut self.pool, &self.clock)?;
        let has_worked = parcel.is_some();
        self.has_ended |= !has_worked && self.shared.live.is_none();
        parcel.map_or(Ok(()), |parcel| self.pass(parcel))?;
        Ok(has_worked)
    }

    /// Takes a batch from every queue, calls the stages of paths that nothing has come by for a
    /// while, and reads the counters of queues.
    fn receive_live(&mut self, live: &SharedLive) -> Result<bool> {
        self.has_ended = self.shared.stop.is_stopped();
        let mut has_worked = false;
        for queue in 0..self.input.queues().len() {
            has_worked |= self.receive(queue)?;
        }
        let now_ns = self.clock.now_ns();
        for path in 0..self.paths.len() {
            if now_ns.saturating_sub(self.paths[path].called_ns) >= CALLED_EVERY_NS {
                let batches = vec![self.pool.take()];
                self.pass(Parcel::new(batches, path, now_ns))?;
            }
        }
        if now_ns.saturating_sub(self.queues_read_ns) >= QUEUES_READ_EVERY_NS {
            self.queues_read_ns = now_ns;
            self.read_queues(|reading| {
                live.reports.send(LiveReport::PortChanged { reading });
            });
        }
        Ok(has_worked)
    }

    /// Runs what other workers have handed over. False where there was nothing.
    fn take_parcels(&mut self) -> Result<bool> {
        for taken in 0..PARCELS_AT_ONCE {
            let Some(mut parcel) = self.exchange.take() else {
                return Ok(taken > 0);
            };
            parcel.filled_ns = self.clock.now_ns();
            let passed = self.pass(parcel);
            self.shared.boundary.end_parcel();
            passed?;
        }
        Ok(true)
    }

    /// Waits for packets on all queues together, until a path's stages are to be called.
    fn wait(&mut self, boundary: &Boundary) -> Result {
        let now_ns = self.clock.now_ns();
        let called_ns = self.paths.iter().map(|path| path.called_ns).min();
        let until_ns = called_ns.unwrap_or(now_ns) + CALLED_EVERY_NS;
        let timeout = Duration::from_nanos(until_ns.saturating_sub(now_ns));
        if let Exchange::Rings(rings) = &self.exchange {
            rings.sleeper.lie_down();
            let _working = boundary.work(self.number);
            // What was put there before that wakes nobody.
            if self.take_parcels()? {
                return Ok(());
            }
        }
        let sleeper = match &mut self.exchange {
            Exchange::Rings(rings) => Some(&mut rings.sleeper),
            _ => None,
        };
        let queues = self.input.queues().iter_mut();
        let mut queues: Vec<&mut dyn Rx> = queues.map(|queue| &mut *queue.rx as _).collect();
        wait_for_any(&mut queues, sleeper, timeout);
        Ok(())
    }

    fn read_queues(&mut self, changed: impl FnMut(QueueReading)) {
        if let Exit::Ports(ports) = &mut self.exit {
            let rx = self.input.queues().iter_mut().filter_map(RxQueue::renew);
            let tx = ports.tx.iter_mut().flatten().filter_map(TxQueue::renew);
            rx.chain(tx).for_each(changed);
            ports.read_mtus();
        }
    }

    /// Runs a parcel through the rest of its path, and lets it leave. Between ports, a failure of a
    /// stage ends here.
    fn pass(&mut self, mut parcel: Parcel) -> Result {
        if let (Exit::Ports(ports), Some(live)) = (&self.exit, &self.shared.live) {
            for batch in &mut parcel.batches {
                ports.describe(live, batch);
            }
        }
        let path = &mut self.paths[parcel.path];
        if parcel.segment == 0 {
            path.called_ns = parcel.filled_ns;
        }
        let ready = path.is_ready(parcel.filled_ns);
        if let Ok(true) = ready {
            let process = AssertUnwindSafe(|| self.process(&mut parcel));
            match caught(catch_unwind(process)) {
                Ok(()) => self.leave(parcel)?,
                Err(error) => self.lose(parcel, error)?,
            }
        } else {
            self.drop_live(&mut parcel.batches);
            self.leave(parcel)?;
        }
        ready.map(drop)
    }

    fn process(&mut self, parcel: &mut Parcel) -> Result {
        for segment in parcel.segment..self.paths[parcel.path].segments.len() {
            if segment > parcel.segment || !parcel.is_here {
                self.hand_over(segment, parcel)?;
            }
            for batch in &mut parcel.batches {
                let mut cx = self.clock.next_context(parcel.filled_ns);
                self.paths[parcel.path].segments[segment].process(batch, &mut cx)?;
            }
        }
        Ok(())
    }

    /// Gives records to the workers that a segment needs them on, and takes from others what is
    /// needed here.
    fn hand_over(&mut self, segment: usize, parcel: &mut Parcel) -> Result {
        let path = &mut self.paths[parcel.path];
        let rule = &path.plan.segments[segment].rule;
        match &mut self.exchange {
            Exchange::Alone => {}
            Exchange::InStep(to_shards, at_shard) => {
                to_shards.give(rule, parcel, &mut path.meter, self.clock.now_ns())?;
                let taken = at_shard.take(segment, &mut self.pool);
                parcel.batches = taken.ok_or(PipelineError::Abandoned)?.batches;
            }
            Exchange::Rings(rings) => {
                for batch in parcel.batches.iter_mut().filter(|batch| !batch.is_empty()) {
                    rings.send(path, segment, batch, &mut self.pool);
                }
            }
        }
        Ok(())
    }

    /// Lets the live records of batches leave, and their events; counts what became of all.
    fn leave(&mut self, mut parcel: Parcel) -> Result {
        let path = &mut self.paths[parcel.path];
        match &mut self.exit {
            Exit::Shards(to_shards) => {
                let (rule, now_ns) = (&path.plan.segments[0].rule, self.clock.now_ns());
                to_shards.give(rule, &mut parcel, &mut path.meter, now_ns)?;
            }
            Exit::Sinks(sinks) => {
                let is_sent = sinks.send_waiting(parcel);
                return is_sent.then_some(()).ok_or(PipelineError::Abandoned);
            }
            Exit::Settled => {
                for batch in &mut parcel.batches {
                    let tally = batch.settle_accounts();
                    path.count(tally);
                    let latency_ns = self.clock.now_ns() - parcel.filled_ns;
                    path.meter.add_latency(latency_ns, tally.ended());
                }
            }
            Exit::Ports(ports) => {
                let live = self.shared.live.iter();
                for (batch, live) in parcel.batches.iter_mut().zip(live.cycle()) {
                    ports.send(live, path, batch, &mut self.clock);
                }
            }
        }
        for batch in parcel.batches {
            self.pool.put(batch);
        }
        Ok(())
    }

    /// Drops a parcel with which a stage has failed.
    #[cold]
    fn lose(&mut self, mut parcel: Parcel, error: PipelineError) -> Result {
        let path = parcel.path;
        if self.shared.live.is_some() {
            self.drop_live(&mut parcel.batches);
            // Only then is it known what the stages hold.
            self.leave(parcel)?;
        }
        self.paths[path].fail(self.clock.now_ns(), error)
    }

    /// Brings what is under way to its end, in the order of segments: every worker drains a
    /// segment when it has everything that the others hand over to it.
    fn end(&mut self) -> Result {
        let shared = Arc::clone(&self.shared);
        let segments = self.paths.iter().map(|path| path.plan.segments.len()).max();
        for segment in 0..segments.unwrap_or(0) {
            if let Exchange::Rings(_) = self.exchange {
                shared.boundary.arrive();
                while !shared.boundary.all_have_arrived(segment) {
                    self.take_parcels()?;
                    shared.boundary.pause();
                }
                while self.take_parcels()? {}
            }
            for path in 0..self.paths.len() {
                self.drain(path, segment)?;
            }
        }
        Ok(())
    }

    /// Lets a segment release what it holds, through those behind it.
    fn drain(&mut self, path: usize, segment: usize) -> Result {
        let now_ns = self.clock.now_ns();
        let mut cx = self.clock.context(now_ns);
        let Some(chain) = self.paths[path].segments.get_mut(segment) else {
            return Ok(());
        };
        let (mut drained, pool) = (Vec::new(), &mut self.pool);
        let mut batch = pool.take();
        let drain = AssertUnwindSafe(|| {
            chain.drain(&mut batch, &mut cx, |batch| {
                drained.push(std::mem::replace(batch, pool.take()));
            })
        });
        let result = caught(catch_unwind(drain));
        let parcel = |batches| Parcel {
            segment: segment + 1,
            is_here: false,
            ..Parcel::new(batches, path, now_ns)
        };
        if let Exchange::InStep(..) = self.exchange {
            result?;
            return self.pass(parcel(drained));
        }
        for batch in drained {
            // Where a later segment has failed, the rest is lost with what the path holds.
            if !self.paths[path].has_failed() {
                self.pass(parcel(vec![batch]))?;
            }
        }
        result.or_else(|error| self.lose(parcel(vec![batch]), error))
    }

    /// Lets all stages complete what they write, also where one fails, and ports send what they
    /// have.
    fn finish(&mut self) -> Result {
        let mut finished = match &mut self.input {
            Input::Source(source) => source.chain.finish().map_err(PipelineError::from),
            _ => Ok(()),
        };
        for path in &mut self.paths {
            let finish = AssertUnwindSafe(|| {
                let segments = path.segments.iter_mut().map(Chain::finish);
                segments.fold(Ok(()), std::result::Result::and)
            });
            if let Err(error) = caught(catch_unwind(finish)) {
                finished = finished.and(path.fail(self.clock.now_ns(), error));
            }
        }
        if let Exit::Ports(ports) = &mut self.exit {
            for queue in ports.tx.iter_mut().flatten() {
                queue.tx.flush(Duration::from_millis(100));
            }
        }
        self.read_queues(drop);
        finished
    }

    /// Drops what is still on its way, because a stage has failed.
    fn drop_live(&self, batches: &mut [Batch]) {
        for (batch, live) in batches.iter_mut().zip(self.shared.live.iter().cycle()) {
            batch.drop_live(live.codes.code(FrameDrop::StageFailed), |_, _| true);
        }
    }
}
