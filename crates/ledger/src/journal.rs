//! Windows that come and go while a process runs: a table whose changes are appended to a file.
//!
//! The ledger has a key for each table, which counts how often the table was opened: a table that is
//! missing or older than its last opening is noticed, and no two processes have one at a time.
//!
//! ```text
//!  block of 80 bytes: magic, id of the ledger, number of the opening, checksum
//!  for each change:   a block with its number, how many entries it has, checksum over all
//!                     a block for each entry: key, value, whether it is there
//! ```
//!
//! A change that a crash cut short is none. Where the file has grown to twice its table, it is written
//! anew beside itself and takes its own place.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};

use super::place::{self, system};
use super::service::{Ledger, Response};
use super::{KeyIdentity, LedgerError, Progress};

/// What an entry stands under.
pub type JournalKey = [u8; 48];
/// What an entry says.
pub type JournalValue = [u64; 3];

/// An open table. Its changes are written by a thread, for packet paths that never wait for a disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    /// Holds the lock on the table.
    _ledger: Arc<Ledger>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// With all changes, also those that are not written yet.
    table: HashMap<JournalKey, JournalValue>,
    unwritten: HashMap<JournalKey, Option<JournalValue>>,
    /// The number of the last change, of the last one that a crash does not undo, and of the last one
    /// that could not be written, with the reason.
    requested: u64,
    written: u64,
    failed: Option<(u64, Arc<LedgerError>)>,
    has_ended: bool,
}

const MAGIC: &[u8; 16] = b"weir journal 1\0\0";
const BLOCK_BYTES: usize = 80;
const KEY_BYTES: usize = size_of::<JournalKey>();
const CHECKSUM_AT: usize = 64;
const CHECKSUM_BYTES: usize = 16;

/// Entries of a change in the file; larger ones are several.
const ENTRIES_MAX: usize = 4096;

/// How much longer than twice its table a file may be.
const SPARE_BYTES: u64 = 1 << 20;

impl Journal {
    /// Opens the table of a key in the ledger at `path`. An unknown one is empty.
    ///
    /// # Errors
    /// The ledger or the table cannot be relied on, or another process has the table.
    pub fn open(path: &Path, key: &KeyIdentity) -> Result<Journal, LedgerError> {
        let (ledger, progress) = Ledger::open(path, std::slice::from_ref(key), |_, _| None)?;
        let known = progress.first().map_or(1, |opened| opened.next_sequence);
        let name = format!("journal-{}", key.fingerprint);
        let damaged = |what: String| LedgerError::Damaged {
            path: path.into(),
            what,
        };
        let mut file = JournalFile {
            directory: path.into(),
            path: path.join(&name),
            ledger_id: *ledger.id(),
            opening: known,
            file: None,
            bytes: 0,
            changes: 0,
        };
        let table = match place::open(&file.path)? {
            None if known == Progress::UNUSED.next_sequence => HashMap::new(),
            None => return Err(damaged(format!("{name} is gone, although it was written"))),
            Some(found) => {
                let (opening, table) = file.read(found)?;
                if opening < known {
                    let what = format!("{name} is of opening {opening}, and {known} was written");
                    return Err(damaged(what));
                }
                file.opening = opening;
                table
            }
        };
        file.opening += 1;
        file.write_anew(&table)?;
        let opened = Progress {
            next_sequence: file.opening,
            bytes: 0,
        };
        ledger.request(vec![(0, opened)], true);
        if let Response::Failed(error) = ledger.wait(0) {
            return Err(LedgerError::Commit(error));
        }
        let journal_path = file.path.clone();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                table,
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        let for_writer = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("journal".into())
            .spawn(move || write(file, &for_writer))
            .map_err(system(path, "cannot start its thread"))?;
        Ok(Journal {
            path: journal_path,
            shared,
            writer: Some(writer),
            _ledger: ledger,
        })
    }

    /// The table with all changes.
    pub fn entries(&self) -> Vec<(JournalKey, JournalValue)> {
        let state = self.shared.lock();
        state
            .table
            .iter()
            .map(|(key, value)| (*key, *value))
            .collect()
    }

    /// Changes entries, or removes those without a value; returns the number of the change. What a
    /// crash leaves has all changes up to some number, and no part of one with up to 4,096 entries.
    pub fn put(
        &self,
        entries: impl IntoIterator<Item = (JournalKey, Option<JournalValue>)>,
    ) -> u64 {
        let mut state = self.shared.lock();
        let mut is_changed = false;
        for (key, value) in entries {
            is_changed = true;
            match value {
                Some(value) => state.table.insert(key, value),
                None => state.table.remove(&key),
            };
            state.unwritten.insert(key, value);
        }
        if is_changed {
            state.requested += 1;
            self.shared.changed.notify_all();
        }
        state.requested
    }

