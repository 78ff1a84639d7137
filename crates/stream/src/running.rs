//! A run: the threads of its workers, and what is left of them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::error::{PipelineError, caught};
use crate::event::Event;
use crate::meters::Meters;
use crate::ring::RingReceiver;
use crate::stage::Stage;
use crate::statistics::Statistics;
use crate::stop::StopFlag;
use crate::worker::{ControlPacket, Ended, LiveReport, Shared, Worker};

/// A pipeline that runs. Dropping it ends the workers; [`Running::join`] waits for
/// them.
pub struct Running {
    threads: Vec<JoinHandle<Result<Ended, PipelineError>>>,
    shared: Arc<Shared>,
    meters: Meters,
    pub(crate) events: Option<RingReceiver<Vec<Event>>>,
    pub(crate) control: Option<RingReceiver<ControlPacket>>,
    pub(crate) reports: Option<RingReceiver<LiveReport>>,
}

impl Running {
    /// Starts workers, and binds the first ones to these processors.
    pub(crate) fn start(
        workers: Vec<Worker>,
        cpus: &[usize],
        shared: &Arc<Shared>,
        meters: Meters,
    ) -> Result<Running, PipelineError> {
        let mut running = Running {
            threads: Vec::with_capacity(workers.len()),
            shared: Arc::clone(shared),
            meters,
            events: None,
            control: None,
            reports: None,
        };
        for worker in workers {
            let (number, shared) = (worker.number, Arc::clone(shared));
            let cpu = cpus.get(number).copied();
            let run = move || {
                let result = caught(catch_unwind(AssertUnwindSafe(|| worker.run(cpu))));
                if result.is_err() {
                    // Others may wait for one that has panicked.
                    shared.boundary.leave();
                    shared.end();
                }
                result
            };
            let thread = thread::Builder::new().name(format!("weir-worker-{number}"));
            // Where one cannot be started, those that run are ended.
            let thread = thread.spawn(run).inspect_err(|_| {
                running.shared.boundary.leave();
            })?;
            running.threads.push(thread);
        }
        Ok(running)
    }

    /// What the workers have done so far, also after the end.
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Ends the run when it is raised.
    pub fn stop_flag(&self) -> &StopFlag {
        &self.shared.stop
    }

    /// The events of every batch that has some, for the thread that writes them; once.
    pub fn take_events(&mut self) -> Option<RingReceiver<Vec<Event>>> {
        self.events.take()
    }

    /// The packets whose egress is [`Egress::CONTROL`](crate::Egress::CONTROL); once.
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

    /// Waits until all workers have ended: until the stop flag is raised, a source has nothing more,
    /// or a failure cannot be recovered.
    ///
    /// # Errors
    /// That failure, or accounts that do not balance.
    pub fn join(mut self) -> Result<Outcome, PipelineError> {
        let joined = (self.threads.drain(..)).map(|thread| caught(thread.join()));
        let (ended, errors): (Vec<_>, Vec<_>) = joined.partition(Result::is_ok);
        let errors = errors.into_iter().filter_map(Result::err);
        // A worker that was abandoned does not know why.
        let first = errors.min_by_key(|error| matches!(error, PipelineError::Abandoned));
        first.map_or(Ok(()), Err)?;
        let statistics = self.meters.snapshot()?;
        statistics.check_conservation_at_end()?;
        let ended = ended.into_iter().flatten();
        let (stages, interrupted): (Vec<_>, Vec<_>) = ended.unzip();
        Ok(Outcome {
            statistics,
            stages,
            interrupted: interrupted.contains(&true),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.shared.stop.stop();
        }
    }
}

/// A finished run: its accounts, and the stages with their results.
pub struct Outcome {
    /// Accounts of the whole run.
    pub statistics: Statistics,
    /// The stages of every worker: the source, those of the shards, the sinks.
    pub stages: Vec<Vec<Box<dyn Stage>>>,
    /// Whether the [`StopFlag`] has ended the run before its source did.
    pub interrupted: bool,
}

impl Outcome {
    /// The stages of type `S`: one per shard that has it, then those among
    /// the sinks.
    pub fn stages<S: Stage>(&self) -> impl Iterator<Item = &S> {
        let all = self.stages.iter().flatten();
        all.filter_map(|stage| (stage.as_ref() as &dyn Any).downcast_ref())
    }

    /// The same stages, for those that have something left to do.
    pub fn stages_mut<S: Stage>(&mut self) -> impl Iterator<Item = &mut S> {
        let all = self.stages.iter_mut().flatten();
        all.filter_map(|stage| (stage.as_mut() as &mut dyn Any).downcast_mut())
    }
}
