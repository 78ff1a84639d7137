//! Pipelines between live ports: what their workers run, and what leaves beside the packets.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use weir_fabric::stage::{FilterSettings, ProtectStage, UnprotectStage};
use weir_inspect::{EveWriter, InspectStage, LiveRules};
use weir_ipsec::{
    ClassifyInbound, ClassifyOutbound, Output, Protect, ReplaceError, Running, SaFile, Unprotect,
};
use weir_measure::{LiveMeasurement, MeasureStage};
use weir_packet::file::Interface;
use weir_packet::wire::LinkType;
use weir_stream::{
    Boundary, Egress, Live, Meters, PipelineError, QueueReading, Stage, StageError, Statistics,
};

use crate::associations;
use crate::config::{Config, StageName};
use crate::error::{Error, Result};
use crate::fabric::FabricKeys;
use crate::filter::{FilterStage, LiveFilter};
use crate::measured::{Outputs, Recent, SharedRecent};
use crate::pipelines::{self, Building};
use crate::results::Results;

mod beside;
mod ports;
mod reported;

use beside::Beside;
use reported::Reported;

/// What makes the stages of every worker.
struct Stages {
    paths: Vec<Path>,
    filter: Option<Arc<LiveFilter>>,
    rules: Option<(Arc<LiveRules>, weir_inspect::InspectOptions)>,
    ipsec: Option<Arc<Running>>,
    fabric: FabricKeys,
    results: Mutex<Results>,
}

/// The stages of one direction.
struct Path {
    stages: Vec<StageName>,
    fabric_filter: Option<FilterSettings>,
    measurement: Option<(LiveMeasurement, SharedRecent)>,
}

impl Stages {
    fn make(this: &Arc<Stages>, worker: usize, path: usize) -> MadeStages {
        let path = &this.paths[path];
        let mut made: Vec<Box<dyn Stage>> = Vec::new();
        for name in &path.stages {
            match name {
                StageName::Filter => {
                    if let Some(live) = &this.filter {
                        let results = Arc::clone(this);
                        let stage = FilterStage::following(live);
                        made.push(boxed(Reported::new(stage, move |stage: &FilterStage| {
                            results.note(|results| results.add_filter(stage));
                        })));
                    }
                }
                StageName::Inspect => {
                    if let Some((live, options)) = &this.rules {
                        let stage = InspectStage::following(live, options);
                        let results = Arc::clone(this);
                        made.push(boxed(Reported::new(stage, move |stage: &InspectStage| {
                            results.note(|results| results.add_inspect(stage));
                        })));
                    }
                }
                StageName::Measure => {
                    let measurement = path.measurement.iter();
                    made.extend(measurement.map(|(measurement, _)| {
                        boxed(MeasureStage::new(measurement.meter(worker)))
                    }));
                }
                StageName::Protect => this.add_protect(worker, &mut made)?,
                StageName::Unprotect => this.add_unprotect(worker, &mut made)?,
                StageName::FabricFilter => {
                    let settings = path.fabric_filter.iter().cloned();
                    made.extend(
                        settings
                            .map(|settings| boxed(weir_fabric::stage::FilterStage::new(settings))),
                    );
                }
                StageName::FabricProtect => {
                    let stage = this.fabric.protect(worker);
                    let stage = stage.map_err(|error| StageError::new("fabric-protect", error))?;
                    let results = Arc::clone(this);
                    made.push(boxed(Reported::new(stage, move |stage: &ProtectStage| {
                        results.note(|results| results.fabric.add_protect(stage));
                    })));
                }
                StageName::FabricUnprotect => {
                    let stage = this.fabric.unprotect(worker);
                    let stage =
                        stage.map_err(|error| StageError::new("fabric-unprotect", error))?;
                    let results = Arc::clone(this);
                    made.push(boxed(Reported::new(
                        stage,
                        move |stage: &UnprotectStage| {
                            results.note(|results| results.fabric.add_unprotect(stage));
                        },
                    )));
                }
            }
        }
        Ok(made)
    }

    fn add_protect(self: &Arc<Stages>, worker: usize, made: &mut Vec<Box<dyn Stage>>) -> Added {
        let running = self.ipsec.as_ref().ok_or_else(|| absent("protect"))?;
        let classify = running
            .classify_outbound()
            .map_err(|error| refused("protect", error))?;
        let stage = running
            .protect(worker)
            .map_err(|error| refused("protect", error))?;
        let results = Arc::clone(self);
        made.push(boxed(Reported::new(
            classify,
            move |stage: &ClassifyOutbound| {
                results.note(|results| results.add_outbound(stage));
            },
        )));
        let results = Arc::clone(self);
        made.push(boxed(Reported::new(stage, move |stage: &Protect| {
            results.note(|results| results.add_protect(stage));
        })));
        Ok(())
    }

