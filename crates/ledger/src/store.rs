//! The files of a ledger: loading, locking and committing.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::place::{self, GENERATION, SLOTS, system};
use super::slot::{COPY_BYTES, Codec, Entry, Kind, Pair, Progress};
use super::{Fingerprint, KeyIdentity, LedgerError};

mod header;
mod locks;
mod witness;

use header::Header;
pub use header::PAGE_BYTES;
pub use witness::Witness;

/// A ledger that this process has opened, with a lock on each of its keys.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    slots: File,
    generation: File,
    codec: Codec,
    id: [u8; 16],
    keys: Vec<Key>,
    /// The newest commit that was seen.
    newest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    kind: Kind,
    fingerprint: Fingerprint,
    slot: u32,
    /// Whether it may still be written: this process has its lock.
    is_held: bool,
}

/// Slots of a group, which is a page of copies A and a page of copies B: no
/// write that is torn inside of a page reaches both copies of a slot.
const GROUP_SLOTS: u64 = PAGE_BYTES / COPY_BYTES as u64;

/// The most slots of a ledger: 512 MiB. Reading and writing stop at the same.
pub const CAPACITY: u64 = 1 << 22;

/// Groups that are read at a time.
const GROUPS_AT_A_TIME: u64 = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CopyOf {
    A,
    B,
}

/// What a ledger says about the keys that were looked for.
struct Found {
    /// Slot and progress of each; `None` where it is unknown.
    keys: Vec<Option<(u32, Progress)>>,
    /// How many slots are in use.
    slots: u64,
    /// The newest generation among them.
    newest: u64,
}

impl Store {
    /// Opens the ledger at `path` and locks the keys `wanted`, which are all
    /// different. Those that it does not know are added where they may be, and
    /// with them a ledger that is missing. Beside the store, how far each key has
    /// come.
    ///
    /// # Errors
    /// Why the ledger cannot be relied on, or a key cannot be used; nothing was
    /// added then.
    pub fn open(
        path: &Path,
        wanted: &[KeyIdentity],
    ) -> Result<(Store, Vec<Progress>), LedgerError> {
        let mut different = HashSet::with_capacity(wanted.len());
        if let Some(key) =
            (wanted.iter()).find(|key| !different.insert((key.kind, key.fingerprint)))
        {
            return Err(in_use(path, key));
        }
        let refused = wanted.iter().find(|key| !key.may_be_new);
        let missing = |key: &KeyIdentity| LedgerError::Missing {
            path: path.into(),
            owner: key.owner.clone(),
        };
        if !place::exists(path)? {
            refused.map_or(Ok(()), |key| Err(missing(key)))?;
            place::create_directory(path)?;
            place::exists(path)?;
        }
        let (slots_path, generation_path) = (path.join(SLOTS), path.join(GENERATION));
        let generation = match place::open(&generation_path)? {
            Some(file) => file,
            None if slots_path.symlink_metadata().is_ok() => {
                return Err(LedgerError::Unwitnessed { path: path.into() });
            }
            None => {
                refused.map_or(Ok(()), |key| Err(missing(key)))?;
                place::open_or_create(&generation_path)?
            }
        };
        generation
            .lock()
            .map_err(system(&generation_path, "cannot lock"))?;
        let opened = Store::open_locked(path, generation, wanted)?;
        opened.0.unlock()?;
        Ok(opened)
    }

    /// The rest of [`open`](Store::open), while nobody else commits.
    fn open_locked(
        path: &Path,
        generation: File,
        wanted: &[KeyIdentity],
    ) -> Result<(Store, Vec<Progress>), LedgerError> {
        let slots_path = path.join(SLOTS);
        let mut witness = Witness::read(&generation, path)?;
        let slots = match (place::open(&slots_path)?, &witness) {
            (Some(slots), _) => slots,
            (None, Some(_)) => return Err(LedgerError::Lost { path: path.into() }),
            (None, None) => {
                if let Some(key) = wanted.iter().find(|key| !key.may_be_new) {
                    return Err(LedgerError::Missing {
                        path: path.into(),
                        owner: key.owner.clone(),
                    });
                }
                header::create(path)?
            }
        };
        let Header { id } = Header::read(&slots, path)?;
        if witness.is_none() && slots_bytes(&slots, path)? == PAGE_BYTES {
            // Its creation was cut short, or ends here.
            let first = Witness {
                id,
                generation: 0,
                slots: 0,
            };
            first.write(&generation, path)?;
            witness = Some(first);
        }
        let Some(witness) = witness else {
            return Err(LedgerError::Unwitnessed { path: path.into() });
        };
        if witness.id != id {
            return Err(LedgerError::Copied { path: path.into() });
        }
        let mut store = Store {
            path: path.into(),
            codec: Codec::new(&id),
            slots,
            generation,
            id,
            keys: Vec::with_capacity(wanted.len()),
            newest: witness.generation,
        };
        let found = store.look_for(wanted, &witness)?;
        let progress = store.take_keys(wanted, &found)?;
        Ok((store, progress))
    }

