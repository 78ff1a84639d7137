//! `fabric.toml`: partitions, queue pairs and their secrets.
//!
//! ```toml
//! # Queue pairs whose packets may be plain: those of management.
//! plain_queue_pairs = [0, 1]
//! failed_tags = 16
//!
//! [[partition]]
//! name = "storage"
//! partition_key = 0x8001
//! mode = "require"                # or "allow": plain packets pass
//! secret = "00112233445566778899aabbccddeeff"
//!
//! [[queue_pair]]
//! name = "disk"
//! partition = "storage"
//! transport = "rc"                # uc, rd, ud
//! local = { address = "192.0.2.1", queue_pair = 17 }
//! remote = { address = "192.0.2.2", queue_pair = 18 }
//! session_random = "0f0e0d0c0b0a09080706050403020100"
//! ```
//!
//! A secret is hex, as in an SA file, lies in a file that `secret_file` names, or is read from the descriptor
//! `secret_fd`. A queue pair has the
//! secret of its partition, or one of its session: `secret`, or `send_secret` and `receive_secret`
//! where each direction has its own. Addresses are IPv4 addresses, GIDs, or LIDs as numbers. `role` is
//! `both`, `send` or `receive`; `extended` is `never`, `fallback` or `always`; `window` counts packets.
//! Where packets have a GRH, `timestamps` guard against replays.
//!
//! Queue pairs need not be listed where their partition has `unlisted`: each of them then gets keys of
//! its own from the partition's secret when its first packet appears, and `flows` bounds them.
//!
//! ```toml
//! [[partition]]
//! name = "compute"
//! partition_key = 0x8002
//! secret = "102132435465768798a9bacbdcedfe0f"
//! unlisted = { session_random = "1f1e1d1c1b1a19181716151413121110", flows = 4096, window = 256 }
//!
//! [[queue_pair]]
//! name = "global"
//! partition = "storage"
//! transport = "ud"
//! local = { address = "fe80::1", queue_pair = 19 }
//! remote = { address = "fe80::2", queue_pair = 20 }
//! session_random = "2f2e2d2c2b2a29282726252423222120"
//! timestamps = { bits = 24, tolerance_s = 8 }
//! ```
//!
//! Whatever is wrong is one [`ConfigError`] with line and column. No error repeats a secret.

mod document;
mod shape;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use weir_ledger::Fingerprint;
use zeroize::Zeroizing;

use crate::ConfigError;

use super::derive::{Endpoint, Secret, SenderKeys, SessionRandom};
use super::flow::{Flow, Mode, PlainPolicy};
use super::receiver::TagLimits;
use super::unlisted::Unlisted;

/// What `fabric.toml` says. Secrets are wiped when it is dropped, and `Debug` shows none.
#[derive(Debug)]
pub struct FabricFile {
    /// Partitions, in the order of the file.
    pub partitions: Vec<Partition>,
    /// Queue pairs, in the order of the file.
    pub queue_pairs: Vec<QueuePair>,
    /// Which packets may be plain.
    pub policy: PlainPolicy,
    /// When keys are given up.
    pub limits: TagLimits,
    /// What becomes of packets of other networks.
    pub other_packets: OtherPackets,
    /// The files that secrets were read from, by the paths that they were read from.
    pub secret_files: Vec<PathBuf>,
}

/// What becomes of packets that are neither InfiniBand nor RoCEv2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OtherPackets {
    /// They are dropped.
    #[default]
    Drop,
    /// They pass.
    Allow,
}

/// A partition.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Its name in reports.
    pub name: String,
    /// P_Key.
    pub partition_key: u16,
    /// What it asks of its packets.
    pub mode: Mode,
    /// Keys of its queue pairs that are not listed, if it has some.
    pub unlisted: Option<Unlisted>,
}

/// Two queue pairs that talk to each other, seen from one of them.
pub struct QueuePair {
    /// Its name in reports.
    pub name: String,
    /// What it sends, if it does.
    pub outbound: Option<Direction>,
    /// What it receives, if it does.
    pub inbound: Option<Direction>,
}

