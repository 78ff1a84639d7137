//! Loads the SA file that a command or a configuration names.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use tracing::{debug, info, warn};
use weir_ipsec::{
    AssociationReport, GatewayError, LoadOptions, Output, Protect, SaFile, Sequences, Unprotect,
    Windows,
};
use weir_ledger::{LedgerError, NewKeys, default_marks};
use weir_packet::file::require_folder_of;
use weir_stream::Outcome as Finished;

use crate::error::{Error, Result};
use crate::files::unless_gone;

/// Loads an SA file and shows its warnings, however quiet the command is.
pub fn load(path: &Path, allow_insecure_permissions: bool) -> Result<SaFile> {
    let options = LoadOptions {
        allow_insecure_permissions,
    };
    let file = SaFile::load(path, options).map_err(Error::configuration)?;
    if allow_insecure_permissions {
        warn!("--allow-insecure-permissions: other users of this machine may read the keys");
    }
    for warning in file.warnings() {
        warn!("{warning}");
    }
    Ok(file)
}

/// The ledger's directory: the machine's own, unless the command line or the
/// configuration names another.
pub fn ledger(state: Option<&Path>) -> Result<PathBuf> {
    match state {
        Some(path) => Ok(path.to_owned()),
        None => weir_ledger::default_path()
            .ok_or_else(|| Error::configuration(GatewayError::NoLedgerPath)),
    }
}

/// The files of the ledger, which no output may replace.
pub fn ledger_files_of(state: Option<&Path>) -> Vec<PathBuf> {
    ledger(state).map_or_else(|_| Vec::new(), |path| weir_ledger::files(&path).into())
}

/// What `--new-key` says.
pub fn new_keys(names: &[String]) -> NewKeys {
    match names.iter().any(|name| name == "all") {
        true => NewKeys::All,
        false => NewKeys::Of(names.to_vec()),
    }
}

/// Where sequence numbers come from, by what the command line or the
/// configuration says.
pub fn sequences(
    file: &SaFile,
    state: Option<&Path>,
    new_keys: NewKeys,
    repeatable_insecure: bool,
) -> Result<Sequences> {
    if repeatable_insecure {
        warn!("repeatable_insecure: nonces repeat with each run, which gives the keys away");
    }
    if repeatable_insecure || file.is_insecure_example() {
        return Ok(Sequences::RepeatableInsecure);
    }
    let path = ledger(state)?;
    debug!("ledger {}", path.display());
    Ok(Sequences::Ledger {
        path,
        new_keys,
        reserve: Sequences::RESERVED_AT_A_TIME,
    })
}

/// The stages that protect. Another ledger than the machine's own is always
/// worth a warning: with it a key may be used a second time.
pub fn protect(
    file: &SaFile,
    sequences: &Sequences,
    state: Option<&Path>,
    output: Output,
    shards: usize,
) -> Result<Vec<Protect>> {
    let stages = file
        .protect(sequences, output, shards)
        .map_err(Error::configuration)?;
    if let (Sequences::Ledger { path, .. }, Some(_)) = (sequences, state) {
        warn!(
            "{}: keys that were used with another ledger are unknown to this one: seal \
             with each key by one ledger only",
            path.display()
        );
    }
    Ok(stages)
}

/// The stages that unprotect what comes from a capture or a network.
pub fn unprotect(
    file: &SaFile,
    state: Option<&Path>,
    input: Output,
    shards: usize,
) -> Result<Vec<Unprotect>> {
    file.unprotect(&windows(state, input), shards)
        .map_err(Error::configuration)
}

/// Where replay windows begin. Where no window is kept, no ledger is needed.
pub(crate) fn windows(state: Option<&Path>, input: Output) -> Windows {
    ledger(state).map_or(Windows::Empty, |path| Windows::Ledger {
        path,
        input,
        marks: default_marks(),
    })
}

/// Why the ledger could not be written in a run.
pub fn ledger_error(pipelines: &[Finished]) -> Option<&LedgerError> {
    let stages = || pipelines.iter();
    let sealing = stages().flat_map(|pipeline| pipeline.stages::<Protect>());
    let opening = stages().flat_map(|pipeline| pipeline.stages::<Unprotect>());
    let mut errors = sealing
        .filter_map(Protect::ledger_error)
        .chain(opening.filter_map(Unprotect::ledger_error));
    errors.next()
}

/// Writes the keys for Wireshark to a file that only its owner can read, or to
/// standard output.
pub fn write_wireshark_keys(file: &SaFile, path: &Path) -> Result {
    let keys = file.wireshark_keys();
    if path == Path::new("-") {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(keys.text.as_bytes());
        unless_gone(written.and_then(|()| stdout.flush()))
    } else {
        require_folder_of(path).map_err(Error::configuration)?;
        write_for_owner(path, keys.text.as_bytes())
    }
    .with_context(|| format!("cannot write the keys to {}", path.display()))
    .map_err(Error::running)?;
    if !keys.left_out.is_empty() {
        info!(
            "Wireshark does not know the suites of: {}",
            keys.left_out.join(", ")
        );
    }
    Ok(())
}

fn write_for_owner(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut output = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    // An older file keeps its mode when it is opened again.
    output.set_permissions(Permissions::from_mode(0o600))?;
    output.write_all(contents)
}

/// What one association did.
#[derive(Debug, Serialize)]
pub struct AssociationRow {
    /// Its name in the SA file.
    pub name: String,
    /// Its security parameters index.
    pub spi: u32,
    /// Its cipher suite.
    pub suite: String,
    /// Packets that it protected or verified.
    pub packets: u64,
    /// Bytes that the cipher or MAC was applied to: payload and padding of ESP.
    pub payload_bytes: u64,
}

/// What the associations of finished pipelines did, in the order of their
/// file.
pub fn association_rows(pipelines: &[Finished]) -> Vec<AssociationRow> {
    let protected = pipelines
        .iter()
        .flat_map(|pipeline| pipeline.stages::<Protect>())
        .flat_map(Protect::reports);
    let unprotected = pipelines
        .iter()
        .flat_map(|pipeline| pipeline.stages::<Unprotect>())
        .flat_map(Unprotect::reports);
    rows(protected.chain(unprotected))
}

/// What associations did that were used, in the order of their file.
pub(crate) fn rows(reports: impl Iterator<Item = AssociationReport>) -> Vec<AssociationRow> {
    let mut reports: Vec<_> = reports
        .filter(|report| report.traffic.packets > 0)
        .collect();
    reports.sort_by_key(|report| report.association);
    reports
        .into_iter()
        .map(|report| AssociationRow {
            name: report.parameters.name.clone(),
            spi: report.parameters.spi,
            suite: report.parameters.suite.name().to_string(),
            packets: report.traffic.packets,
            payload_bytes: report.traffic.bytes,
        })
        .collect()
}