    fn add_unprotect(self: &Arc<Stages>, worker: usize, made: &mut Vec<Box<dyn Stage>>) -> Added {
        let running = self.ipsec.as_ref().ok_or_else(|| absent("unprotect"))?;
        let classify = running
            .classify_inbound()
            .map_err(|error| refused("unprotect", error))?;
        let stage = running
            .unprotect(worker)
            .map_err(|error| refused("unprotect", error))?;
        let results = Arc::clone(self);
        made.push(boxed(Reported::new(
            classify,
            move |stage: &ClassifyInbound| {
                results.note(|results| results.add_inbound(stage));
            },
        )));
        let results = Arc::clone(self);
        made.push(boxed(Reported::new(stage, move |stage: &Unprotect| {
            results.note(|results| results.add_unprotect(stage));
        })));
        Ok(())
    }

    fn note(&self, note: impl FnOnce(&mut Results)) {
        note(&mut self.results.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

type MadeStages = std::result::Result<Vec<Box<dyn Stage>>, StageError>;
type Added = std::result::Result<(), StageError>;

fn boxed(stage: impl Stage) -> Box<dyn Stage> {
    Box::new(stage)
}

fn refused(stage: &str, error: ReplaceError) -> StageError {
    StageError::new(stage, error)
}

fn absent(stage: &str) -> StageError {
    StageError::new(stage, "there is no table [ipsec]")
}

/// Live pipelines that are ready to run.
pub struct LivePipelines {
    live: Live,
    stages: Arc<Stages>,
    writers: Vec<EveWriter>,
    interfaces: Vec<Interface>,
    measured: Option<Outputs>,
}

/// What live pipelines did.
pub struct LiveOutcome {
    pub statistics: Statistics,
    /// The accounts of each pipeline.
    pub of_pipelines: Vec<Statistics>,
    pub results: Results,
    pub recent: Recent,
    pub queues: Vec<QueueReading>,
}

/// Opens the ports of a configuration and prepares the stages of `building.shards` workers.
pub fn build(building: &Building<'_>, associations: Option<SaFile>) -> Result<LivePipelines> {
    let config = building.config;
    let workers = building.shards;
    let measured = pipelines::measured(config, building.stop, building.reopen)?;
    // A full disk stops no packets.
    let measured = measured.map(Outputs::going_on);
    let mut paths = Vec::new();
    for pipeline in &config.pipelines {
        let measures = pipeline.stages.contains(&StageName::Measure);
        let measure = config.measure.as_ref().filter(|_| measures);
        let measurement = measure.map(|measure| -> Result<_> {
            let recent = SharedRecent::default();
            let observer = building.observer(measured.as_ref(), &recent);
            let measurement = pipelines::measure_config(measure)?
                .build_live(workers, observer)
                .map_err(Error::configuration)?;
            Ok((measurement, recent))
        });
        let filters = pipeline.stages.contains(&StageName::FabricFilter);
        let filter = config.fabric_filter.as_ref().filter(|_| filters);
        paths.push(Path {
            stages: pipeline.stages.clone(),
            fabric_filter: filter.map(|filter| filter.settings(pipeline)).transpose()?,
            measurement: measurement.transpose()?,
        });
    }
    let ipsec = associations_of(building, associations)?;
    let ipsec = ipsec.map(Arc::new);
    let inspectors = workers * config.inspecting_pipelines();
    let options = config.inspect.as_ref();
    let options = options.map(|inspect| inspect.options(inspectors));
    let rules = building.shared.rules.as_ref();
    let stages = Arc::new(Stages {
        paths,
        filter: building.shared.filter.clone(),
        rules: rules.map(|rules| Arc::clone(&rules.live)).zip(options),
        ipsec,
        fabric: FabricKeys::open(config, building.shared.fabric.as_ref(), workers)?,
        results: Mutex::default(),
    });
    let factory = Arc::clone(&stages);
    let mut live = Live::new(workers, move |worker, path| {
        Stages::make(&factory, worker, path)
    })
    .stop_flag(building.stop.clone())
    .cpus(allowed(building.cpus)?);
    let mut interfaces = Vec::new();
    for port in ports::open(config, workers)? {
        interfaces.push(Interface {
            name: Some(port.name.clone()),
            ..Interface::new(LinkType::Ethernet)
        });
        live = live.port(port);
    }
    for pipeline in &config.pipelines {
        if let Some(path) = &pipeline.live {
            live = live.path(path.from, path.to.map_or(Egress::NONE, Egress::port));
        }
    }
    Ok(LivePipelines {
        live,
        stages,
        writers: pipelines::all_event_writers(config, building.reopen)?,
        interfaces,
        measured,
    })
}

/// Processors that this process may use.
#[cfg(target_os = "linux")]
fn allowed(cpus: &[usize]) -> Result<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let allowed = sched_getaffinity(None).map_err(Error::running)?;
    let is_allowed = |cpu: usize| cpu < CpuSet::MAX_CPU && allowed.is_set(cpu);
    match cpus.iter().find(|cpu| !is_allowed(**cpu)) {
        None => Ok(cpus.to_vec()),
        Some(cpu) => {
            let others = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
            let others: Vec<String> = others.map(|cpu| cpu.to_string()).collect();
            Err(Error::configuration(format!(
                "this process may not use processor {cpu}; it may use {}",
                others.join(", ")
            )))
        }
    }
}

/// Elsewhere threads are not bound.
#[cfg(not(target_os = "linux"))]
fn allowed(cpus: &[usize]) -> Result<Vec<usize>> {
    match cpus {
        [] => Ok(Vec::new()),
        _ => Err(Error::configuration(
            "workers are bound to processors on Linux only",
        )),
    }
}

/// The associations that workers follow, where pipelines protect or unprotect.
fn associations_of(building: &Building<'_>, file: Option<SaFile>) -> Result<Option<Running>> {
    let config: &Config = building.config;
    let count = |name| {
        let pipelines = config.pipelines.iter();
        let with = pipelines.filter(|pipeline| pipeline.stages.contains(name));
        with.count()
    };
    let (protecting, unprotecting) = (count(&StageName::Protect), count(&StageName::Unprotect));
    let Some((ipsec, file)) = config.ipsec.as_ref().zip(file) else {
        return Ok(None);
    };
    if unprotecting > 1 {
        return Err(Error::configuration(
            "two live pipelines unprotect: let one do it, for an association has one replay window",
        ));
    }
    let sequences = match protecting {
        0 => None,
        _ => Some(pipelines::sequences(ipsec, &file)?),
    };
    let state = ipsec.state.as_deref();
    let windows = (unprotecting > 0).then(|| associations::windows(state, Output::Live));
    Ok(Some(Running::new(
        file,
        sequences,
        windows,
        building.shards,
    )))
}

impl LivePipelines {
    /// The associations, if there are some.
    pub fn associations(&self) -> Option<&Arc<Running>> {
        self.stages.ipsec.as_ref()
    }

    /// Where stages are changed, several at once.
    pub fn boundary(&self) -> Boundary {
        self.live.boundary()
    }

    /// The outputs of measurements, if there are some.
    pub fn measured(&self) -> Option<&Outputs> {
        self.measured.as_ref()
    }

    /// Runs until the stop flag is raised. `show` gets the meters, and `lost_events` counts the
    /// events that were not written, meanwhile.
    pub fn run(
        self,
        show: impl FnOnce(Meters),
        lost_events: Arc<AtomicU64>,
    ) -> Result<LiveOutcome> {
        let mut running = self.live.start().map_err(start_error)?;
        let meters = running.meters().clone();
        show(meters.clone());
        let beside = Beside::start(
            running.take_events(),
            running.take_reports(),
            self.writers,
            self.interfaces,
            lost_events,
        )?;
        let joined = running.join();
        beside.join();
        let statistics = joined.map_err(Error::running)?.statistics;
        let of_pipelines = meters.of_paths().map_err(Error::running)?;
        let mut recent = Recent::default();
        for (measurement, of_measurement) in self
            .stages
            .paths
            .iter()
            .filter_map(|path| path.measurement.as_ref())
        {
            // The reports that are still open go to the observer too.
            measurement.collector().finish();
            recent.append(of_measurement.take());
        }
        if let Some(measured) = &self.measured {
            measured.finish()?;
        }
        let mut results = self
            .stages
            .results
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(LiveOutcome {
            statistics,
            of_pipelines,
            results: std::mem::take(&mut results),
            recent,
            queues: meters.queues(),
        })
    }
}

/// Before the first packet, it is the configuration that is wrong.
fn start_error(error: PipelineError) -> Error {
    match error {
        PipelineError::NoPort { .. } | PipelineError::NoQueue { .. } => Error::configuration(error),
        _ => Error::running(error),
    }
}