    /// Locks the keys that were found and adds the others.
    fn take_keys(
        &mut self,
        wanted: &[KeyIdentity],
        found: &Found,
    ) -> Result<Vec<Progress>, LedgerError> {
        let mut slots = found.slots;
        let mut progress = Vec::with_capacity(wanted.len());
        let mut new = Vec::new();
        for (number, (key, known)) in (0..).zip(wanted.iter().zip(&found.keys)) {
            let slot = match known {
                Some((slot, _)) => *slot,
                None if key.may_be_new => {
                    slots += 1;
                    new.push((number, Progress::UNUSED));
                    // Checked against the capacity below.
                    (slots - 1) as u32
                }
                None => {
                    return Err(LedgerError::UnknownKey {
                        path: self.path.clone(),
                        owner: key.owner.clone(),
                        fingerprint: key.fingerprint,
                    });
                }
            };
            self.keys.push(Key {
                kind: key.kind,
                fingerprint: key.fingerprint,
                slot,
                is_held: true,
            });
            progress.push(known.map_or(Progress::UNUSED, |(_, progress)| progress));
        }
        room(&self.path, slots)?;
        self.lock_keys(wanted)?;
        if !new.is_empty() {
            let bytes = PAGE_BYTES + slots.div_ceil(GROUP_SLOTS) * 2 * PAGE_BYTES;
            if slots_bytes(&self.slots, &self.path)? < bytes {
                let extended = self.slots.set_len(bytes);
                extended.map_err(system(&self.path.join(SLOTS), "cannot extend"))?;
            }
            self.write(&new, slots)?;
        }
        Ok(progress)
    }

    fn lock_keys(&self, wanted: &[KeyIdentity]) -> Result<(), LedgerError> {
        let slots: Vec<u32> = self.keys.iter().map(|key| key.slot).collect();
        let Some(held) = locks::take(&self.slots, &slots)
            .map_err(system(&self.path.join(SLOTS), "cannot lock"))?
        else {
            return Ok(());
        };
        let number = slots.iter().position(|slot| *slot == held).unwrap_or(0);
        match wanted.get(number) {
            Some(key) => Err(in_use(&self.path, key)),
            None => Err(LedgerError::Closed {
                path: self.path.clone(),
            }),
        }
    }

    /// Reads all slots.
    fn look_for(&self, wanted: &[KeyIdentity], witness: &Witness) -> Result<Found, LedgerError> {
        let damaged = |what: String| LedgerError::Damaged {
            path: self.path.clone(),
            what,
        };
        let by_key: HashMap<(Kind, Fingerprint), usize> = wanted
            .iter()
            .enumerate()
            .map(|(number, key)| ((key.kind, key.fingerprint), number))
            .collect();
        let mut found = Found {
            keys: vec![None; wanted.len()],
            slots: witness.slots,
            newest: 0,
        };
        let groups = (slots_bytes(&self.slots, &self.path)? - PAGE_BYTES) / (2 * PAGE_BYTES);
        if groups * GROUP_SLOTS < witness.slots || witness.slots > CAPACITY {
            return Err(damaged(format!(
                "{} slots were written, and the file holds {}",
                witness.slots,
                groups * GROUP_SLOTS
            )));
        }
        let mut buffer = vec![0; (GROUPS_AT_A_TIME * 2 * PAGE_BYTES) as usize];
        for first in (0..groups.min(CAPACITY / GROUP_SLOTS)).step_by(GROUPS_AT_A_TIME as usize) {
            let count = GROUPS_AT_A_TIME.min(groups - first);
            let pages = &mut buffer[..(count * 2 * PAGE_BYTES) as usize];
            self.slots
                .read_exact_at(pages, PAGE_BYTES + first * 2 * PAGE_BYTES)
                .map_err(system(&self.path.join(SLOTS), "cannot read"))?;
            let (groups, _) = pages.as_chunks::<{ 2 * PAGE_BYTES as usize }>();
            for (group, pages) in (first..).zip(groups) {
                let (a, b) = pages.split_at(PAGE_BYTES as usize);
                let copies = (a.as_chunks().0.iter()).zip(b.as_chunks().0);
                for (slot, (a, b)) in (group * GROUP_SLOTS..).zip(copies) {
                    let index = slot as u32;
                    let entry = match self.codec.decode_pair(index, a, b) {
                        Pair::Entry(entry) => entry,
                        Pair::Unused if slot >= witness.slots => continue,
                        Pair::Unused | Pair::Damaged => {
                            return Err(damaged(format!("no copy of slot {slot} is whole")));
                        }
                    };
                    found.slots = found.slots.max(slot + 1);
                    found.newest = found.newest.max(entry.generation);
                    let key = by_key.get(&(entry.kind, entry.fingerprint));
                    let Some(known) = key.and_then(|number| found.keys.get_mut(*number)) else {
                        continue;
                    };
                    if known.replace((index, entry.progress)).is_some() {
                        return Err(damaged(format!("key {} has two slots", entry.fingerprint)));
                    }
                }
            }
        }
        if found.newest < witness.generation {
            return Err(LedgerError::Stale {
                path: self.path.clone(),
                found: found.newest,
                newest: witness.generation,
            });
        }
        Ok(found)
    }

