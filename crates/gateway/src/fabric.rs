//! Secure InfiniBand and RoCEv2: the fabric file that a command or a configuration names.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use serde::Serialize;
use tracing::{debug, warn};
use weir_fabric::filter::{PartitionTable, Scheme};
use weir_fabric::secure::FabricFile;
use weir_fabric::stage::{
    Epochs, FilterSettings, FlowReport, ProtectStage, ReceivingKeys, SendingKeys, Traffic,
    UnprotectStage, Windows,
};
use weir_ledger::{Fingerprint, default_marks};
use weir_stream::Stage;

use crate::associations;
use crate::config::{
    Config, FabricConfig, FabricFilterConfig, FilterScheme, PipelineConfig, StageName, seconds,
};
use crate::error::{Error, Result};
use crate::execution::Execution;

/// Loads a fabric file.
pub fn load(path: &Path, allow_insecure_permissions: bool) -> Result<Arc<FabricFile>> {
    let file = FabricFile::load(path, allow_insecure_permissions);
    let file = file.map_err(Error::configuration)?;
    if allow_insecure_permissions {
        warn!("--allow-insecure-permissions: other users of this machine may read the secrets");
    }
    Ok(Arc::new(file))
}

/// A fabric file that was loaded, and the secrets beside it, as they were then.
pub(crate) struct LoadedFile {
    path: PathBuf,
    secret_files: Vec<PathBuf>,
    fingerprint: Fingerprint,
}

impl LoadedFile {
    pub fn of(path: &Path, file: &FabricFile) -> Result<LoadedFile> {
        let fingerprint = FabricFile::fingerprint(path, &file.secret_files);
        Ok(LoadedFile {
            path: path.to_owned(),
            secret_files: file.secret_files.clone(),
            fingerprint: fingerprint.map_err(Error::configuration)?,
        })
    }

    /// Files with secrets that are read again.
    pub fn secret_files(&self) -> &[PathBuf] {
        &self.secret_files
    }

    /// Whether all of it is as it was. The stages of a running gateway keep the keys that they began with.
    pub fn require_unchanged(&self) -> Result {
        let now = FabricFile::fingerprint(&self.path, &self.secret_files);
        match now.map_err(Error::configuration)? == self.fingerprint {
            true => Ok(()),
            false => Err(Error::configuration(anyhow!(
                "{}: it or a secret that it names has changed, and a running gateway does not take that in: \
                 start it again",
                self.path.display()
            ))),
        }
    }
}

/// Whether a file has keys by this name to send by.
pub(crate) fn names(file: &FabricFile, name: &str) -> bool {
    let mut queue_pairs = file.queue_pairs.iter().map(|queue_pair| &queue_pair.name);
    let mut partitions = file.partitions.iter().map(|partition| &partition.name);
    queue_pairs.any(|other| other == name) || partitions.any(|other| other == name)
}

/// Where epochs come from, by what the command line or the configuration says. Another ledger than the
/// machine's own is always worth a warning: with it an epoch may be used a second time.
pub fn epochs(
    state: Option<&Path>,
    new_keys: &[String],
    repeatable_insecure: bool,
) -> Result<Epochs> {
    if repeatable_insecure {
        warn!("repeatable_insecure: nonces repeat with each run, which gives the keys away");
        return Ok(Epochs::RepeatableInsecure);
    }
    let path = associations::ledger(state)?;
    debug!("ledger {}", path.display());
    if state.is_some() {
        warn!(
            "{}: keys that were used with another ledger are unknown to this one: seal \
             with each key by one ledger only",
            path.display()
        );
    }
    Ok(Epochs::Ledger {
        path,
        new_keys: associations::new_keys(new_keys),
    })
}

/// What the fabric stages of a configuration's pipelines share.
#[derive(Clone, Default)]
pub(crate) struct FabricKeys {
    sending: Option<SendingKeys>,
    receiving: Option<ReceivingKeys>,
    workers: usize,
}

