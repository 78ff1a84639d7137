//! From a configuration to pipelines that can run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use weir_capture::CaptureSink;
use weir_fabric::secure::FabricFile;
use weir_inspect::{EveWriter, InspectStage};
use weir_ipsec::{ClassifyInbound, ClassifyOutbound, Output, SaFile, Sequences};
use weir_match::EngineChoice;
use weir_measure::{
    Accuracy, Collector, IntervalReport, MeasureConfig, MeasureStage, Measurement, Observer, Seed,
};
use weir_packet::file::require_folder_of;
use weir_stream::{EventKind, Pipeline, Stage, StopFlag};

use crate::associations;
use crate::captures::{self, Watched};
use crate::config::{self, Config, IpsecConfig, PipelineConfig, Search, StageName};
use crate::error::{Error, Result};
use crate::fabric::{self, FabricKeys};
use crate::filter::{FilterStage, LiveFilter};
use crate::measured::{Outputs, SharedRecent};
use crate::reopen::Reopen;
use crate::rules::{LoadedRules, RuleSource};

/// What is loaded once and serves all pipelines.
pub struct Shared {
    pub rules: Option<LoadedRules>,
    pub filter: Option<Arc<LiveFilter>>,
    /// Read once, since a key that comes through a pipe is there only once.
    pub associations: Option<SaFile>,
    pub fabric: Option<Arc<FabricFile>>,
}

/// Pipelines ready to run.
pub struct Built {
    pub pipelines: Vec<Pipeline>,
    pub watched: Vec<Watched>,
    /// The measurement of each pipeline that has one, and its newest reports.
    pub collectors: Vec<(Collector, SharedRecent)>,
    /// Where all of these write what they report.
    pub measured: Option<Outputs>,
}

impl Shared {
    /// Loads the files that the configuration names. Loading finds what is
    /// wrong with them, so this is also the check.
    pub fn load(config: &Config, allow_insecure_permissions: bool) -> Result<Shared> {
        let source = config.inspect.as_ref().map(rule_source);
        let load = |ipsec: &IpsecConfig| {
            let file = associations::load(&ipsec.sa, allow_insecure_permissions)?;
            file.require_directions().map_err(Error::configuration)?;
            Ok(file)
        };
        let shared = Shared {
            rules: source.as_ref().map(RuleSource::load).transpose()?,
            filter: config.filter.clone().map(LiveFilter::new),
            associations: config.ipsec.as_ref().map(load).transpose()?,
            fabric: (config.fabric.as_ref())
                .map(|settings| fabric::load(&settings.file, allow_insecure_permissions))
                .transpose()?,
        };
        if let Some(filter) = &config.fabric_filter {
            filter.check()?;
            let with_filter = config.pipelines.iter();
            let with_filter =
                with_filter.filter(|one| one.stages.contains(&StageName::FabricFilter));
            for pipeline in with_filter {
                filter.settings(pipeline)?;
            }
        }
        if let Some(measure) = &config.measure {
            measure_config(measure)?
                .check()
                .map_err(Error::configuration)?;
        }
        Ok(shared)
    }

    /// Files that no output may replace: keys, and the ledger of their sequence
    /// numbers.
    pub fn kept_files(&self, config: &Config) -> Vec<PathBuf> {
        let mut kept = Vec::new();
        if let Some((ipsec, file)) = config.ipsec.as_ref().zip(self.associations.as_ref()) {
            kept.extend_from_slice(file.key_files());
            kept.extend(associations::ledger_files_of(ipsec.state.as_deref()));
        }
        if let Some((settings, file)) = config.fabric.as_ref().zip(self.fabric.as_ref()) {
            kept.extend(fabric::kept_files(settings, file));
        }
        kept
    }

