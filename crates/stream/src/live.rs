//! Live pipelines: workers between ports.
//!
//! Worker *i* runs receive queue *i* of every port, an instance of every stage, and send queue
//! *i* of every port. It takes a batch from a queue, runs it through the stages of that port's
//! path, and sends it, before it looks at the next queue. Workers share nothing on the packet
//! path but bounded queues, where a stage needs records to meet that the ports do not bring
//! together.
//!
//! ```text
//!  port 0, queue 0 ┐                     ┌ port 0, queue 0
//!                  ├ worker 0: paths ────┤
//!  port 1, queue 0 ┘     │ ▲             └ port 1, queue 0
//!                        ▼ │ hand-over
//!  port 0, queue 1 ┐                     ┌ port 0, queue 1
//!                  ├ worker 1: paths ────┤
//!  port 1, queue 1 ┘                     └ port 1, queue 1
//! ```

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use weir_packet::file::Interface;
use weir_port::LinkLayer;

use crate::batch::{BatchLimits, link_type};
use crate::egress::{Egress, MAX_PORTS};
use crate::error::{PipelineError, joined};
use crate::event::Event;
use crate::meters::Meters;
use crate::ring::{RingReceiver, ring};
use crate::stage::{Stage, StageError};
use crate::statistics::Statistics;
use crate::stop::StopFlag;
use crate::vocabulary::Vocabulary;

mod boundary;
mod exchange;
mod output;
mod path;
mod plan;
mod queues;
mod reason;
mod report;
mod wait;
mod waker;
mod worker;

pub use boundary::Boundary;
pub use plan::StageFactory;
pub use queues::LivePort;
pub use reason::FrameDrop;
pub use report::{ControlPacket, LiveReport};

use exchange::{Exchange, Rendezvous};
use plan::{PathPlan, Plan, Shared};
use queues::{Queues, share_out};
use worker::Worker;

/// A live pipeline that is put together.
pub struct Live {
    workers: usize,
    ports: Vec<LivePort>,
    paths: Vec<PathPlan>,
    factory: Box<StageFactory>,
    limits: BatchLimits,
    max_wait: Duration,
    cpus: Vec<usize>,
    ring_capacity: usize,
    stop: StopFlag,
    boundary: Boundary,
}

impl Live {
    /// A pipeline of this many workers, at least one, whose stages `factory` makes.
    pub fn new(
        workers: usize,
        factory: impl Fn(usize, usize) -> Result<Vec<Box<dyn Stage>>, StageError>
        + Send
        + Sync
        + 'static,
    ) -> Live {
        let workers = workers.max(1);
        Live {
            workers,
            ports: Vec::new(),
            paths: Vec::new(),
            factory: Box::new(factory),
            limits: BatchLimits::default(),
            max_wait: Duration::ZERO,
            cpus: Vec::new(),
            ring_capacity: 4096,
            stop: StopFlag::default(),
            boundary: Boundary::of(workers),
        }
    }

    /// Adds a port. Ports are numbered from 0 on.
    #[must_use]
    pub fn port(mut self, port: LivePort) -> Live {
        self.ports.push(port);
        self
    }

    /// Adds the path of the records that come from a port, by its number: they leave by
    /// `egress` unless a stage says otherwise. Paths are numbered from 0 on.
    #[must_use]
    pub fn path(mut self, from: usize, egress: Egress) -> Live {
        self.paths.push(PathPlan { from, egress });
        self
    }

    /// Sets when batches close.
    #[must_use]
    pub fn limits(mut self, limits: BatchLimits) -> Live {
        self.limits = limits;
        self
    }

    /// Lets a batch wait for more packets, where its port has nothing more, until it is full or
    /// this time has passed since the first one. Zero unless set: small batches cost more time
    /// per packet, and a wait adds to every packet's latency.
    #[must_use]
    pub fn max_wait_us(mut self, max_wait_us: u32) -> Live {
        self.max_wait = Duration::from_micros(max_wait_us.into());
        self
    }

    /// Binds worker *i* to the *i*-th of these processors. Workers without one may run anywhere.
    #[must_use]
    pub fn cpus(mut self, cpus: Vec<usize>) -> Live {
        self.cpus = cpus;
        self
    }

    /// Sets how many batches' events, packets for control, and reports may wait for their
    /// readers; 4,096 unless set.
    #[must_use]
    pub fn ring_capacity(mut self, capacity: usize) -> Live {
        self.ring_capacity = capacity;
        self
    }

    /// Lets the holder of `stop` end the run.
    #[must_use]
    pub fn stop_flag(mut self, stop: StopFlag) -> Live {
        self.stop = stop;
        self
    }

    /// Where several stages are changed at once.
    pub fn boundary(&self) -> Boundary {
        self.boundary.clone()
    }