impl FabricKeys {
    /// Opens what pipelines protect and verify by.
    pub fn open(
        config: &Config,
        file: Option<&Arc<FabricFile>>,
        workers: usize,
    ) -> Result<FabricKeys> {
        let Some((settings, file)) = config.fabric.as_ref().zip(file) else {
            return Ok(FabricKeys::default());
        };
        let has = |stage| {
            config
                .pipelines
                .iter()
                .any(|one| one.stages.contains(&stage))
        };
        let traffic = match config.is_live() {
            true => Traffic::Live,
            false => Traffic::Capture,
        };
        let sending = has(StageName::FabricProtect).then(|| -> Result<_> {
            let epochs = settings.epochs()?;
            SendingKeys::open(file, &epochs, traffic).map_err(Error::configuration)
        });
        let receiving = has(StageName::FabricUnprotect).then(|| -> Result<_> {
            let windows = match traffic {
                Traffic::Live => Windows::Ledger {
                    path: associations::ledger(settings.state.as_deref())?,
                    marks: default_marks(),
                    traffic,
                },
                Traffic::Capture => Windows::Epoch(settings.first_epoch),
            };
            ReceivingKeys::open(file, &windows).map_err(Error::configuration)
        });
        Ok(FabricKeys {
            sending: sending.transpose()?,
            receiving: receiving.transpose()?,
            workers,
        })
    }

    /// The stage of a worker that protects.
    pub fn protect(&self, worker: usize) -> Result<ProtectStage> {
        let keys = self.sending.as_ref().ok_or_else(absent)?;
        Ok(keys.stage(worker, self.workers))
    }

    /// The stage of a worker that verifies.
    pub fn unprotect(&self, worker: usize) -> Result<UnprotectStage> {
        let keys = self.receiving.as_ref().ok_or_else(absent)?;
        keys.stage(worker, self.workers)
            .map_err(Error::configuration)
    }
}

fn absent() -> Error {
    Error::configuration("there is no table [fabric]")
}

impl FabricConfig {
    fn epochs(&self) -> Result<Epochs> {
        epochs(
            self.state.as_deref(),
            &self.new_keys,
            self.repeatable_insecure,
        )
    }

    /// Whether a pipeline that protects would find its keys in the ledger.
    pub(crate) fn check_state(&self, file: &FabricFile) -> Result {
        match self.epochs()? {
            Epochs::Ledger { path, new_keys } => {
                SendingKeys::check(file, &path, &new_keys).map_err(Error::configuration)
            }
            Epochs::RepeatableInsecure => Ok(()),
        }
    }
}

impl FabricFilterConfig {
    /// The filter of a pipeline.
    pub(crate) fn settings(&self, pipeline: &PipelineConfig) -> Result<FilterSettings> {
        let keys_at = |port: &str| {
            let port = self.port.iter().find(|one| one.name == port)?;
            Some(PartitionTable::new(port.partition_keys.iter().copied()))
        };
        let sender = keys_at(&pipeline.from).ok_or_else(|| {
            Error::configuration(format!(
                "pipeline {}: fabric-filter needs a [[fabric-filter.port]] named {:?}",
                pipeline.name, pipeline.from
            ))
        })?;
        Ok(FilterSettings {
            scheme: match self.scheme {
                FilterScheme::Ingress => Scheme::Ingress,
                FilterScheme::Stateful => Scheme::StatefulIngress,
            },
            sender,
            receiver: pipeline.to.as_deref().and_then(keys_at),
            quiet_ns: seconds(self.quiet_seconds)?.as_nanos() as u64,
        })
    }

    /// Refuses ports that are named twice.
    pub(crate) fn check(&self) -> Result {
        let mut names = HashSet::new();
        match self.port.iter().find(|port| !names.insert(&port.name)) {
            None => Ok(()),
            Some(port) => Err(Error::configuration(format!(
                "[[fabric-filter.port]]: {:?} is named twice",
                port.name
            ))),
        }
    }
}

/// What a queue pair did in one direction.
#[derive(Clone, Debug, Serialize)]
pub struct QueuePairRow {
    /// Its name in the fabric file.
    pub name: String,
    /// `protect` or `unprotect`.
    pub direction: &'static str,
    /// Where its packets come from.
    pub from: String,
    /// Where they go to.
    pub to: String,
    /// The queue pair that they go to.
    pub queue_pair: u32,
    /// Packets that were protected, or that were verified.
    pub packets: u64,
    /// Their bytes, with link headers, as they left the stage.
    pub bytes: u64,
    /// Modes that are refused after too many failed tags: `gcm-32`, `cmac-32`.
    pub degraded: Vec<&'static str>,
}