    /// Which ledger it is.
    pub fn id(&self) -> &[u8; 16] {
        &self.id
    }

    /// The slots of the keys, in the order of opening.
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(|key| key.slot)
    }

    /// Writes down how far keys, by their number, have come, or may come until
    /// the next commit. When this returns `Ok`, a crash does not undo it.
    ///
    /// # Errors
    /// The files could not be written, or are no longer what they were. What was
    /// to be reserved must not be used.
    pub fn commit(&mut self, updates: &[(u32, Progress)]) -> Result<(), LedgerError> {
        let lock = self.generation.lock();
        lock.map_err(system(&self.path.join(GENERATION), "cannot lock"))?;
        let written = self.commit_locked(updates);
        self.unlock()?;
        written
    }

    /// Gives up keys, by their number: another opening of the ledger may use them.
    ///
    /// # Errors
    /// Their locks stay until the ledger is closed.
    pub fn release(&mut self, numbers: &[u32]) -> Result<(), LedgerError> {
        let mut slots = Vec::with_capacity(numbers.len());
        for number in numbers {
            if let Some(key) = self.keys.get_mut(*number as usize)
                && std::mem::take(&mut key.is_held)
            {
                slots.push(key.slot);
            }
        }
        locks::give_back(&self.slots, &slots)
            .map_err(system(&self.path.join(SLOTS), "cannot unlock"))
    }

    fn commit_locked(&mut self, updates: &[(u32, Progress)]) -> Result<(), LedgerError> {
        let is_in_place = place::is_in_place(&self.path.join(SLOTS), &self.slots)
            && place::is_in_place(&self.path.join(GENERATION), &self.generation);
        let Some(witness) = Witness::read(&self.generation, &self.path)?.filter(|_| is_in_place)
        else {
            return Err(LedgerError::Lost {
                path: self.path.clone(),
            });
        };
        if witness.id != self.id || witness.generation < self.newest {
            return Err(LedgerError::Stale {
                path: self.path.clone(),
                found: witness.generation,
                newest: self.newest,
            });
        }
        self.newest = witness.generation;
        self.write(updates, witness.slots)
    }

    /// The commit itself: copies A, then copies B and the witness. `slots` is how
    /// many are in use afterwards.
    fn write(&mut self, updates: &[(u32, Progress)], slots: u64) -> Result<(), LedgerError> {
        let generation = self.newest + 1;
        let mut copies: Vec<(u32, [u8; COPY_BYTES])> = Vec::with_capacity(updates.len());
        for (number, progress) in updates {
            let key = self.keys.get(*number as usize);
            let Some(key) = key.filter(|key| key.is_held) else {
                return Err(LedgerError::Closed {
                    path: self.path.clone(),
                });
            };
            let entry = Entry {
                kind: key.kind,
                fingerprint: key.fingerprint,
                progress: *progress,
                generation,
            };
            copies.push((key.slot, self.codec.encode(key.slot, &entry)));
        }
        copies.sort_unstable_by_key(|(slot, _)| *slot);
        let witness = Witness {
            id: self.id,
            generation,
            slots,
        };
        self.write_copies(CopyOf::A, &copies)
            .and_then(|()| self.slots.sync_data())
            .and_then(|()| self.write_copies(CopyOf::B, &copies))
            .map_err(system(&self.path.join(SLOTS), "cannot write"))?;
        witness.write_unsynced(&self.generation, &self.path)?;
        self.slots
            .sync_data()
            .map_err(system(&self.path.join(SLOTS), "cannot write"))?;
        self.generation
            .sync_data()
            .map_err(system(&self.path.join(GENERATION), "cannot write"))?;
        self.newest = generation;
        Ok(())
    }

    /// Writes one copy of each slot, neighbours of a page in one go.
    fn write_copies(
        &self,
        which: CopyOf,
        copies: &[(u32, [u8; COPY_BYTES])],
    ) -> std::io::Result<()> {
        let is_neighbour = |one: &u32, next: &u32| {
            one + 1 == *next && !u64::from(*next).is_multiple_of(GROUP_SLOTS)
        };
        let mut run = Vec::with_capacity(PAGE_BYTES as usize);
        for slots in copies.chunk_by(|(one, _), (next, _)| is_neighbour(one, next)) {
            let Some((first, _)) = slots.first() else {
                continue;
            };
            run.clear();
            run.extend(slots.iter().flat_map(|(_, copy)| copy));
            self.slots.write_all_at(&run, offset(*first, which))?;
        }
        Ok(())
    }

    fn unlock(&self) -> Result<(), LedgerError> {
        let unlocked = self.generation.unlock();
        unlocked.map_err(system(&self.path.join(GENERATION), "cannot unlock"))
    }
}