    /// Makes the stages and starts the workers.
    ///
    /// # Errors
    /// The ports do not suffice for the paths and workers, stages cannot be made, their words
    /// clash, or a thread cannot be started.
    pub fn start(self) -> Result<Running, PipelineError> {
        self.check_ports()?;
        let (worker_count, path_count) = (self.workers, self.paths.len());
        let mut vocabulary = Vocabulary::default();
        let codes = vocabulary.drop_reasons::<FrameDrop>()?;
        let mut stages_of_workers = Vec::with_capacity(worker_count);
        for worker in 0..worker_count {
            let make = |path| (self.factory)(worker, path);
            let mut paths = (0..path_count).map(make).collect::<Result<Vec<_>, _>>()?;
            let mut stages = paths.iter_mut().flatten();
            stages.try_for_each(|stage| stage.register(&mut vocabulary))?;
            stages_of_workers.push(paths);
        }
        let every_stage = || stages_of_workers.iter().flatten().flatten();
        let keeps_flows = every_stage().any(|stage| stage.wants_flow_keys());
        let limits = self.limits.keep_flows(keeps_flows);
        let plan = |(path, stages): (&PathPlan, &Vec<_>)| {
            let port = &self.ports[path.from];
            let keeps_flows = port.keeps_flows && port.rx.len() == worker_count;
            Plan::new(*path, stages, keeps_flows, worker_count)
        };
        let plans = self
            .paths
            .iter()
            .zip(&stages_of_workers[0])
            .map(plan)
            .collect();
        let vocabulary = Arc::new(vocabulary);
        let (event_sender, events) = ring(self.ring_capacity);
        let (control_sender, control) = ring(self.ring_capacity);
        let (report_sender, reports) = ring(self.ring_capacity);
        let shared = Arc::new(Shared {
            interfaces: self.ports.iter().map(interface).collect(),
            plans,
            factory: self.factory,
            codes,
            limits,
            max_wait: self.max_wait,
            rendezvous: Rendezvous::of(worker_count),
            events: event_sender,
            control: control_sender,
            reports: report_sender,
            stop: self.stop.clone(),
            boundary: self.boundary,
            vocabulary,
        });
        let exchanges = Exchange::between(worker_count, &shared.boundary)?;
        let queues = share_out(self.ports, &shared.plans, worker_count);
        let queue_meters = queues.iter().flat_map(Queues::meters).collect();
        let (meters, writers) = Meters::new(&shared.vocabulary, worker_count * path_count);
        let meters = meters.of_workers(path_count, queue_meters);

        let mut threads = Vec::with_capacity(worker_count);
        let mut writers = writers.into_iter();
        let parts = stages_of_workers.into_iter().zip(exchanges).zip(queues);
        for (number, ((stages, exchange), queues)) in parts.enumerate() {
            let stages_and_meters = stages.into_iter().zip(&mut writers);
            let worker = Worker::new(number, &shared, stages_and_meters, queues, exchange);
            let cpu = self.cpus.get(number).copied();
            let builder = thread::Builder::new().name(format!("weir-worker-{number}"));
            match builder.spawn(move || worker.run(cpu)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    // Those that run wait for those that do not.
                    shared.rendezvous.leave();
                    shared.stop.stop();
                    return Err(error.into());
                }
            }
        }
        Ok(Running {
            threads,
            stop: self.stop,
            meters,
            events: Some(events),
            control: Some(control),
            reports: Some(reports),
        })
    }

    fn check_ports(&self) -> Result<(), PipelineError> {
        if self.ports.len() > MAX_PORTS {
            return Err(PipelineError::TooManyPorts);
        }
        for path in &self.paths {
            let from = self.ports.get(path.from);
            from.ok_or(PipelineError::NoPort { number: path.from })?;
            if let Some(number) = path.egress.port_number() {
                let port = self.ports.get(number);
                let port = port.ok_or(PipelineError::NoPort { number })?;
                if port.tx.is_empty() {
                    let port = port.name.clone();
                    return Err(PipelineError::NoQueue { port, worker: 0 });
                }
            }
        }
        let few = |port: &&LivePort| !port.tx.is_empty() && port.tx.len() < self.workers;
        self.ports.iter().find(few).map_or(Ok(()), |port| {
            let (port, worker) = (port.name.clone(), port.tx.len());
            Err(PipelineError::NoQueue { port, worker })
        })
    }
}

fn interface(port: &LivePort) -> Interface {
    let of_rx = port.rx.first().map(|rx| rx.link_layer());
    let of_tx = port.tx.first().map(|tx| tx.link_layer());
    let link = of_rx.or(of_tx).unwrap_or(LinkLayer::Ethernet);
    Interface {
        name: Some(port.name.clone()),
        ..Interface::new(link_type(link))
    }
}

/// A live pipeline that runs. Dropping it ends the workers; [`Running::join`] waits for
/// them.
pub struct Running {
    threads: Vec<JoinHandle<Result<(), PipelineError>>>,
    stop: StopFlag,
    meters: Meters,
    events: Option<RingReceiver<Vec<Event>>>,
    control: Option<RingReceiver<ControlPacket>>,
    reports: Option<RingReceiver<LiveReport>>,
}

impl Running {
    /// What the workers have done so far, also after the end.
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Ends the run when it is raised.
    pub fn stop_flag(&self) -> &StopFlag {
        &self.stop
    }

    /// The events of every batch that has some, for the thread that writes them; once.
    pub fn take_events(&mut self) -> Option<RingReceiver<Vec<Event>>> {
        self.events.take()
    }

    /// The packets whose egress is [`Egress::CONTROL`]; once.
    pub fn take_control(&mut self) -> Option<RingReceiver<ControlPacket>> {
        self.control.take()
    }

    /// What happened to workers and ports; once.
    pub fn take_reports(&mut self) -> Option<RingReceiver<LiveReport>> {
        self.reports.take()
    }

    /// Whether all workers have ended.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits until all workers have ended: until the stop flag is raised, or a failure cannot be
    /// recovered.
    ///
    /// # Errors
    /// That failure, or accounts that do not balance.
    pub fn join(mut self) -> Result<Statistics, PipelineError> {
        let joined = (self.threads.drain(..)).map(|thread| joined(thread.join()));
        let results: Vec<_> = joined.collect();
        results.into_iter().collect::<Result<(), _>>()?;
        let statistics = self.meters.snapshot()?;
        statistics.check_conservation_at_end()?;
        Ok(statistics)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

#[cfg(test)]
mod tests;