impl QueuePairRow {
    fn new(direction: &'static str, report: FlowReport) -> QueuePairRow {
        let (gcm_32, cmac_32) = report.is_degraded;
        let modes = [("gcm-32", gcm_32), ("cmac-32", cmac_32)].into_iter();
        let receiver = report.flow.receiver;
        QueuePairRow {
            name: report.name,
            direction,
            from: report.flow.sender.address.to_string(),
            to: receiver.address.to_string(),
            queue_pair: receiver.queue_pair,
            packets: report.packets,
            bytes: report.bytes,
            degraded: modes
                .filter_map(|(mode, is_degraded)| is_degraded.then_some(mode))
                .collect(),
        }
    }
}

/// What the fabric stages of a run did.
#[derive(Clone, Debug, Default)]
pub struct FabricResults {
    /// Packets that were protected.
    pub protected: u64,
    /// Packets that were verified.
    pub unprotected: u64,
    /// Packets that passed as they were.
    pub passed: u64,
    /// Alarms that were raised.
    pub alarms: u64,
    /// Queue pairs that had packets, by name and direction.
    pub queue_pairs: Vec<QueuePairRow>,
    /// Why the ledger could not be written.
    pub ledger_error: Option<String>,
}

impl FabricResults {
    /// Those of pipelines over captures.
    pub fn of(execution: &Execution) -> FabricResults {
        let mut results = FabricResults::default();
        stages(execution).for_each(|stage| results.add_protect(stage));
        stages(execution).for_each(|stage| results.add_unprotect(stage));
        results
    }

    pub(crate) fn add_protect(&mut self, stage: &ProtectStage) {
        self.protected += stage.protected();
        self.passed += stage.passed();
        self.add("protect", stage.reports(), stage.ledger_error());
    }

    pub(crate) fn add_unprotect(&mut self, stage: &UnprotectStage) {
        self.unprotected += stage.unprotected();
        self.passed += stage.passed();
        self.alarms += stage.alarms();
        self.add("unprotect", stage.reports(), stage.ledger_error());
    }

    fn add(
        &mut self,
        direction: &'static str,
        reports: Vec<FlowReport>,
        ledger_error: Option<&weir_ledger::LedgerError>,
    ) {
        let is_used =
            |report: &FlowReport| report.packets > 0 || report.is_degraded != (false, false);
        let rows = reports.into_iter().filter(is_used);
        let rows = rows.map(|report| QueuePairRow::new(direction, report));
        self.queue_pairs.extend(rows);
        let is_earlier = |one: &QueuePairRow, other: &QueuePairRow| {
            (&one.name, one.direction).cmp(&(&other.name, other.direction))
        };
        self.queue_pairs.sort_by(is_earlier);
        if self.ledger_error.is_none() {
            self.ledger_error = ledger_error.map(ToString::to_string);
        }
    }
}

fn stages<S: Stage>(execution: &Execution) -> impl Iterator<Item = &S> {
    let pipelines = execution.pipelines.iter();
    pipelines.flat_map(|pipeline| pipeline.stages::<S>())
}

/// The files of the ledger, and of the marks beside it, that are written.
pub(crate) fn kept_files(settings: &FabricConfig, file: &FabricFile) -> Vec<PathBuf> {
    let ledger = associations::ledger_files_of(settings.state.as_deref());
    [&file.secret_files[..], &ledger].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_processes::Folder;

    #[test]
    fn a_changed_file_or_secret_is_noticed() {
        let folder = Folder::new();
        let write = |name: &str, text: &str| {
            folder.write(name, text);
            PathBuf::from(folder.name(name))
        };
        let text = "[[partition]]\nname = \"all\"\npartition_key = 0x8001\nsecret_file = \"key\"\n";
        write("key", "000102030405060708090a0b0c0d0e0f");
        let path = write("fabric.toml", text);
        let file = load(&path, true).expect("right");
        assert!(names(&file, "all") && !names(&file, "one"));
        let loaded = LoadedFile::of(&path, &file).expect("read");
        assert_eq!(loaded.secret_files().len(), 1);
        assert!(loaded.require_unchanged().is_ok());
        write("key", "100102030405060708090a0b0c0d0e0f");
        let error = loaded.require_unchanged().expect_err("another secret");
        assert!(error.to_string().contains("start it again"), "{error}");
        write("key", "000102030405060708090a0b0c0d0e0f");
        assert!(loaded.require_unchanged().is_ok());
        write("fabric.toml", &format!("failed_tags = 8\n{text}"));
        assert!(loaded.require_unchanged().is_err());
        std::fs::remove_file(&path).expect("removed");
        assert!(loaded.require_unchanged().is_err());
    }
}
