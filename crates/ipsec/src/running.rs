//! A gateway that runs, and the SA file that takes the place of its present one.
//!
//! Associations that both files have go on: with their counters, their windows, their
//! reservations and their shard. A replacement has three steps, each of which every shard has
//! taken before the next one begins, so that no packet meets half of a configuration:
//!
//! 1. *Prepare*: stages take in the new associations and policies beside the old ones.
//! 2. *Switch*: classifiers decide by the new policies. What they decided before is still on its
//!    way, and finds its association and the policies that chose it.
//! 3. *Retire*: stages give up what is not in the new file. Before that, all packets that were
//!    classified by the old one must have left the pipeline.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::change::{Settlement, ShardChange};
use crate::config::SaFile;
use crate::databases::Databases;
use crate::error::GatewayError;
use crate::ledger::Fingerprint;
use crate::numbers::{NewKeys, Output, Sequences, Windows};
use crate::slots::MOST_SLOTS;
use crate::stage::{Protect, Unprotect};

/// The associations and policies of a gateway that runs.
pub struct Running {
    file: SaFile,
    sequences: Option<Sequences>,
    windows: Option<Windows>,
    shards: usize,
    /// Slots without an association, and since when; the oldest first.
    empty: VecDeque<(u32, Instant)>,
    capacity: u32,
}

/// A slot stays empty for so long: longer than a fragment is held that names it.
const EMPTY_AT_LEAST: Duration = Duration::from_secs(60);

/// So many slots may wait, beside as many as there are associations.
const MOST_WAITING: u32 = 1 << 16;

/// What takes the place of what, in three steps. It is dropped where the first could not be
/// taken; from then on it must be finished.
#[must_use = "nothing is replaced before its steps are taken"]
pub struct Replacement {
    /// Of each shard.
    pub prepare: Vec<ShardChange>,
    /// For the classifiers of all shards, once all have prepared.
    pub switch: Arc<Databases>,
    /// Of each shard, once all have switched and what was classified before is gone.
    pub retire: Vec<ShardChange>,
    /// What is written to the ledger, once all have retired.
    pub settle: Settlement,
}

impl Running {
    /// Starts with an SA file: its stages that protect, one per shard, where `sequences` says
    /// where their numbers come from, and those that unprotect, where `windows` says where
    /// their windows begin.
    ///
    /// # Errors
    /// As [`SaFile::protect`] and [`SaFile::unprotect`].
    pub fn start(
        file: SaFile,
        sequences: Option<Sequences>,
        windows: Option<Windows>,
        shards: usize,
    ) -> Result<(Running, Vec<Protect>, Vec<Unprotect>), GatewayError> {
        let shards = shards.max(1);
        let protect = match &sequences {
            Some(sequences) => file.protect(sequences, Output::Live, shards)?,
            None => Vec::new(),
        };
        let unprotect = match &windows {
            Some(windows) => file.unprotect(windows, shards)?,
            None => Vec::new(),
        };
        let running = Running {
            capacity: file.slots.capacity() as u32,
            file,
            sequences,
            windows,
            shards,
            empty: VecDeque::new(),
        };
        Ok((running, protect, unprotect))
    }

    /// The present SA file.
    pub fn file(&self) -> &SaFile {
        &self.file
    }

