//! Reading, locking and writing the state file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Fingerprint, KeyIdentity, StateError};
use crate::config::position;

/// How far a key has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The lowest sequence number that was never reserved.
    pub next_sequence: u64,
    /// Bytes that were protected, at most.
    pub bytes: u64,
}

impl Progress {
    /// Of a key that was never used: the first number is 1 (RFC 4303,
    /// section 2.2).
    pub const UNUSED: Progress = Progress {
        next_sequence: 1,
        bytes: 0,
    };
}

/// A state file that this process has locked.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    lock: File,
    /// Counts the writings.
    generation: u64,
    keys: BTreeMap<Fingerprint, Key>,
}

/// A key's entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    fingerprint: Fingerprint,
    /// Name and SPI under which it was last used, for people.
    association: String,
    spi: u32,
    next_sequence: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    generation: u64,
    #[serde(default, rename = "key")]
    keys: Vec<Key>,
}

const HEADING: &str = "\
# Sequence numbers that Weir has used up, per key. Whoever edits, copies or
# restores this file lets nonces repeat, which gives the traffic away.

";

/// TOML's integers are signed.
const LARGEST: u64 = i64::MAX as u64;

/// A larger file is not one of ours: it would hold half a million keys.
const LARGEST_FILE_BYTES: u64 = 64 << 20;

impl StateFile {
    /// Opens and locks the state file at `path`. `initialize` creates it where
    /// neither it nor its lock file exists; it never resets one.
    ///
    /// # Errors
    /// Why its counters cannot be relied on.
    pub fn open(path: &Path, initialize: bool) -> Result<StateFile, StateError> {
        let lock_path = beside(path, ".lock");
        let lock = match File::options().read(true).write(true).open(&lock_path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match (path.try_exists(), initialize) {
                    (Ok(false), true) => create(&lock_path)?,
                    (Ok(false), false) => return Err(StateError::Missing { path: path.into() }),
                    (Ok(true), _) => return Err(StateError::Copied { path: path.into() }),
                    (Err(error), _) => return Err(system(path, "cannot look for it")(error)),
                }
            }
            Err(error) => return Err(system(&lock_path, "cannot open")(error)),
        };
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StateError::Locked { path: path.into() });
            }
            Err(TryLockError::Error(error)) => {
                return Err(system(&lock_path, "cannot lock")(error));
            }
        }
        let newest = read_generation(&lock, &lock_path)?;
        let mut state = StateFile {
            path: path.into(),
            lock,
            generation: 0,
            keys: BTreeMap::new(),
        };
        match fs::File::open(path) {
            Ok(file) => state.read(file, newest)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match (newest, initialize) {
                (0, true) => state.write(BTreeMap::new())?,
                (0, false) => return Err(StateError::Missing { path: path.into() }),
                _ => return Err(StateError::Lost { path: path.into() }),
            },
            Err(error) => return Err(system(path, "cannot open")(error)),
        }
        Ok(state)
    }

    /// How far a key has come.
    pub fn progress(&self, fingerprint: &Fingerprint) -> Progress {
        match self.keys.get(fingerprint) {
            Some(key) => Progress {
                next_sequence: key.next_sequence,
                bytes: key.bytes,
            },
            None => Progress::UNUSED,
        }
    }

    /// Writes down how far keys have come, or may come until the next writing.
    /// When this returns `Ok`, a crash does not undo it.
    ///
    /// # Errors
    /// The file could not be written. Its entries count as unchanged, and what
    /// was to be reserved must not be used.
    pub fn record<'a>(
        &mut self,
        progress: impl IntoIterator<Item = (&'a KeyIdentity, Progress)>,
    ) -> Result<(), StateError> {
        let mut keys = self.keys.clone();
        for (identity, progress) in progress {
            if progress.next_sequence > LARGEST {
                return Err(StateError::UsedUp {
                    path: self.path.clone(),
                    association: identity.association.clone(),
                });
            }
            keys.insert(
                identity.fingerprint,
                Key {
                    fingerprint: identity.fingerprint,
                    association: identity.association.clone(),
                    spi: identity.spi,
                    next_sequence: progress.next_sequence,
                    bytes: progress.bytes.min(LARGEST),
                },
            );
        }
        self.write(keys)
    }

    fn read(&mut self, file: File, newest: u64) -> Result<(), StateError> {
        let mut text = String::new();
        file.take(LARGEST_FILE_BYTES)
            .read_to_string(&mut text)
            .map_err(system(&self.path, "cannot read"))?;
        let malformed = |span: Option<std::ops::Range<usize>>, message: String| {
            let (line, column) = position(&text, span.map_or(0, |span| span.start));
            StateError::Malformed {
                path: self.path.clone(),
                line,
                column,
                message,
            }
        };
        let document: Document = toml::from_str(&text)
            .map_err(|error| malformed(error.span(), error.message().to_owned()))?;
        for key in document.keys {
            let fingerprint = key.fingerprint;
            if key.next_sequence == 0 || self.keys.insert(fingerprint, key).is_some() {
                let message = format!("the entry of key {fingerprint} is impossible");
                return Err(malformed(None, message));
            }
        }
        self.generation = document.generation;
        if document.generation < newest {
            return Err(StateError::Stale {
                path: self.path.clone(),
                found: document.generation,
                newest,
            });
        }
        Ok(())
    }

    /// Puts the file in place, and only then takes `keys` as its contents.
    fn write(&mut self, keys: BTreeMap<Fingerprint, Key>) -> Result<(), StateError> {
        let generation = self.generation + 1;
        let document = Document {
            generation,
            keys: keys.values().cloned().collect(),
        };
        let text = toml::to_string(&document)
            .map_err(|error| system(&self.path, "cannot encode")(io::Error::other(error)))?;
        let temporary = beside(&self.path, ".tmp");
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(system(&temporary, "cannot remove")(error));
            }
            _ => {}
        }
        let mut file = create(&temporary)?;
        file.write_all(HEADING.as_bytes())
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| file.sync_all())
            .map_err(system(&temporary, "cannot write"))?;
        fs::rename(&temporary, &self.path).map_err(system(&self.path, "cannot put in place"))?;
        sync_directory(&self.path)?;
        let lock_path = beside(&self.path, ".lock");
        write_generation(&self.lock, generation).map_err(system(&lock_path, "cannot write"))?;
        self.generation = generation;
        self.keys = keys;
        Ok(())
    }
}