/// One direction between two queue pairs.
pub struct Direction {
    /// Its packets.
    pub flow: Flow,
    secret: Secret,
    random: SessionRandom,
}

/// Reads the secret in a file that `fabric.toml` names.
pub type ReadSecret<'r> = dyn FnMut(&Path) -> Result<weir_secret::Secret, String> + 'r;

/// Why a file cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read, or others may read it too.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// It says something wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Longer files are refused: enough for a hundred thousand queue pairs.
const LONGEST_FILE_BYTES: u64 = 64 << 20;

impl FabricFile {
    /// Loads a file, and the secrets in files that it names, relative to its own place. Others may
    /// read none of them, unless `allow_insecure_permissions`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn load(path: &Path, allow_insecure_permissions: bool) -> Result<FabricFile, LoadError> {
        let text =
            text_of(path, allow_insecure_permissions).map_err(|message| LoadError::File {
                path: path.to_owned(),
                message,
            })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut secret_files = Vec::new();
        let mut read = |named: &Path| {
            let place = folder.join(named);
            let secret = weir_secret::Secret::read(&place, allow_insecure_permissions)
                .map_err(|message| format!("{}: {message}", place.display()));
            secret_files.push(place);
            secret
        };
        let mut file = FabricFile::parse(path, &text, &mut read)?;
        file.secret_files = secret_files;
        Ok(file)
    }

    /// A digest of a file and of the secrets in files that it names: other bytes have another one. No secret
    /// is learnt from it.
    ///
    /// # Errors
    /// The first file that cannot be read.
    pub fn fingerprint(path: &Path, secret_files: &[PathBuf]) -> Result<Fingerprint, LoadError> {
        let read = |path: &PathBuf| {
            let contents = File::open(path)
                .and_then(|file| weir_secret::read_secret(file, LONGEST_FILE_BYTES));
            contents.map_err(|error| LoadError::File {
                path: path.clone(),
                message: format!("cannot read: {error}"),
            })
        };
        let files = [&[path.to_owned()], secret_files].concat();
        let contents: Vec<Zeroizing<Vec<u8>>> =
            files.iter().map(read).collect::<Result<_, LoadError>>()?;
        let parts: Vec<&[u8]> = contents.iter().map(|contents| &contents[..]).collect();
        Ok(Fingerprint::over("weir fabric file", &parts))
    }

    /// Reads the text of a file; `path` is for messages. Files that it names are read by the caller, who
    /// knows where they are and whether others may read them.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(
        path: &Path,
        text: &str,
        read_secret: &mut ReadSecret<'_>,
    ) -> Result<FabricFile, ConfigError> {
        document::parse(path, text, read_secret)
    }
}

fn text_of(path: &Path, allow_insecure_permissions: bool) -> Result<Zeroizing<String>, String> {
    let file = File::open(path).map_err(|error| format!("cannot open: {error}"))?;
    if !allow_insecure_permissions {
        weir_secret::check_permissions(&file, path)?;
    }
    let contents = weir_secret::read_secret(file, LONGEST_FILE_BYTES);
    let contents = contents.map_err(|error| format!("cannot read: {error}"))?;
    match std::str::from_utf8(&contents) {
        Ok(text) => Ok(Zeroizing::new(text.to_owned())),
        Err(error) => Err(format!("byte {}: is not UTF-8", error.valid_up_to())),
    }
}

impl Direction {
    fn new(flow: Flow, secret: Secret, random: SessionRandom) -> Direction {
        Direction {
            flow,
            secret,
            random,
        }
    }

    /// The keys of its sender.
    pub fn keys(&self) -> SenderKeys {
        let Flow {
            sender, receiver, ..
        } = self.flow;
        SenderKeys::derive(&self.secret, self.random, sender, receiver)
    }

    /// Who sends, and who receives.
    pub fn ends(&self) -> [Endpoint; 2] {
        [self.flow.sender, self.flow.receiver]
    }
}

impl fmt::Debug for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direction")
            .field("flow", &self.flow)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for QueuePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuePair")
            .field("name", &self.name)
            .field("outbound", &self.outbound)
            .field("inbound", &self.inbound)
            .finish()
    }
}

#[cfg(test)]
mod tests;