    /// Whether a pipeline that protects would find its keys in the ledger.
    pub fn check_state(&self, config: &Config) -> Result {
        let has = |stage| (config.pipelines.iter()).any(|one| one.stages.contains(&stage));
        let settings = config
            .fabric
            .as_ref()
            .filter(|_| has(StageName::FabricProtect));
        if let Some((settings, file)) = settings.zip(self.fabric.as_ref()) {
            settings.check_state(file)?;
        }
        let ipsec = config.ipsec.as_ref().filter(|_| has(StageName::Protect));
        let Some((ipsec, file)) = ipsec.zip(self.associations.as_ref()) else {
            return Ok(());
        };
        match sequences(ipsec, file)? {
            Sequences::Ledger { path, new_keys, .. } => file
                .check_ledger(&path, &new_keys)
                .map_err(Error::configuration),
            Sequences::RepeatableInsecure => Ok(()),
        }
    }
}

/// Where the rules of a configuration come from.
pub fn rule_source(inspect: &config::InspectConfig) -> RuleSource {
    RuleSource {
        paths: inspect.rules.clone(),
        definitions: (inspect.set.iter())
            .map(|(name, value)| format!("{name}={value}"))
            .collect(),
        engine: EngineChoice::default(),
        classification: inspect.classification.clone(),
        allows_empty: inspect.allow_empty,
    }
}

/// What is called with every report of an interval.
pub type OnInterval = Arc<Mutex<dyn FnMut(&IntervalReport) -> Result + Send>>;

/// What pipelines are built from.
pub struct Building<'a> {
    pub config: &'a Config,
    pub shared: &'a Shared,
    /// Chains of stages per pipeline, or workers.
    pub shards: usize,
    pub stop: &'a StopFlag,
    pub reopen: &'a Reopen,
    pub on_interval: Option<OnInterval>,
    /// Of live workers.
    pub cpus: &'a [usize],
}

impl Building<'_> {
    /// Where the reports of a measurement go.
    pub fn observer(&self, measured: Option<&Outputs>, recent: &SharedRecent) -> Option<Observer> {
        let recent = recent.clone();
        let on_interval = self.on_interval.clone();
        let keep = move |report| {
            if let Some(on_interval) = &on_interval {
                let mut on_interval = on_interval.lock().unwrap_or_else(PoisonError::into_inner);
                on_interval(&report)?;
            }
            recent.note(report);
            Ok(())
        };
        measured.map(|outputs| outputs.observer(keep))
    }
}

/// Builds every pipeline of a configuration between captures.
pub fn build(building: &Building<'_>) -> Result<Built> {
    let Building {
        config,
        stop,
        reopen,
        ..
    } = *building;
    let mut built = Built {
        pipelines: Vec::new(),
        watched: Vec::new(),
        collectors: Vec::new(),
        measured: measured(config, stop, reopen)?,
    };
    let fabric = FabricKeys::open(config, building.shared.fabric.as_ref(), building.shards)?;
    for pipeline in &config.pipelines {
        let direction = Direction {
            fabric: &fabric,
            building,
            config,
            shared: building.shared,
            pipeline,
            shards: building.shards,
        };
        direction.build(&mut built, stop)?;
    }
    Ok(built)
}

/// One pipeline in the making.
struct Direction<'a> {
    building: &'a Building<'a>,
    config: &'a Config,
    shared: &'a Shared,
    fabric: &'a FabricKeys,
    pipeline: &'a PipelineConfig,
    shards: usize,
}

