//! A gateway: the pipelines of a configuration, and what can be done with them while they run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use tracing::{error, warn};
use weir_capture::Progress;
use weir_export::{FrameMetrics, InspectMetrics};
use weir_inspect::{InspectSnapshot, LiveRules, LoadReport};
use weir_ipsec::{Running, Which};
use weir_ledger::default_marks;
use weir_measure::IntervalReport;
use weir_stream::{Boundary, Meters, Statistics, StopFlag};

use crate::associations;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::execution::execute;
use crate::fabric::{self, FabricResults, LoadedFile};
use crate::filter::LiveFilter;
use crate::inspected::{BegunMetricsFile, MetricsFile};
use crate::live::{self, LivePipelines};
use crate::measured::{Outputs, Recent};
use crate::pipelines::{self, Building, Built, OnInterval, Shared, rule_source};
use crate::reopen::Reopen;
use crate::report::{Report, live_report, report};
use crate::sa_status::{AddedSas, RemovedSa, SaStatus};
use crate::status::{
    AssociationsStatus, BalanceStatus, InspectionStatus, QueueStatus, Reloaded,
    ReloadedAssociations, ReloadedRules, Status,
};
use crate::traffic::Traffic;

/// What a configuration file does not say.
#[derive(Clone, Debug)]
pub struct Options {
    /// Chains of stages per pipeline, each on a core of its own.
    pub shards: usize,
    /// Whether key files are accepted that other users of this machine can read.
    pub allow_insecure_permissions: bool,
    /// An output of the caller, which must not replace a file that the gateway needs.
    pub output: Option<PathBuf>,
    /// The processors of live workers, in their order. Those without one are not bound.
    pub cpus: Vec<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            shards: 1,
            allow_insecure_permissions: false,
            output: None,
            cpus: Vec::new(),
        }
    }
}

/// Pipelines that are ready to run.
pub struct Gateway {
    config: Config,
    engine: Engine,
    metrics: Option<BegunMetricsFile>,
    loaded: Option<LoadReport>,
    /// An output of the caller.
    output: Option<PathBuf>,
    handle: Handle,
}

