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
use std::time::Duration;

use weir_packet::file::Interface;
use weir_port::LinkLayer;

use crate::batch::{BatchLimits, link_type};
use crate::egress::{Egress, MAX_PORTS};
use crate::error::PipelineError;
use crate::meters::Meters;
use crate::pool::Pool;
use crate::ring::ring;
use crate::running::Running;
use crate::stage::{Stage, StageError};
use crate::stop::StopFlag;
use crate::vocabulary::Vocabulary;
use crate::worker::{
    Boundary, Exchange, Exit, FrameDrop, Input, LivePort, Plan, Ports, Shared, SharedLive,
    StageFactory, Worker, share_out,
};

/// How many batches' events, packets for control, and reports may wait for their readers.
const RING_CAPACITY: usize = 4096;

/// A live pipeline that is put together.
pub struct Live {
    workers: usize,
    ports: Vec<LivePort>,
    /// The port that each path comes from, and where its records leave.
    paths: Vec<(usize, Egress)>,
    factory: Box<StageFactory>,
    limits: BatchLimits,
    max_wait: Duration,
    cpus: Vec<usize>,
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
        self.paths.push((from, egress));
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
        let pool = Pool::new(self.limits.keep_flows(keeps_flows));
        let plan = |((from, egress), stages): (&(usize, Egress), &Vec<_>)| {
            let port = &self.ports[*from];
            let keeps_flows = port.keeps_flows && port.rx.len() == worker_count;
            Arc::new(Plan::new(*egress, stages, worker_count == 1, keeps_flows))
        };
        let plans = self.paths.iter().zip(&stages_of_workers[0]).map(plan);
        let plans: Vec<Arc<Plan>> = plans.collect();
        let vocabulary = Arc::new(vocabulary);
        let (events, at_events) = ring(RING_CAPACITY);
        let (control, at_control) = ring(RING_CAPACITY);
        let (reports, at_reports) = ring(RING_CAPACITY);
        let shared = Arc::new(Shared {
            vocabulary: Arc::clone(&vocabulary),
            boundary: self.boundary,
            ends: Arc::new([self.stop.clone()]),
            stop: self.stop,
            live: Some(SharedLive {
                interfaces: self.ports.iter().map(interface).collect(),
                factory: self.factory,
                codes,
                events,
                control,
                reports,
            }),
        });
        let full = codes.code(FrameDrop::HandoverFull);
        let exchanges = Exchange::by_rings(worker_count, &shared.boundary, full)?;
        let from: Vec<usize> = self.paths.iter().map(|(from, _)| *from).collect();
        let queues = share_out(self.ports, &from, &plans, self.max_wait, worker_count);
        let queue_meters = queues.iter().flat_map(|(rx, tx)| {
            let rx = rx.iter().map(|queue| Arc::clone(&queue.meter));
            let tx = tx.iter().flatten();
            rx.chain(tx.map(|queue| Arc::clone(&queue.meter)))
        });
        let queue_meters = queue_meters.collect();
        let (meters, writers) = Meters::new(&vocabulary, worker_count * path_count);
        let meters = meters.of_workers(path_count, queue_meters);
        let mut writers = writers.into_iter();
        let parts = stages_of_workers.into_iter().zip(exchanges).zip(queues);
        let workers = parts
            .enumerate()
            .map(|(number, ((stages, exchange), (rx, tx)))| {
                let plans = plans.iter().map(Arc::clone);
                let paths = plans.zip(stages).zip(&mut writers);
                let paths = paths.map(|((plan, stages), meter)| (plan, stages, meter));
                let (input, exit) = (Input::Queues(rx), Exit::Ports(Ports::new(tx)));
                Worker::new(number, &shared, input, paths, exchange, exit, &pool)
            });
        let mut running = Running::start(workers.collect(), &self.cpus, &shared, meters)?;
        running.events = Some(at_events);
        running.control = Some(at_control);
        running.reports = Some(at_reports);
        Ok(running)
    }

    fn check_ports(&self) -> Result<(), PipelineError> {
        if self.ports.len() > MAX_PORTS {
            return Err(PipelineError::TooManyPorts);
        }
        for (number, egress) in &self.paths {
            let (number, from) = (*number, self.ports.get(*number));
            from.ok_or(PipelineError::NoPort { number })?;
            if let Some(number) = egress.port_number() {
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

#[cfg(test)]
mod tests;