impl Direction<'_> {
    fn build(&self, built: &mut Built, stop: &StopFlag) -> Result {
        let (source, watched) = captures::open(&self.pipeline.read)?;
        let mut chains: Vec<Vec<Box<dyn Stage>>> = (0..self.shards).map(|_| Vec::new()).collect();
        let (mut timeline, recent) = (None, SharedRecent::default());
        for name in &self.pipeline.stages {
            match name {
                StageName::Filter => self.add_filter(&mut chains),
                StageName::Inspect => self.add_inspect(&mut chains),
                StageName::Measure => {
                    let Measurement {
                        meters,
                        timeline: watching,
                        collector,
                    } = self.measurement(built.measured.as_ref(), &recent)?;
                    timeline = watching;
                    built.collectors.push((collector, recent.clone()));
                    for (chain, meter) in chains.iter_mut().zip(meters) {
                        chain.push(Box::new(MeasureStage::new(meter)));
                    }
                }
                StageName::Protect => self.add_protect(&mut chains)?,
                StageName::Unprotect => self.add_unprotect(&mut chains)?,
                StageName::FabricFilter => self.add_fabric_filter(&mut chains)?,
                StageName::FabricProtect => {
                    for (worker, chain) in chains.iter_mut().enumerate() {
                        chain.push(Box::new(self.fabric.protect(worker)?));
                    }
                }
                StageName::FabricUnprotect => {
                    for (worker, chain) in chains.iter_mut().enumerate() {
                        chain.push(Box::new(self.fabric.unprotect(worker)?));
                    }
                }
            }
        }
        let mut pipeline = Pipeline::new(source).shards(chains).stop_flag(stop.clone());
        if let Some(timeline) = timeline {
            pipeline = pipeline.watch(timeline);
        }
        if let Some(path) = &self.pipeline.write {
            pipeline = pipeline.sink(CaptureSink::new(captures::create(path)?));
        }
        let stages = &self.pipeline.stages;
        for writer in event_writers(
            self.config,
            |stage| stages.contains(&stage),
            self.building.reopen,
        )? {
            pipeline = pipeline.sink(writer);
        }
        built.pipelines.push(pipeline);
        built.watched.push(watched);
        Ok(())
    }

    /// The measurement of the configuration.
    fn measurement(
        &self,
        measured: Option<&Outputs>,
        recent: &SharedRecent,
    ) -> Result<Measurement> {
        let measure = self.config.measure.as_ref();
        let measure = measure
            .context("there is no table [measure]")
            .map_err(Error::configuration)?;
        measure_config(measure)?
            .build_observed(self.shards, self.building.observer(measured, recent))
            .map_err(Error::configuration)
    }

    fn add_filter(&self, chains: &mut [Vec<Box<dyn Stage>>]) {
        if let Some(filter) = &self.shared.filter {
            for chain in chains {
                chain.push(Box::new(FilterStage::following(filter)));
            }
        }
    }

    fn add_inspect(&self, chains: &mut [Vec<Box<dyn Stage>>]) {
        if let (Some(rules), Some(inspect)) = (&self.shared.rules, &self.config.inspect) {
            let inspectors = self.shards * self.config.inspecting_pipelines();
            let options = inspect.options(inspectors);
            for chain in chains {
                chain.push(Box::new(InspectStage::following(&rules.live, &options)));
            }
        }
    }

    fn add_protect(&self, chains: &mut [Vec<Box<dyn Stage>>]) -> Result {
        let (ipsec, file) = self.ipsec()?;
        let databases = file.databases().clone();
        let sequences = sequences(ipsec, file)?;
        let state = ipsec.state.as_deref();
        let stages = associations::protect(file, &sequences, state, Output::Capture, self.shards)?;
        for (chain, protect) in chains.iter_mut().zip(stages) {
            chain.push(Box::new(ClassifyOutbound::new(databases.clone())));
            chain.push(Box::new(protect));
        }
        Ok(())
    }

    fn add_unprotect(&self, chains: &mut [Vec<Box<dyn Stage>>]) -> Result {
        let (ipsec, file) = self.ipsec()?;
        let databases = file.databases();
        let state = ipsec.state.as_deref();
        let stages = associations::unprotect(file, state, Output::Capture, self.shards)?;
        for (chain, unprotect) in chains.iter_mut().zip(stages) {
            chain.push(Box::new(ClassifyInbound::new(databases.clone())));
            chain.push(Box::new(unprotect));
        }
        Ok(())
    }

    fn add_fabric_filter(&self, chains: &mut [Vec<Box<dyn Stage>>]) -> Result {
        if let Some(filter) = &self.config.fabric_filter {
            let settings = filter.settings(self.pipeline)?;
            for chain in chains {
                chain.push(Box::new(weir_fabric::stage::FilterStage::new(
                    settings.clone(),
                )));
            }
        }
        Ok(())
    }

    fn ipsec(&self) -> Result<(&IpsecConfig, &SaFile)> {
        let settings = self.config.ipsec.as_ref();
        settings
            .zip(self.shared.associations.as_ref())
            .context("there is no table [ipsec]")
            .map_err(Error::configuration)
    }
}