    /// Makes `file` the present one. `new_keys` are those that the ledger may learn by it.
    ///
    /// # Errors
    /// Why it cannot be; the old one stays, and nothing has changed.
    pub fn replace(
        &mut self,
        mut file: SaFile,
        new_keys: NewKeys,
    ) -> Result<Replacement, GatewayError> {
        if self.sequences.is_some() {
            file.check_outbound()?;
        }
        let kept = self.kept(&file);
        self.number(&mut file, &kept)?;
        let databases = Arc::clone(file.databases());
        let (settled, settlement) = channel();
        let mut prepare = self.no_changes();
        let mut retire = self.no_changes();
        let home =
            |databases: &Databases, slot: u32| databases.sad().home(slot) as usize % self.shards;

        if let Some(sequences) = &self.sequences {
            let new = |place: &u32| !kept.places.contains_key(place);
            let new: Vec<u32> = file.outbound.iter().copied().filter(new).collect();
            let sequences = sequences.with_new_keys(new_keys);
            for (slot, one) in file.outbound_associations(&new, &sequences, Output::Live)? {
                let change = &mut prepare[home(&databases, slot)];
                change.protect().installed.push((slot, one));
            }
        }
        if let Some(windows) = &self.windows {
            let mut new = file.inbound();
            new.retain(|place| !kept.places.contains_key(place));
            for (slot, one) in file.inbound_associations(&new, windows)? {
                let change = &mut prepare[home(&databases, slot)];
                change.unprotect().installed.push((slot, one));
            }
            for change in &mut prepare {
                change.unprotect().expected = Some(Arc::clone(&databases));
            }
        }
        // From here on nothing fails.
        for (place, before) in &kept.places {
            let (Some((now, _)), Some((then, _))) =
                (file.association(*place), self.file.association(*before))
            else {
                continue;
            };
            if now != then {
                let slot = file.slots.of(*place);
                let change = &mut prepare[home(&databases, slot)];
                if self.sequences.is_some() {
                    change.protect().amended.push((slot, Arc::clone(now)));
                }
                if self.windows.is_some() {
                    change.unprotect().amended.push((slot, Arc::clone(now)));
                }
            }
        }
        let now = Instant::now();
        for place in kept.gone {
            let slot = self.file.slots.of(place);
            let change = &mut retire[home(self.file.databases(), slot)];
            if self.sequences.is_some() {
                let protect = change.protect();
                protect.retired.push(slot);
                protect.settled = Some(settled.clone());
            }
            if self.windows.is_some() {
                let unprotect = change.unprotect();
                unprotect.retired.push(slot);
                unprotect.settled = Some(settled.clone());
            }
            self.empty.push_back((slot, now));
        }
        let taken: HashSet<u32> = file.slots.by_place().iter().copied().collect();
        self.empty.retain(|(slot, _)| !taken.contains(slot));
        self.capacity = file.slots.capacity() as u32;
        self.file = file;
        Ok(Replacement {
            prepare,
            switch: databases,
            retire,
            settle: Settlement::new(settlement),
        })
    }

    fn no_changes(&self) -> Vec<ShardChange> {
        (0..self.shards).map(|_| ShardChange::default()).collect()
    }

    /// Which associations of a file go on with those of the present one.
    fn kept(&self, file: &SaFile) -> Kept {
        let outbound: HashSet<u32> = file.outbound.iter().copied().collect();
        let outbound_before: HashSet<u32> = self.file.outbound.iter().copied().collect();
        let mut by_key: HashMap<Fingerprint, u32> = (0..self.file.associations().len() as u32)
            .filter_map(|place| Some((self.file.window_fingerprint(place)?, place)))
            .collect();
        let mut places = HashMap::new();
        for (place, now) in (0..).zip(file.associations()) {
            let key = file.window_fingerprint(place);
            let Some((key, before)) = key.and_then(|key| Some((key, *by_key.get(&key)?))) else {
                continue;
            };
            let goes_on = outbound.contains(&place) == outbound_before.contains(&before)
                && (self.file.association(before)).is_some_and(|(then, _)| now.continues(then));
            if goes_on {
                by_key.remove(&key);
                places.insert(place, before);
            }
        }
        Kept {
            places,
            gone: by_key.into_values().collect(),
        }
    }

    /// Puts the associations of a file into slots: those that are kept into their own.
    fn number(&self, file: &mut SaFile, kept: &Kept) -> Result<(), GatewayError> {
        let mut waiting = self.empty.iter().peekable();
        let mut capacity = self.capacity;
        let mut kept_homes = HashMap::new();
        let mut slots = Vec::with_capacity(file.associations().len());
        for place in 0..file.associations().len() as u32 {
            if let Some(before) = kept.places.get(&place) {
                let slot = self.file.slots.of(*before);
                kept_homes.insert(slot, self.file.databases().sad().home(slot));
                slots.push(slot);
                continue;
            }
            let reused = waiting.next_if(|(_, since)| since.elapsed() >= EMPTY_AT_LEAST);
            slots.push(match reused {
                Some((slot, _)) => *slot,
                None => {
                    capacity += 1;
                    capacity - 1
                }
            });
        }
        let most = (2 * slots.len() as u64 + u64::from(MOST_WAITING)).min(MOST_SLOTS.into());
        if u64::from(capacity) > most {
            return Err(GatewayError::TooManyReplaced {
                path: file.path.clone(),
            });
        }
        let next = (self.file.slots).next(slots, capacity as usize, kept_homes);
        file.move_to(next);
        Ok(())
    }
}

/// What becomes of the associations of the present file.
struct Kept {
    /// The places of those in the new file that go on, and where they were before.
    places: HashMap<u32, u32>,
    /// The places of those in the present file that do not.
    gone: Vec<u32>,
}

impl Sequences {
    /// The same, where a ledger may learn other keys.
    fn with_new_keys(&self, new_keys: NewKeys) -> Sequences {
        match self.clone() {
            Sequences::Ledger { path, reserve, .. } => Sequences::Ledger {
                path,
                new_keys,
                reserve,
            },
            other => other,
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("file", &self.file)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
