//! A gateway: the pipelines of a configuration, and what can be done with them while they run.

use std::path::PathBuf;
use std::sync::Arc;

use weir_inspect::{InspectSnapshot, LiveRules, LoadReport};
use weir_stream::{Pipeline, Progress, StopFlag};

use crate::associations;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::execution::execute;
use crate::inspected::MetricsFile;
use crate::measured::{Outputs, Recent, SharedRecent};
use crate::pipelines::{self, Shared};
use crate::reopen::Reopen;
use crate::report::{Report, report};
use crate::rules::RuleSource;

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
    pub fn from_config(mut config: Config, options: &Options) -> Result<Gateway> {
        let shared = load(&mut config, options)?;
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
        let total_bytes = built
            .watched
            .iter()
            .map(|watched| watched.total_bytes)
            .sum();
        let sources = built.watched.into_iter().map(|watched| watched.progress);
        Ok(Gateway {
            config,
            pipelines: built.pipelines,
            collectors: built.collectors,
            measured: built.measured,
            metrics,
            loaded,
            handle: Handle(Arc::new(Control {
                stop,
                reopen,
                rules: live.zip(shared.source),
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
    pub fn check(mut config: Config, options: &Options) -> Result<Checked> {
        let shared = load(&mut config, options)?;
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
fn load(config: &mut Config, options: &Options) -> Result<Shared> {
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
    rules: Option<(Arc<LiveRules>, RuleSource)>,
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

    /// Puts what the rule files hold now in the place of the rules in force, between two batches.
    /// Nothing, if the gateway has no rules.
    ///
    /// # Errors
    /// [`Error::Configuration`]: the files are wrong. The rules in force stay.
    pub fn reload(&self) -> Result<Option<LoadReport>> {
        let reload = |(live, source): &(Arc<LiveRules>, RuleSource)| source.reload(live);
        self.0.rules.as_ref().map(reload).transpose()
    }

    /// Opens outputs that are appended to by their names again: they may have been moved away.
    pub fn reopen_outputs(&self) {
        self.0.reopen.request();
    }

    /// What the inspection did so far, if there is one.
    pub fn inspection(&self) -> Option<InspectSnapshot> {
        let rules = self.0.rules.as_ref();
        rules.map(|(live, _)| live.snapshot())
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