/// A gateway that ran.
pub struct Finished {
    /// The accounts of all pipelines.
    pub statistics: Statistics,
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
        Gateway::build(config, options, None)
    }

    /// The same, with a function that is called with every report of an interval that is measured.
    /// What it returns is the fate of captures' pipelines: an error ends them.
    ///
    /// # Errors
    /// As [`Gateway::from_config`].
    pub fn observed(
        config: Config,
        options: &Options,
        on_interval: impl FnMut(&IntervalReport) -> Result + Send + 'static,
    ) -> Result<Gateway> {
        Gateway::build(config, options, Some(Arc::new(Mutex::new(on_interval))))
    }

    fn build(
        mut config: Config,
        options: &Options,
        on_interval: Option<OnInterval>,
    ) -> Result<Gateway> {
        let mut shared = load(&mut config, options)?;
        let fabric = (config.fabric.as_ref())
            .zip(shared.fabric.as_ref())
            .map(|(settings, file)| LoadedFile::of(&settings.file, file))
            .transpose()?;
        let is_live = config.is_live();
        // Live pipelines own them: others take their place while packets run.
        let associations = shared.associations.take_if(|_| is_live);
        let stop = StopFlag::default();
        let reopen = Reopen::default();
        let building = Building {
            config: &config,
            shared: &shared,
            shards: options.shards.max(1),
            stop: &stop,
            reopen: &reopen,
            on_interval,
            cpus: &options.cpus,
        };
        let mut watched = Vec::new();
        let measured;
        let mut ipsec = None;
        let mut boundary = None;
        let engine = match is_live {
            true => {
                let pipelines = live::build(&building, associations)?;
                ipsec = pipelines.associations().cloned();
                measured = pipelines.measured().cloned();
                boundary = Some(pipelines.boundary());
                Engine::Live(pipelines)
            }
            false => {
                let mut built = pipelines::build(&building)?;
                watched.append(&mut built.watched);
                measured = built.measured.clone();
                Engine::Captures(built)
            }
        };
        let (rules, loaded) = match shared.rules {
            Some(rules) => (Some(rules.live), Some(rules.report)),
            None => (None, None),
        };
        let metrics = (config.inspect.as_ref())
            .and_then(|inspect| inspect.prometheus.as_deref())
            .zip(rules.as_ref())
            .map(|(path, live)| BegunMetricsFile::create(path, live))
            .transpose()?;
        let names = config.pipelines.iter().map(|p| p.name.clone()).collect();
        let loaded_rules = loaded.as_ref().map_or(0, |report| report.loaded);
        let total_bytes = watched.iter().map(|watched| watched.total_bytes).sum();
        let sources = watched.into_iter().map(|watched| watched.progress);
        Ok(Gateway {
            config: config.clone(),
            engine,
            metrics,
            loaded,
            output: options.output.clone(),
            handle: Handle(Arc::new(Control {
                stop,
                reopen,
                present: Mutex::new(config),
                rules,
                measured,
                ipsec,
                fabric,
                boundary,
                allow_insecure_permissions: options.allow_insecure_permissions,
                meters: OnceLock::new(),
                lost_events: Arc::default(),
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

    /// The files that it reads, also those that a reload reads again.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let named = self.config.inputs().into_iter().map(Path::to_owned);
        let running = self.handle.0.ipsec.iter();
        let keys = running.flat_map(|running| running.key_files());
        let secrets = self
            .handle
            .0
            .fabric
            .iter()
            .flat_map(LoadedFile::secret_files);
        named.chain(keys).chain(secrets.cloned()).collect()
    }

    /// The files that it writes while it runs or at the end, with the ledger's.
    pub fn outputs(&self) -> Vec<PathBuf> {
        let named = self.config.outputs(self.output.as_deref());
        let named = named.into_iter().map(Path::to_owned);
        let states = (self.config.ipsec.iter().map(|ipsec| &ipsec.state))
            .chain(self.config.fabric.iter().map(|fabric| &fabric.state));
        let kept = states.flat_map(|state| {
            let marks = default_marks().map(|directory| directory.join("marks"));
            let ledger = associations::ledger_files_of(state.as_deref());
            ledger.into_iter().chain(marks)
        });
        named.chain(kept).collect()
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
        let metrics = self.metrics.map(BegunMetricsFile::start);
        match self.engine {
            Engine::Live(pipelines) => {
                let handle = &self.handle;
                let show = |meters| handle.show(meters);
                let outcome = pipelines.run(show, Arc::clone(&handle.0.lost_events))?;
                if let Some(metrics) = metrics {
                    metrics.finish()?;
                }
                let inspection = self.handle.inspection().unwrap_or_default();
                let statistics = outcome.statistics.clone();
                let of_fabric = outcome.results.fabric.ledger_error.clone();
                let error = outcome.results.ledger_error.clone().or(of_fabric);
                let lost_events = self.handle.0.lost_events.load(Ordering::Relaxed);
                Ok(Finished {
                    statistics,
                    report: live_report(&self.config, outcome, inspection, lost_events),
                    defect: error.map(Error::running),
                })
            }
            Engine::Captures(built) => run_captures(built, metrics, &self.config, &self.handle),
        }
    }
}

/// How the pipelines of a configuration run.
enum Engine {
    Captures(Built),
    Live(LivePipelines),
}

fn run_captures(
    built: Built,
    metrics: Option<MetricsFile>,
    config: &Config,
    handle: &Handle,
) -> Result<Finished> {
    let execution = execute(built.pipelines)?;
    if let Some(metrics) = metrics {
        metrics.finish()?;
    }
    let mut recent = Recent::default();
    for (collector, of_collector) in &built.collectors {
        // The reports that are still open go to the observer too.
        collector.finish();
        recent.append(of_collector.take());
    }
    if let Some(measured) = &built.measured {
        measured.finish()?;
    }
    let inspection = handle.inspection().unwrap_or_default();
    let of_fabric = FabricResults::of(&execution).ledger_error;
    let report = report(config, &execution, inspection, recent);
    let of_ledger = associations::ledger_error(&execution.pipelines).map(ToString::to_string);
    let defect = of_ledger.or(of_fabric).map(Error::running);
    Ok(Finished {
        statistics: execution.statistics.clone(),
        report,
        defect: defect.or_else(|| execution.check_captures().err()),
    })
}

/// What OpenMetrics text ends with.
const END: &str = "# EOF\n";

/// Loads what the pipelines share, and keeps the outputs away from it.
fn load(config: &mut Config, options: &Options) -> Result<Shared> {
    let shared = Shared::load(config, options.allow_insecure_permissions)?;
    if let (Some(file), Some(associations)) = (&shared.fabric, &shared.associations) {
        let of_fabric = |name: &str| fabric::names(file, name);
        let of_ipsec = |name: &str| {
            let mut associations = associations.associations().iter();
            associations.any(|association| association.name == name)
        };
        config.divide_new_keys(of_fabric, of_ipsec);
    }
    config.keep_files_apart(options.output.as_deref(), &shared.kept_files(config))?;
    Ok(shared)
}

/// A running gateway, as other threads see it.
#[derive(Clone)]
pub struct Handle(Arc<Control>);

struct Control {
    stop: StopFlag,
    reopen: Reopen,
    /// The active configuration. Locked while another takes its place.
    present: Mutex<Config>,
    rules: Option<Arc<LiveRules>>,
    filter: Option<Arc<LiveFilter>>,
    /// How often it was replaced.
    generation: AtomicU64,
    /// Those of live pipelines, once they run.
    meters: OnceLock<Meters>,
    /// The outputs of measurements, if there are some.
    measured: Option<Outputs>,
    /// The associations of live pipelines, if there are some.
    ipsec: Option<Arc<Running>>,
    fabric: Option<LoadedFile>,
    /// Where the stages of live pipelines are changed.
    boundary: Option<Boundary>,
    allow_insecure_permissions: bool,
    /// Events that were not written.
    lost_events: Arc<AtomicU64>,
    started: Instant,
    names: Vec<String>,
    /// Active rules.
    loaded_rules: AtomicU64,
    sources: Vec<Arc<Progress>>,
    total_bytes: Option<u64>,
}

impl Handle {
    /// Ends the run: batches under way are finished, everything is written.
    pub fn stop(&self) {
        self.0.stop.stop();
    }

    /// What [`Handle::stop`] raises.
    pub fn stop_flag(&self) -> &StopFlag {
        &self.0.stop
    }

    /// Loads the configuration and the files that it names again, and puts them in the place of
    /// the active ones. Live, every packet meets all of the old configuration or all of the new one;
    /// pipelines over captures take rules and filter each between two batches. What came from no file stays, but for the
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
        if let Some(fabric) = &self.0.fabric {
            fabric.require_unchanged()?;
        }
        // Everything is made before anything is replaced.
        let rules = match (&self.0.rules, &next.inspect) {
            (Some(live), Some(inspect)) => Some((live, rule_source(inspect).prepare(live)?)),
            _ => None,
        };
        let mut reloaded = Reloaded::default();
        let mut replaced_rules = Ok(());
        let rules_and_filter = || {
            if let Some((live, (rules, report))) = rules {
                replaced_rules = live.replace(Arc::new(rules)).map(drop);
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
        };
        if let (Some(running), Some(ipsec)) = (&self.0.ipsec, &next.ipsec) {
            let file = associations::load(&ipsec.sa, self.0.allow_insecure_permissions)?;
            file.require_directions().map_err(Error::configuration)?;
            // Some that were named at the start may be gone.
            let mut named = ipsec.new_keys.clone();
            named.retain(|name| {
                let mut present = file.associations().iter();
                name == "all" || present.any(|association| association.name == *name)
            });
            let new_keys = associations::new_keys(&named);
            let switch = |associations: &mut dyn FnMut()| {
                self.at_once(|| {
                    associations();
                    rules_and_filter();
                });
            };
            let replaced = running.replace(file, new_keys, switch);
            let replaced = replaced.map_err(Error::running)?;
            reloaded.associations = Some(ReloadedAssociations::from(replaced));
        } else {
            self.at_once(rules_and_filter);
        }
        replaced_rules.map_err(Error::running)?;
        *present = next;
        reloaded.generation = self.0.generation.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(reloaded)
    }

    /// The associations of live pipelines and what they did, in the order of the SA file.
    ///
    /// # Errors
    /// There are none.
    pub fn list_associations(&self) -> Result<Vec<SaStatus>> {
        let present = self.running()?.list();
        Ok(present.into_iter().map(SaStatus::from).collect())
    }

    /// Adds the associations and policies of a text in the form of an SA file to the active ones, as
    /// a reload takes in new ones; the SA file stays as it is. `path` is for messages, `new_keys`
    /// names those whose keys the ledger may learn.
    ///
    /// # Errors
    /// What is wrong with the text, or what it conflicts with. Everything stays as it was.
    pub fn add_associations(
        &self,
        path: &Path,
        text: &str,
        new_keys: &[String],
    ) -> Result<AddedSas> {
        let running = self.running()?;
        let _present = self.0.present.lock();
        let new_keys = associations::new_keys(new_keys);
        let (replaced, warnings) = running.add(path, text, new_keys).map_err(Error::running)?;
        Ok(AddedSas {
            generation: self.0.generation.fetch_add(1, Ordering::Relaxed) + 1,
            associations: ReloadedAssociations::from(replaced),
            warnings,
        })
    }

    /// Removes one active association; the SA file stays as it is.
    ///
    /// # Errors
    /// There is none like that, or several are. Everything stays as it was.
    pub fn remove_association(&self, which: &Which) -> Result<RemovedSa> {
        let running = self.running()?;
        let _present = self.0.present.lock();
        let (removed, replaced) = running.remove(which).map_err(Error::running)?;
        Ok(RemovedSa {
            generation: self.0.generation.fetch_add(1, Ordering::Relaxed) + 1,
            name: removed.name.clone(),
            spi: removed.spi,
            associations: ReloadedAssociations::from(replaced),
        })
    }

    fn running(&self) -> Result<&Running> {
        self.0.ipsec.as_deref().ok_or_else(|| {
            Error::running("the gateway has no live pipeline that protects or unprotects")
        })
    }

    /// Changes several stages while no packet is between them, where packets are live.
    fn at_once(&self, change: impl FnOnce()) {
        match &self.0.boundary {
            Some(boundary) => {
                if !boundary.change(change) {
                    warn!(
                        "a worker stands still: its present batch may meet a part of the new \
                         configuration"
                    );
                }
            }
            None => change(),
        }
    }

    /// What the gateway did so far.
    pub fn status(&self) -> Status {
        let inspection = self.inspection();
        let accounts = self.accounts();
        let queues: Vec<QueueStatus> = (self.0.meters.get())
            .map(|meters| meters.queues().iter().map(QueueStatus::from).collect())
            .unwrap_or_default();
        Status {
            weir_version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            running_s: self.0.started.elapsed().as_secs_f64(),
            pipelines: self.0.names.clone(),
            generation: self.0.generation.load(Ordering::Relaxed),
            packets: self.packets(),
            bytes_read: self.bytes_read(),
            traffic: accounts.as_ref().map(|accounts| {
                let mut traffic = Traffic::new(accounts, false, false);
                traffic.read.missed = queues.iter().map(QueueStatus::missed).sum();
                traffic
            }),
            balance: accounts.as_ref().map(BalanceStatus::from),
            queues,
            lost_events: self.0.lost_events.load(Ordering::Relaxed),
            inspection: inspection.map(|snapshot| InspectionStatus {
                rules: (self.0.rules.as_ref())
                    .map_or(0, |_| self.0.loaded_rules.load(Ordering::Relaxed)),
                packets: snapshot.statistics.packets,
                flows: snapshot.statistics.flows,
                alerts: snapshot.statistics.alerts,
            }),
            associations: (self.0.ipsec.as_ref())
                .and_then(|running| running.extent())
                .map(|(count, edits)| AssociationsStatus {
                    count,
                    differs_from_file: edits > 0,
                }),
        }
    }

    /// All metrics in OpenMetrics text.
    pub fn metrics(&self) -> String {
        let mut frame = FrameMetrics::default();
        if let Some(meters) = self.0.meters.get()
            && let Some(accounts) = self.accounts()
        {
            frame.observe(&accounts, &meters.queues());
        }
        let generation = self.0.generation.load(Ordering::Relaxed);
        frame.observe_gateway(self.0.lost_events.load(Ordering::Relaxed), generation);
        let mut texts = vec![frame.text()];
        if let Some(inspection) = self.inspection() {
            let mut metrics = InspectMetrics::default();
            metrics.observe(&inspection);
            texts.push(metrics.text());
        }
        texts.extend(self.0.measured.as_ref().map(Outputs::metrics));
        // Each of them ends; only the last one may.
        let parts = texts.iter().map(|text| text.trim_end_matches(END));
        parts.collect::<String>() + END
    }

    /// Whether the gateway works as it should.
    ///
    /// # Errors
    /// What is wrong: accounts that do not balance.
    pub fn health(&self) -> std::result::Result<String, String> {
        let mut text = String::from("ok\n");
        if let Some(meters) = self.0.meters.get() {
            meters.snapshot().map_err(|error| format!("{error}\n"))?;
            for queue in meters.queues().iter().filter(|queue| !queue.state.is_up()) {
                text += &format!("{} is {}\n", queue.port, queue.state);
            }
        }
        Ok(text)
    }

    /// Opens outputs that are appended to by their names again: they may have been moved away.
    pub fn reopen_outputs(&self) {
        self.0.reopen.request();
    }

    /// What the inspection did so far, if there is one.
    pub fn inspection(&self) -> Option<InspectSnapshot> {
        self.0.rules.as_ref().map(|live| live.snapshot())
    }

    /// Bytes of captures that were read, or of packets that were received.
    pub fn bytes_read(&self) -> u64 {
        if let Some(accounts) = self.accounts() {
            return accounts.bytes();
        }
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

    /// Lets others see what live pipelines do.
    fn show(&self, meters: Meters) {
        // They start once.
        let _ = self.0.meters.set(meters);
    }

    /// The accounts of live pipelines so far.
    fn accounts(&self) -> Option<Statistics> {
        let snapshot = self.0.meters.get()?.snapshot();
        snapshot.inspect_err(|error| error!("{error}")).ok()
    }

    /// Packets that were read or received.
    pub fn packets(&self) -> u64 {
        if let Some(accounts) = self.accounts() {
            return accounts.packets();
        }
        self.0.sources.iter().map(|source| source.packets()).sum()
    }
}