/// Whether the ledger at `path` could be opened for the keys `wanted`, but for
/// those in use now. Nothing is written.
///
/// # Errors
/// As [`Ledger::open`](super::Ledger::open).
pub fn check(path: &Path, wanted: &[KeyIdentity]) -> Result<(), LedgerError> {
    let refused = wanted.iter().find(|key| !key.may_be_new);
    let missing = || match refused {
        Some(key) => Err(LedgerError::Missing {
            path: path.into(),
            owner: key.owner.clone(),
        }),
        None => Ok(()),
    };
    if !place::exists(path)? {
        return missing();
    }
    let Some(generation) = place::open(&path.join(GENERATION))? else {
        return match path.join(SLOTS).symlink_metadata() {
            Ok(_) => Err(LedgerError::Unwitnessed { path: path.into() }),
            Err(_) => missing(),
        };
    };
    generation
        .lock()
        .map_err(system(&path.join(GENERATION), "cannot lock"))?;
    let witness = Witness::read(&generation, path)?;
    let (slots, witness) = match (place::open(&path.join(SLOTS))?, witness) {
        (None, None) => return missing(),
        (None, Some(_)) => return Err(LedgerError::Lost { path: path.into() }),
        (Some(slots), None) if slots_bytes(&slots, path)? == PAGE_BYTES => return missing(),
        (Some(_), None) => return Err(LedgerError::Unwitnessed { path: path.into() }),
        (Some(slots), Some(witness)) => (slots, witness),
    };
    let Header { id } = Header::read(&slots, path)?;
    if witness.id != id {
        return Err(LedgerError::Copied { path: path.into() });
    }
    let store = Store {
        path: path.into(),
        codec: Codec::new(&id),
        slots,
        generation,
        id,
        keys: Vec::new(),
        newest: witness.generation,
    };
    let found = store.look_for(wanted, &witness)?;
    let unknown = wanted
        .iter()
        .zip(&found.keys)
        .find(|(key, known)| known.is_none() && !key.may_be_new);
    match unknown {
        Some((key, _)) => Err(LedgerError::UnknownKey {
            path: path.into(),
            owner: key.owner.clone(),
            fingerprint: key.fingerprint,
        }),
        None => Ok(()),
    }
}

/// Whether a ledger may have `slots` slots.
pub fn room(path: &Path, slots: u64) -> Result<(), LedgerError> {
    match slots <= CAPACITY {
        true => Ok(()),
        false => Err(LedgerError::Full {
            path: path.into(),
            capacity: CAPACITY,
            wanted: slots,
        }),
    }
}

fn in_use(path: &Path, key: &KeyIdentity) -> LedgerError {
    LedgerError::InUse {
        path: path.into(),
        owner: key.owner.clone(),
        fingerprint: key.fingerprint,
    }
}

/// Where a copy of a slot lies.
fn offset(slot: u32, which: CopyOf) -> u64 {
    let (group, position) = (u64::from(slot) / GROUP_SLOTS, u64::from(slot) % GROUP_SLOTS);
    let page = PAGE_BYTES + group * 2 * PAGE_BYTES;
    let copies = match which {
        CopyOf::A => page,
        CopyOf::B => page + PAGE_BYTES,
    };
    copies + position * COPY_BYTES as u64
}

/// Bytes of the slots file, of which the header is always there.
fn slots_bytes(slots: &File, path: &Path) -> Result<u64, LedgerError> {
    let found = slots.metadata();
    let found = found.map_err(system(&path.join(SLOTS), "cannot look at it"))?;
    if found.size() < PAGE_BYTES {
        return Err(LedgerError::Damaged {
            path: path.into(),
            what: "slots has no whole header".into(),
        });
    }
    Ok(found.size())
}
