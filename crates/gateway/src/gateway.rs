//! A gateway: the pipelines of a configuration, and what can be done with them while they run.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use weir_inspect::{InspectSnapshot, LiveRules, LoadReport};
use weir_stream::{Pipeline, Progress, StopFlag};

use crate::associations;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::execution::execute;
use crate::filter::LiveFilter;
use crate::inspected::MetricsFile;
use crate::measured::{Outputs, Recent, SharedRecent};
use crate::pipelines::{self, Shared, rule_source};
use crate::reopen::Reopen;
use crate::report::{Report, report};
use crate::status::{InspectionStatus, Reloaded, ReloadedRules, Status};

/// What a configuration file does not say.
#[derive(Clone, Debug)]
pub struct Options {
    /// Chains of stages per pipeline, each on a core of its own.
    pub shards: usize,
    /// Whether key files are accepted that other users of this machine can read.
    pub allow_insecure_permissions: bool,
    /// An output of the caller, which must not replace a file that the gateway needs.
    pub output: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            shards: 1,
            allow_insecure_permissions: false,
            output: None,
        }
    }
}

/// Pipelines that are ready to run.
pub struct Gateway {
    config: Config,
    pipelines: Vec<Pipeline>,
    /// The measurement of each pipeline that has one, and its newest reports.
    collectors: Vec<(weir_measure::Collector, SharedRecent)>,
    measured: Option<Outputs>,
    metrics: Option<MetricsFile>,
    loaded: Option<LoadReport>,
    handle: Handle,
}

/// A gateway that ran.
pub struct Finished {
    /// What it did.
    pub report: Report,
    /// What it left undone, where it was not whole: a capture was cut short or broken, or the
    /// ledger could not be written.
    pub defect: Option<Error>,
}

/// What was found in a configuration that is right.
pub struct Checked {
    /// The names of its pipelines.
    pub pipelines: Vec<String>,
    /// The rules of the stage `inspect`.
    pub rules: Option<LoadReport>,
}

impl Gateway {
    /// Loads the files that a configuration names, and opens its inputs and outputs.
    ///
    /// # Errors
    /// [`Error::Configuration`]: a file is wrong or cannot be opened.
    pub fn from_config(config: Config, options: &Options) -> Result<Gateway> {
        let shared = load(&config, options)?;
        let stop = StopFlag::default();
        let reopen = Reopen::default();
        let built = pipelines::build(&config, &shared, options.shards, &stop, &reopen)?;
        let (live, loaded) = match shared.rules {
            Some(rules) => (Some(rules.live), Some(rules.report)),
            None => (None, None),
        };
        let metrics = (config.inspect.as_ref())
            .and_then(|inspect| inspect.prometheus.as_deref())
            .zip(live.as_ref())
            .map(|(path, live)| MetricsFile::start(path, live))
            .transpose()?;
        let names = config.pipelines.iter().map(|p| p.name.clone()).collect();
        let loaded_rules = loaded.as_ref().map_or(0, |report| report.loaded);
        let total_bytes = built
            .watched
            .iter()
            .map(|watched| watched.total_bytes)
            .sum();
        let sources = built.watched.into_iter().map(|watched| watched.progress);
        Ok(Gateway {
            config: config.clone(),
            pipelines: built.pipelines,
            collectors: built.collectors,
            measured: built.measured,
            metrics,
            loaded,
            handle: Handle(Arc::new(Control {
                stop,
                reopen,
                present: Mutex::new(config),
                rules: live,
                filter: shared.filter,
                generation: AtomicU64::new(0),
                started: Instant::now(),
                names,
                loaded_rules: AtomicU64::new(loaded_rules),
                sources: sources.collect(),
                total_bytes,
            })),
        })
    }