/// Where the sequence numbers of pipelines that protect come from.
pub fn sequences(ipsec: &IpsecConfig, file: &SaFile) -> Result<Sequences> {
    associations::sequences(
        file,
        ipsec.state.as_deref(),
        associations::new_keys(&ipsec.new_keys),
        ipsec.repeatable_insecure,
    )
}

/// What is to be measured.
pub fn measure_config(measure: &config::MeasureConfig) -> Result<MeasureConfig> {
    Ok(MeasureConfig {
        value: measure.value,
        interval: measure.interval.map(config::seconds).transpose()?,
        accuracy: Accuracy {
            epsilon: measure.epsilon,
            delta: measure.delta,
        },
        top: measure.top,
        exact: measure.exact,
        change: measure.change.clone().map(Search::config),
        seed: measure.seed.map(Seed::from_u64),
        ..MeasureConfig::new(measure.key)
    })
}

/// Opens the outputs of measurements, where a pipeline measures.
pub fn measured(config: &Config, stop: &StopFlag, reopen: &Reopen) -> Result<Option<Outputs>> {
    let measures = |pipeline: &PipelineConfig| pipeline.stages.contains(&StageName::Measure);
    let measure = config.measure.as_ref();
    let measure = measure.filter(|_| config.pipelines.iter().any(measures));
    let open = |measure: &config::MeasureConfig| {
        let key = measure.key.to_string();
        Outputs::open(measure.places(), &key, measure.value, stop, reopen)
    };
    measure.map(open).transpose()
}

/// The same for all pipelines together.
pub fn all_event_writers(config: &Config, reopen: &Reopen) -> Result<Vec<EveWriter>> {
    let pipelines = &config.pipelines;
    let has = |stage| {
        pipelines
            .iter()
            .any(|p: &PipelineConfig| p.stages.contains(&stage))
    };
    event_writers(config, has, reopen)
}

/// Writers of what stages notice: of alarms where the configuration says, or else with the
/// alerts.
fn event_writers(
    config: &Config,
    has: impl Fn(StageName) -> bool,
    reopen: &Reopen,
) -> Result<Vec<EveWriter>> {
    let inspect = config.inspect.as_ref().filter(|_| has(StageName::Inspect));
    let measure = config.measure.as_ref().filter(|_| has(StageName::Measure));
    let alerts = inspect.and_then(|inspect| inspect.alerts.as_deref());
    let alarms = measure.and_then(|measure| measure.alarms.as_deref());
    let mut writers = Vec::new();
    if let Some(path) = alerts {
        let writer = open_events(path, reopen)?;
        writers.push(match alarms {
            None => writer.only(|kind| is_of_inspection(kind) || is_alarm(kind)),
            Some(_) => writer.only(is_of_inspection),
        });
    }
    if let Some(path) = alarms {
        writers.push(open_events(path, reopen)?.only(is_alarm));
    }
    let fabric = (config.fabric.as_ref()).filter(|_| has(StageName::FabricUnprotect));
    if let Some(path) = fabric.and_then(|fabric| fabric.alarms.as_deref()) {
        writers.push(open_events(path, reopen)?.only(is_fabric_alarm));
    }
    Ok(writers)
}

fn open_events(path: &Path, reopen: &Reopen) -> Result<EveWriter> {
    if path == Path::new("-") {
        return Ok(EveWriter::new(std::io::stdout()));
    }
    require_folder_of(path).map_err(Error::configuration)?;
    EveWriter::append_to(path, reopen.flag())
        .with_context(|| format!("cannot append to {}", path.display()))
        .map_err(Error::configuration)
}

fn is_of_inspection(kind: EventKind) -> bool {
    kind.is(&weir_inspect::ALERT) || kind.is(&weir_inspect::ANOMALY)
}

fn is_fabric_alarm(kind: EventKind) -> bool {
    kind.is(&weir_fabric::stage::ALARM)
}

fn is_alarm(kind: EventKind) -> bool {
    kind.is(&weir_measure::ALARM)
}

#[cfg(test)]
mod tests;