/// The number in the lock file; 0 where it is empty.
fn read_generation(lock: &File, path: &Path) -> Result<u64, StateError> {
    let mut text = String::new();
    lock.take(GENERATION_DIGITS as u64 + 1)
        .read_to_string(&mut text)
        .map_err(system(path, "cannot read"))?;
    let digits = text.trim_end();
    if digits.is_empty() {
        return Ok(0);
    }
    digits.parse().map_err(|_| StateError::Malformed {
        path: path.into(),
        line: 1,
        column: 1,
        message: format!("{digits:?} is not the number of a writing"),
    })
}

/// As many as `u64::MAX` has, so that a longer number never follows a shorter
/// one and the file is overwritten in place.
const GENERATION_DIGITS: usize = 20;

fn write_generation(mut lock: &File, generation: u64) -> io::Result<()> {
    lock.rewind()?;
    lock.write_all(format!("{generation:0width$}\n", width = GENERATION_DIGITS).as_bytes())?;
    lock.sync_all()
}

/// Creates a file that only its owner can read. It must not exist.
fn create(path: &Path) -> Result<File, StateError> {
    File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(system(path, "cannot create"))
}

fn sync_directory(path: &Path) -> Result<(), StateError> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(system(directory, "cannot sync"))
}

/// The path with something appended to its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn system(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::System {
        path,
        doing,
        source,
    }
}