    /// Finds what is wrong with a configuration and the files that it names, without opening an
    /// output.
    ///
    /// # Errors
    /// [`Error::Configuration`]: what is wrong.
    pub fn check(config: Config, options: &Options) -> Result<Checked> {
        let shared = load(&config, options)?;
        config.require_folders(options.output.as_deref())?;
        for path in config.pipelines.iter().flat_map(|pipeline| &pipeline.read) {
            // What a pipe holds is left to the run.
            if path.as_os_str() != "-" && !path.metadata().is_ok_and(|found| !found.is_file()) {
                weir_packet::file::Reader::open(path).map_err(Error::configuration)?;
            }
        }
        shared.check_state(&config)?;
        Ok(Checked {
            pipelines: config.pipelines.into_iter().map(|p| p.name).collect(),
            rules: shared.rules.map(|rules| rules.report),
        })
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What became of the rules in the files that were loaded.
    pub fn loaded_rules(&self) -> Option<&LoadReport> {
        self.loaded.as_ref()
    }

    /// What other threads hold to watch the gateway, change it and stop it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Runs to the end of the captures, or until [`Handle::stop`].
    ///
    /// # Errors
    /// [`Error::Running`]: the first failure of a stage or an output.
    pub fn run(self) -> Result<Finished> {
        let execution = execute(self.pipelines)?;
        if let Some(metrics) = self.metrics {
            metrics.finish()?;
        }
        let mut recent = Recent::default();
        for (collector, of_collector) in &self.collectors {
            // The reports that are still open go to the observer too.
            collector.finish();
            recent.append(of_collector.take());
        }
        if let Some(measured) = &self.measured {
            measured.finish()?;
        }
        let inspection = self.handle.inspection().unwrap_or_default();
        let report = report(&self.config, &execution, inspection, recent);
        let of_ledger = associations::ledger_error(&execution.pipelines);
        let defect = of_ledger.map(|error| Error::running(error.to_string()));
        Ok(Finished {
            report,
            defect: defect.or_else(|| execution.check_captures().err()),
        })
    }
}

/// Loads what the pipelines share, and keeps the outputs away from it.
fn load(config: &Config, options: &Options) -> Result<Shared> {
    let shared = Shared::load(config, options.allow_insecure_permissions)?;
    config.keep_files_apart(options.output.as_deref(), &shared.kept_files(config))?;
    Ok(shared)
}

/// A running gateway, as other threads see it.
#[derive(Clone)]
pub struct Handle(Arc<Control>);

struct Control {
    stop: StopFlag,
    reopen: Reopen,
    /// The configuration in force. Locked while another takes its place.
    present: Mutex<Config>,
    rules: Option<Arc<LiveRules>>,
    filter: Option<Arc<LiveFilter>>,
    /// How often it was replaced.
    generation: AtomicU64,
    started: Instant,
    names: Vec<String>,
    /// Rules in force.
    loaded_rules: AtomicU64,
    sources: Vec<Arc<Progress>>,
    total_bytes: Option<u64>,
}

impl Handle {
    /// Ends the run: batches in flight are finished, everything is written.
    pub fn stop(&self) {
        self.0.stop.stop();
    }

    /// What [`Handle::stop`] raises.
    pub fn stop_flag(&self) -> &StopFlag {
        &self.0.stop
    }

    /// Loads the configuration and the files that it names again, and puts them in the place of
    /// those in force, each stage between two batches. What came from no file stays, but for the
    /// files that it names.
    ///
    /// # Errors
    /// [`Error::Configuration`]: a file is wrong, or something has changed that cannot change while
    /// packets run. Everything stays as it was.
    pub fn reload(&self) -> Result<Reloaded> {
        let present = self.0.present.lock();
        let mut present = present.unwrap_or_else(PoisonError::into_inner);
        let next = present.load_again()?;
        next.require_frame_of(&present)?;
        // Everything is made before anything is replaced.
        let rules = match (&self.0.rules, &next.inspect) {
            (Some(live), Some(inspect)) => Some((live, rule_source(inspect).prepare(live)?)),
            _ => None,
        };
        let mut reloaded = Reloaded::default();
        if let Some((live, (rules, report))) = rules {
            live.replace(Arc::new(rules)).map_err(Error::running)?;
            self.0.loaded_rules.store(report.loaded, Ordering::Relaxed);
            reloaded.rules = Some(ReloadedRules {
                loaded: report.loaded,
                skipped: report.skipped.values().sum(),
            });
        }
        if let (Some(live), Some(filter)) = (&self.0.filter, &next.filter) {
            live.replace(filter.clone());
            reloaded.filter_rules = Some(filter.rules.len());
        }
        *present = next;
        reloaded.generation = self.0.generation.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(reloaded)
    }

    /// What the gateway did so far.
    pub fn status(&self) -> Status {
        let inspection = self.inspection();
        Status {
            weir_version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            running_s: self.0.started.elapsed().as_secs_f64(),
            pipelines: self.0.names.clone(),
            generation: self.0.generation.load(Ordering::Relaxed),
            packets: self.packets(),
            bytes_read: self.bytes_read(),
            inspection: inspection.map(|snapshot| InspectionStatus {
                rules: (self.0.rules.as_ref())
                    .map_or(0, |_| self.0.loaded_rules.load(Ordering::Relaxed)),
                packets: snapshot.statistics.packets,
                flows: snapshot.statistics.flows,
                alerts: snapshot.statistics.alerts,
            }),
        }
    }

    /// Opens outputs that are appended to by their names again: they may have been moved away.
    pub fn reopen_outputs(&self) {
        self.0.reopen.request();
    }

    /// What the inspection did so far, if there is one.
    pub fn inspection(&self) -> Option<InspectSnapshot> {
        self.0.rules.as_ref().map(|live| live.snapshot())
    }

    /// Bytes of captures that were read.
    pub fn bytes_read(&self) -> u64 {
        self.0
            .sources
            .iter()
            .map(|source| source.bytes_read())
            .sum()
    }

    /// Bytes of all captures, where each has a size.
    pub fn total_bytes(&self) -> Option<u64> {
        self.0.total_bytes
    }

    /// Packets that were read.
    pub fn packets(&self) -> u64 {
        self.0.sources.iter().map(|source| source.packets()).sum()
    }
}
