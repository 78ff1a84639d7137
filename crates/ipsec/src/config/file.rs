//! Loading an SA file.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_secret::{SecretBytes, check_permissions, read_secret};
use zeroize::Zeroizing;

use super::document::Document;
use super::error::Blame;
use super::resolve::{Resolved, resolve};
use super::{ConfigError, WiresharkKeys, wireshark};
use crate::databases::Databases;
use crate::policy::{Action, Defaults, Policy};
use crate::sa::Parameters;
use crate::slots::Slots;

/// Longer files are refused: enough for a hundred thousand associations.
const LONGEST_FILE_BYTES: u64 = 64 << 20;

/// What a loader may overlook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LoadOptions {
    /// Take the file, and those that it names, although others may read it.
    pub allow_insecure_permissions: bool,
}

/// A loaded SA file: databases, and the keys that go with them. `Debug` shows
/// no secret; keys are wiped when it is dropped.
pub struct SaFile {
    pub(crate) path: PathBuf,
    pub(crate) databases: Arc<Databases>,
    /// Where the associations are in the stages.
    pub(crate) slots: Slots,
    pub(super) policies: Vec<Policy>,
    pub(super) defaults: Defaults,
    pub(crate) secrets: Vec<Secrets>,
    /// Places of the associations that outbound policies name.
    pub(crate) outbound: Vec<u32>,
    pub(crate) legacy_encrypt: bool,
    pub(super) permits: Permits,
    pub(super) insecure_example: bool,
    pub(super) key_files: Vec<PathBuf>,
    pub(super) warnings: Vec<String>,
}

/// Suites that the file allows, of those that are not for everybody.
#[derive(Clone, Copy)]
pub(super) struct Permits {
    pub legacy: bool,
    pub private_use: bool,
}

impl Permits {
    fn of(document: &Document) -> Permits {
        Permits {
            legacy: document.allow_legacy,
            private_use: document.allow_private_use,
        }
    }
}

/// The keys of one association.
#[derive(Clone)]
pub(crate) struct Secrets {
    /// The cipher's key and the salt behind it.
    pub key: SecretBytes,
    pub integrity_key: SecretBytes,
}

impl SaFile {
    /// Loads an SA file, and the key files that it names (relative to its own
    /// place).
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn load(path: &Path, options: LoadOptions) -> Result<SaFile, ConfigError> {
        let file = open(path)?;
        let permissions = check_permissions(&file, path);
        let contents = contents_of(file, path)?;
        let text =
            std::str::from_utf8(&contents).map_err(|error| ConfigError::not_text(path, &error))?;
        let file = SaFile::read(path, text, Some(options))?;
        // Keys that their own file calls no secrets need no hiding.
        if !options.allow_insecure_permissions && !file.insecure_example {
            permissions.map_err(|message| fail(path, message))?;
        }
        Ok(file)
    }

    /// The text of a file with keys, for [`Running::add`](crate::Running::add): from the file at
    /// `path`, or from one that is open and has this name. It is wiped when it is dropped.
    ///
    /// # Errors
    /// It cannot be read, or others may read it too.
    pub fn text(
        path: &Path,
        opened: Option<File>,
        options: LoadOptions,
    ) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
        let file = opened.map_or_else(|| open(path), Ok)?;
        if !options.allow_insecure_permissions {
            check_permissions(&file, path).map_err(|message| fail(path, message))?;
        }
        contents_of(file, path)
    }

    /// Reads the text of an SA file that names no key files and no
    /// descriptors. `path` is for messages.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(path: &Path, text: &str) -> Result<SaFile, ConfigError> {
        SaFile::read(path, text, None)
    }

    fn read(path: &Path, text: &str, files: Option<LoadOptions>) -> Result<SaFile, ConfigError> {
        let blame = Blame { path, text };
        let document: Document = toml::from_str(text).map_err(|error| blame.toml(&error))?;
        let legacy_encrypt = document.legacy_encrypt;
        let permits = Permits::of(&document);
        let insecure_example = document.insecure_example;
        let key_files = document.key_files(path);
        let Resolved {
            associations,
            secrets,
            policies,
            defaults,
            mut warnings,
        } = resolve(document, blame, files)?;
        if insecure_example {
            warnings.push(format!(
                "{}: insecure_example: its keys are public and its nonces repeat",
                path.display()
            ));
        }
        let slots = Slots::first(associations.len());
        let databases = Databases::new(associations, &policies, defaults.clone(), &slots);
        Ok(SaFile {
            path: path.into(),
            insecure_example,
            key_files,
            outbound: outbound(&policies),
            databases: Arc::new(databases),
            slots,
            policies,
            defaults,
            secrets,
            legacy_encrypt,
            permits,
            warnings,
        })
    }

    /// The policies, which name associations by their places in the file.
    pub(crate) fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Puts the associations into other slots.
    pub(crate) fn move_to(&mut self, slots: Slots) {
        let associations = self.associations().to_vec();
        let (policies, defaults) = (&self.policies, self.defaults.clone());
        self.databases = Arc::new(Databases::new(associations, policies, defaults, &slots));
        self.slots = slots;
    }

    /// The databases, for classifiers and steering.
    pub fn databases(&self) -> &Arc<Databases> {
        &self.databases
    }

    /// The associations, in the order of the file.
    pub fn associations(&self) -> &[Arc<Parameters>] {
        self.databases.sad().associations()
    }

    /// The files that hold its keys, by the paths that they were read from.
    pub fn key_files(&self) -> &[PathBuf] {
        &self.key_files
    }

    /// Checks that every association says whether it is inbound or outbound: a
    /// gateway, which both seals and opens, must not open what it sealed.
    ///
    /// # Errors
    /// The first that does not.
    pub fn require_directions(&self) -> Result<(), ConfigError> {
        let undirected = (self.associations().iter()).find(|one| one.direction.is_none());
        undirected.map_or(Ok(()), |parameters| {
            Err(ConfigError::File {
                path: self.path.clone(),
                message: format!(
                    "sa {:?}: direction: missing; a gateway needs direction = \"outbound\" or \
                     direction = \"inbound\"",
                    parameters.name
                ),
            })
        })
    }

    /// What a person should know before this file is used.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether the file says of itself that its keys are no secrets: it may be
    /// read by others, and protects only with
    /// [`Sequences::RepeatableInsecure`](crate::Sequences::RepeatableInsecure).
    pub fn is_insecure_example(&self) -> bool {
        self.insecure_example
    }

    /// The keys in the form that Wireshark's dissector reads. A file
    /// that holds them needs mode 0600.
    pub fn wireshark_keys(&self) -> WiresharkKeys {
        wireshark::keys(self.associations(), &self.secrets)
    }
}

fn open(path: &Path) -> Result<File, ConfigError> {
    File::open(path).map_err(|error| fail(path, format!("cannot open: {error}")))
}

fn contents_of(file: File, path: &Path) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    read_secret(file, LONGEST_FILE_BYTES)
        .map_err(|error| fail(path, format!("cannot read: {error}")))
}

fn fail(path: &Path, message: String) -> ConfigError {
    ConfigError::File {
        path: path.into(),
        message,
    }
}

/// The associations that policies seal with.
pub(super) fn outbound(policies: &[Policy]) -> Vec<u32> {
    let mut outbound: Vec<u32> = policies
        .iter()
        .filter(|policy| policy.direction.is_outbound())
        .filter_map(|policy| match &policy.action {
            Action::Protect(by) => Some(by),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    outbound.sort_unstable();
    outbound.dedup();
    outbound
}

impl fmt::Debug for SaFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaFile")
            .field("path", &self.path)
            .field("associations", &self.associations())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}