    /// Whether a crash does not undo a change any more.
    ///
    /// # Errors
    /// It could not be written. The next change that can be written takes it along.
    pub fn is_written(&self, change: u64) -> Result<bool, Arc<LedgerError>> {
        self.outcome(&self.shared.lock(), change)
    }

    /// Waits until a change is written.
    ///
    /// # Errors
    /// As [`is_written`](Journal::is_written).
    pub fn wait(&self, change: u64) -> Result<(), Arc<LedgerError>> {
        let mut state = self.shared.lock();
        while !self.outcome(&state, change)? {
            let waited = self.shared.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn outcome(&self, state: &State, change: u64) -> Result<bool, Arc<LedgerError>> {
        match &state.failed {
            _ if state.written >= change => Ok(true),
            Some((failed, error)) if *failed >= change => Err(Arc::clone(error)),
            _ if state.has_ended => Err(Arc::new(LedgerError::Closed {
                path: self.path.clone(),
            })),
            _ => Ok(false),
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.shared.lock().has_ended = true;
        self.shared.changed.notify_all();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes changes until the table is closed and all are written.
fn write(mut file: JournalFile, shared: &Shared) {
    // However this ends, nobody waits for it.
    struct Ended<'s>(&'s Shared);
    impl Drop for Ended<'_> {
        fn drop(&mut self) {
            self.0.lock().has_ended = true;
            self.0.changed.notify_all();
        }
    }
    let _ended = Ended(shared);
    let mut state = shared.lock();
    loop {
        if state.unwritten.is_empty() {
            if state.has_ended {
                return;
            }
            let waited = shared.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        let change = state.requested;
        let entries = std::mem::take(&mut state.unwritten);
        let anew = file
            .should_be_anew(state.table.len())
            .then(|| state.table.clone());
        drop(state);
        let written = match &anew {
            Some(table) => file.write_anew(table),
            None => file.append(entries),
        };
        state = shared.lock();
        match written {
            Ok(()) => {
                state.written = change;
                state.failed = None;
            }
            Err(error) => state.failed = Some((change, Arc::new(error))),
        }
        shared.changed.notify_all();
    }
}

/// The file of a table.
struct JournalFile {
    directory: PathBuf,
    path: PathBuf,
    ledger_id: [u8; 16],
    opening: u64,
    /// Nothing where the last attempt to write failed: it is written anew then.
    file: Option<File>,
    bytes: u64,
    /// The number of the last change in it.
    changes: u64,
}

impl JournalFile {
    fn should_be_anew(&self, entries: usize) -> bool {
        let table_bytes = (entries * BLOCK_BYTES) as u64;
        self.file.is_none() || self.bytes > 2 * table_bytes + SPARE_BYTES
    }

    fn append(
        &mut self,
        entries: HashMap<JournalKey, Option<JournalValue>>,
    ) -> Result<(), LedgerError> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        if !place::is_in_place(&self.path, &file) {
            return Err(LedgerError::Damaged {
                path: self.path.clone(),
                what: "it is gone, although it was written".into(),
            });
        }
        let bytes = self.changes(entries.into_iter().collect());
        let written = (file.write_all_at(&bytes, self.bytes)).and_then(|()| file.sync_data());
        written.map_err(system(&self.path, "cannot write"))?;
        self.bytes += bytes.len() as u64;
        self.file = Some(file);
        Ok(())
    }

    fn write_anew(&mut self, table: &HashMap<JournalKey, JournalValue>) -> Result<(), LedgerError> {
        self.file = None;
        let mut first = [0; BLOCK_BYTES];
        first[..16].copy_from_slice(MAGIC);
        first[16..32].copy_from_slice(&self.ledger_id);
        first[32..40].copy_from_slice(&self.opening.to_be_bytes());
        let checksum = checksum(&first[..CHECKSUM_AT], &[]);
        first[CHECKSUM_AT..].copy_from_slice(&checksum);
        let entries = table.iter().map(|(key, value)| (*key, Some(*value)));
        let bytes = [&first[..], &self.changes(entries.collect())].concat();

        let beside = self.path.with_extension("new");
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(system(&beside, "cannot remove")(error));
            }
            _ => {}
        }
        let file = place::open_or_create(&beside)?;
        let written = file.write_all_at(&bytes, 0).and_then(|()| file.sync_all());
        written.map_err(system(&beside, "cannot write"))?;
        fs::rename(&beside, &self.path).map_err(system(&self.path, "cannot replace"))?;
        place::sync_directory(&self.directory)?;
        self.bytes = bytes.len() as u64;
        self.file = Some(file);
        Ok(())
    }

    /// The blocks of further changes.
    fn changes(&mut self, mut entries: Vec<(JournalKey, Option<JournalValue>)>) -> Vec<u8> {
        // What a caller wants to be first where a change is cut has a lower key.
        entries.sort_unstable_by_key(|(key, _)| *key);
        let mut bytes = Vec::with_capacity((entries.len() + 1) * BLOCK_BYTES);
        for of_change in entries.chunks(ENTRIES_MAX) {
            self.changes += 1;
            let mut first = [0; BLOCK_BYTES];
            first[..8].copy_from_slice(&self.changes.to_be_bytes());
            first[8..16].copy_from_slice(&(of_change.len() as u64).to_be_bytes());
            let start = bytes.len();
            bytes.extend_from_slice(&first);
            for (key, value) in of_change {
                bytes.extend_from_slice(key);
                for number in value.unwrap_or_default() {
                    bytes.extend_from_slice(&number.to_be_bytes());
                }
                bytes.extend_from_slice(&u64::from(value.is_some()).to_be_bytes());
            }
            let (first, rest) = bytes[start..].split_at_mut(BLOCK_BYTES);
            let checksum = checksum(&first[..CHECKSUM_AT], rest);
            first[CHECKSUM_AT..].copy_from_slice(&checksum);
        }
        bytes
    }

    /// Which opening a file is of, and its table.
    fn read(
        &mut self,
        mut found: File,
    ) -> Result<(u64, HashMap<JournalKey, JournalValue>), LedgerError> {
        let mut bytes = Vec::new();
        let read = found.read_to_end(&mut bytes);
        read.map_err(system(&self.path, "cannot read"))?;
        let damaged = |what: &str| LedgerError::Damaged {
            path: self.path.clone(),
            what: what.into(),
        };
        let (blocks, _) = bytes.as_chunks::<BLOCK_BYTES>();
        let Some((first, mut rest)) = blocks.split_first() else {
            return Err(damaged("it has no whole block"));
        };
        if first[..16] != *MAGIC || first[CHECKSUM_AT..] != checksum(&first[..CHECKSUM_AT], &[]) {
            return Err(damaged("its first block is none of a journal"));
        }
        if first[16..32] != self.ledger_id {
            return Err(LedgerError::Copied {
                path: self.path.clone(),
            });
        }
        let mut table = HashMap::new();
        while let Some((number, entries, behind)) = next_change(rest) {
            if number <= self.changes {
                return Err(damaged("a change comes twice"));
            }
            self.changes = number;
            for entry in entries {
                let mut key = [0; KEY_BYTES];
                key.copy_from_slice(&entry[..KEY_BYTES]);
                let value = [0, 1, 2].map(|at| number_at(entry, KEY_BYTES + 8 * at));
                match number_at(entry, KEY_BYTES + 24) {
                    0 => table.remove(&key),
                    _ => table.insert(key, value),
                };
            }
            rest = behind;
        }
        // A crash cuts the last change, and no other one is written behind it.
        let is_later = |(number, ..): (u64, _, _)| number > self.changes;
        if (1..rest.len()).any(|at| next_change(&rest[at..]).is_some_and(is_later)) {
            return Err(damaged("a change in its middle is damaged"));
        }
        Ok((number_at(first, 32), table))
    }
}

type Blocks<'b> = &'b [[u8; BLOCK_BYTES]];

/// The whole change at the beginning of blocks: its number, its entries, and what is behind it.
fn next_change(blocks: Blocks<'_>) -> Option<(u64, Blocks<'_>, Blocks<'_>)> {
    let (first, rest) = blocks.split_first()?;
    let count = usize::try_from(number_at(first, 8)).ok()?;
    if count > ENTRIES_MAX {
        return None;
    }
    let (entries, behind) = rest.split_at_checked(count)?;
    let checksum = checksum(&first[..CHECKSUM_AT], entries.as_flattened());
    (first[CHECKSUM_AT..] == checksum).then_some((number_at(first, 0), entries, behind))
}

fn number_at(block: &[u8; BLOCK_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at..at + 8]);
    u64::from_be_bytes(bytes)
}

fn checksum(first: &[u8], rest: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hash = Sha256::new();
    hash.update(first);
    hash.update(rest);
    let mut bytes = [0; CHECKSUM_BYTES];
    bytes.copy_from_slice(&hash.finalize()[..CHECKSUM_BYTES]);
    bytes
}

#[cfg(test)]
mod tests;
