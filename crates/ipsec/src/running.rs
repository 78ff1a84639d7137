//! A gateway that runs, and SA files that take the place of its present one.
//!
//! Associations that both files have go on: with their counters, their windows, their
//! reservations and their shard. A replacement has three steps, each of which every shard has
//! taken before the next one begins, so that no packet meets half of a configuration:
//!
//! 1. *Prepare*: stages take in the new associations and policies beside the old ones.
//! 2. *Switch*: classifiers decide by the new policies, and associations that go on have their new
//!    parameters. What was decided before is still on its way, and finds its association and the
//!    policies that chose it.
//! 3. *Retire*: stages give up what is not in the new file. Before that, all packets that were
//!    classified by the old one must have left the pipeline.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use weir_ledger::{Fingerprint, LedgerError, NewKeys};
use weir_stream::Commands;

use crate::change::{ByShard, Collected, Command, Settlement, ShardChange};
use crate::config::{ConfigError, SaFile};
use crate::databases::{Databases, Newest};
use crate::error::GatewayError;
use crate::inbound::InboundAssociation;
use crate::numbers::{Output, Sequences, Windows};
use crate::outbound::OutboundAssociation;
use crate::policy::{Action, Policy};
use crate::report::{AssociationReport, Retired};
use crate::sa::Parameters;
use crate::slots::MOST_SLOTS;
use crate::stage::{ClassifyInbound, ClassifyOutbound, Protect, Unprotect};

mod edit;

pub use edit::{Present as PresentAssociation, Which};

/// The associations and policies of a gateway that runs, and the stages that work by them.
///
/// A worker makes its stages here, at the start and again where one of them has failed; another
/// thread replaces the SA file.
pub struct Running {
    present: Mutex<Present>,
    newest: Arc<Newest>,
    sequences: Option<Sequences>,
    windows: Option<Windows>,
    shards: usize,
    outbound: Commands<Arc<Databases>>,
    inbound: Commands<Arc<Databases>>,
    protect: Commands<Command<OutboundAssociation>>,
    unprotect: Commands<Command<InboundAssociation>>,
    /// What stages did that have finished.
    finished: Collected,
}

/// The file in force, and what became of others.
struct Present {
    file: SaFile,
    /// How often associations were added or removed since the file was read.
    edits: u64,
    /// Slots without an association, and since when; the oldest first.
    empty: VecDeque<(u32, Instant)>,
    capacity: u32,
}

/// A slot stays empty for so long: longer than a fragment is held that names it.
const EMPTY_AT_LEAST: Duration = Duration::from_secs(60);

/// So many slots may wait, beside as many as there are associations.
const MOST_WAITING: u32 = 1 << 16;

/// Commands that may wait for a stage: those of one replacement.
const MOST_COMMANDS: usize = 8;

/// How long packets that were classified are under way to the stages behind, at most, unless a
/// worker stands still.
const UNDER_WAY: Duration = Duration::from_millis(100);

/// How long a step waits for a worker that stands still.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);

/// What a replacement did.
#[derive(Clone, Debug, Default)]
pub struct Replaced {
    /// The generation of the file that is in force now.
    pub generation: u32,
    /// Associations that both files have.
    pub kept: usize,
    /// Of these, those with other parameters.
    pub amended: usize,
    /// Associations that are new.
    pub added: usize,
    /// Associations that are gone.
    pub retired: usize,
    /// Whether all workers have taken it in. One that stands still does so later.
    pub is_complete: bool,
    /// Why the ledger does not know how far retired associations came: numbers that were
    /// reserved for them are skipped.
    pub ledger_error: Option<Arc<LedgerError>>,
}

/// Why a file is not replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The new file is refused; nothing has changed.
    #[error(transparent)]
    Refused(#[from] GatewayError),
    /// A replacement is under way, or stages are being made.
    #[error("the associations are being changed at this moment: try again")]
    Busy,
    /// A worker has not taken the last replacements.
    #[error("a worker stands still and has not taken the last change: nothing has changed")]
    Stuck,
    /// What is to be added is wrong, or conflicts with what is in force; nothing has changed.
    #[error(transparent)]
    Fragment(#[from] ConfigError),
    /// What is to be removed is not in force.
    #[error("no association has {0}: nothing has changed")]
    Absent(Which),
    /// Which one is to be removed is not said.
    #[error("several associations have {0}: {1}; name one of them: nothing has changed")]
    Ambiguous(Which, String),
}

/// What takes the place of what, in three steps.
struct Replacement {
    prepare: Vec<ShardChange>,
    switch: Arc<Databases>,
    amend: Vec<ShardChange>,
    retire: Vec<ShardChange>,
    settle: Settlement,
    replaced: Replaced,
}

impl Running {
    /// Begins with an SA file, for `shards` workers. `sequences` says where the numbers of those
    /// that protect come from, `windows` where the windows of those that unprotect begin.
    pub fn new(
        file: SaFile,
        sequences: Option<Sequences>,
        windows: Option<Windows>,
        shards: usize,
    ) -> Running {
        Running {
            newest: Arc::new(Newest::new(Arc::clone(file.databases()))),
            present: Mutex::new(Present {
                capacity: file.slots.capacity() as u32,
                file,
                edits: 0,
                empty: VecDeque::new(),
            }),
            sequences,
            windows,
            shards: shards.max(1),
            outbound: Commands::new(MOST_COMMANDS),
            inbound: Commands::new(MOST_COMMANDS),
            protect: Commands::new(MOST_COMMANDS),
            unprotect: Commands::new(MOST_COMMANDS),
            finished: Collected::default(),
        }
    }

    /// A stage that classifies packets on their way out.
    ///
    /// # Errors
    /// [`ReplaceError::Busy`].
    pub fn classify_outbound(&self) -> Result<ClassifyOutbound, ReplaceError> {
        let present = self.try_lock()?;
        let databases = Arc::clone(present.file.databases());
        Ok(ClassifyOutbound::new(databases).following(&self.newest, self.outbound.subscribe()))
    }

    /// A stage that classifies packets that came in.
    ///
    /// # Errors
    /// [`ReplaceError::Busy`].
    pub fn classify_inbound(&self) -> Result<ClassifyInbound, ReplaceError> {
        let present = self.try_lock()?;
        let databases = Arc::clone(present.file.databases());
        Ok(ClassifyInbound::new(databases).following(&self.newest, self.inbound.subscribe()))
    }

    /// The stage of a worker that protects. One that it had before must be gone.
    ///
    /// # Errors
    /// As [`SaFile::protect`], or [`ReplaceError::Busy`].
    pub fn protect(&self, shard: usize) -> Result<Protect, ReplaceError> {
        let present = self.try_lock()?;
        let file = &present.file;
        let steering = self.newest.outbound_steering();
        let mailbox = self.protect.subscribe();
        let mut stage = Protect::new(steering).following(shard, mailbox, self.finished.clone());
        if let Some(sequences) = &self.sequences {
            file.check_outbound()?;
            let places = self.of_shard(file, file.outbound.iter().copied(), shard);
            let known = sequences.with_new_keys(NewKeys::NONE);
            // Keys are announced when a file is new; a stage that is made again knows them.
            let sequences = match file.databases().generation() == 0 {
                true => sequences,
                false => &known,
            };
            for (slot, one) in file.outbound_associations(&places, sequences, Output::Live)? {
                stage.install(slot, one);
            }
        }
        Ok(stage)
    }

    /// The stage of a worker that unprotects. One that it had before must be gone.
    ///
    /// # Errors
    /// As [`SaFile::unprotect`], or [`ReplaceError::Busy`].
    pub fn unprotect(&self, shard: usize) -> Result<Unprotect, ReplaceError> {
        let present = self.try_lock()?;
        let file = &present.file;
        let mailbox = self.unprotect.subscribe();
        let mut stage = Unprotect::new(Arc::clone(file.databases()));
        stage = stage.following(shard, &self.newest, mailbox, self.finished.clone());
        if let Some(windows) = &self.windows {
            let places = self.of_shard(file, file.inbound().into_iter(), shard);
            for (slot, one) in file.inbound_associations(&places, windows)? {
                stage.install(slot, one);
            }
        }
        Ok(stage)
    }

    /// The associations, in the order of the present file.
    pub fn associations(&self) -> Vec<Arc<Parameters>> {
        self.lock().file.associations().to_vec()
    }

    /// The files that hold keys of the present file, beside that itself.
    pub fn key_files(&self) -> Vec<PathBuf> {
        self.lock().file.key_files().to_vec()
    }

    /// What the associations did so far, by those of the stages that say so within a moment.
    pub fn reports(&self) -> Vec<AssociationReport> {
        Retired::default().with(self.reports_of_stages().into_iter())
    }

    /// Several for associations of one name that follow each other.
    fn reports_of_stages(&self) -> Vec<AssociationReport> {
        let collected = Collected::default();
        // Where too many commands wait, a worker stands still: its reports are missing.
        let _ = self.protect.post(Command::Report(collected.clone()));
        let _ = self.unprotect.post(Command::Report(collected.clone()));
        wait_until(|| {
            self.protect.adopted() == self.protect.latest()
                && self.unprotect.adopted() == self.unprotect.latest()
        });
        let mut reports = self.finished.get();
        reports.extend(collected.get());
        reports
    }

    /// Puts `file` in the place of the present one, and waits until the workers have taken it in:
    /// some tenths of a second. `new_keys` are those that the ledger may learn by it.
    ///
    /// `switch` is called once, and calls what it is given, which posts the second step and does not
    /// wait: other things may be changed in the same moment
    /// ([`Boundary`](weir_stream::Boundary)).
    ///
    /// # Errors
    /// Why it cannot be; the old one stays, and nothing has changed.
    pub fn replace(
        &self,
        file: SaFile,
        new_keys: NewKeys,
        switch: impl FnOnce(&mut dyn FnMut()),
    ) -> Result<Replaced, ReplaceError> {
        let mut present = self.try_lock()?;
        let replaced = self.put(&mut present, file, new_keys, switch)?;
        present.edits = 0;
        Ok(replaced)
    }

    /// Takes a file through the three steps, of which `switch` calls the second one.
    fn put(
        &self,
        present: &mut Present,
        file: SaFile,
        new_keys: NewKeys,
        switch: impl FnOnce(&mut dyn FnMut()),
    ) -> Result<Replaced, ReplaceError> {
        let adopted = [self.outbound.adopted(), self.inbound.adopted()];
        let latest = [self.outbound.latest(), self.inbound.latest()];
        let of_changes = [self.protect.adopted(), self.unprotect.adopted()];
        if adopted != latest || of_changes != [self.protect.latest(), self.unprotect.latest()] {
            return Err(ReplaceError::Stuck);
        }
        let mut replacement = self.plan(present, file, new_keys)?;
        // There is space for all of it: nothing was waiting.
        self.post_changes(std::mem::take(&mut replacement.prepare));
        let mut is_complete = self.wait_for_changes();
        switch(&mut || {
            self.newest.set(Arc::clone(&replacement.switch));
            let _ = self.outbound.post(Arc::clone(&replacement.switch));
            let _ = self.inbound.post(Arc::clone(&replacement.switch));
            self.post_changes(std::mem::take(&mut replacement.amend));
        });
        is_complete &= self.wait_for_changes();
        is_complete &= wait_until(|| {
            self.outbound.adopted() == self.outbound.latest()
                && self.inbound.adopted() == self.inbound.latest()
        });
        thread::sleep(UNDER_WAY);
        self.post_changes(replacement.retire);
        is_complete &= self.wait_for_changes();
        Ok(Replaced {
            is_complete,
            ledger_error: replacement.settle.write().err(),
            ..replacement.replaced
        })
    }

    /// Gives each worker's stages their changes.
    fn post_changes(&self, changes: Vec<ShardChange>) {
        let (protect, unprotect): (Vec<_>, Vec<_>) = changes
            .into_iter()
            .map(|change| (change.protect, change.unprotect))
            .unzip();
        if self.sequences.is_some() {
            let _ = self.protect.post(Command::Change(ByShard::new(protect)));
        }
        if self.windows.is_some() {
            let _ = self
                .unprotect
                .post(Command::Change(ByShard::new(unprotect)));
        }
    }

    /// Waits until the changes have been made. Whether they have.
    fn wait_for_changes(&self) -> bool {
        wait_until(|| {
            self.protect.adopted() == self.protect.latest()
                && self.unprotect.adopted() == self.unprotect.latest()
        })
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker that makes its stages must not wait for a replacement, which waits for it.
    fn try_lock(&self) -> Result<MutexGuard<'_, Present>, ReplaceError> {
        match self.present.try_lock() {
            Ok(present) => Ok(present),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(ReplaceError::Busy),
        }
    }

    /// Of these places of a file, those whose associations belong to a shard.
    fn of_shard(&self, file: &SaFile, places: impl Iterator<Item = u32>, shard: usize) -> Vec<u32> {
        let sad = file.databases().sad();
        let is_here = |place: &u32| sad.home(file.slots.of(*place)) as usize % self.shards == shard;
        places.filter(is_here).collect()
    }

    /// Makes `file` the present one, and says what that changes.
    fn plan(
        &self,
        present: &mut Present,
        mut file: SaFile,
        new_keys: NewKeys,
    ) -> Result<Replacement, GatewayError> {
        if self.sequences.is_some() {
            file.check_outbound()?;
        }
        let kept = present.kept(&file);
        present.number(&mut file, &kept)?;
        let databases = Arc::clone(file.databases());
        let (settled, settlement) = channel();
        let mut prepare = self.no_changes();
        let mut amend = self.no_changes();
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
        let mut replaced = Replaced {
            generation: databases.generation(),
            kept: kept.places.len(),
            added: file.associations().len() - kept.places.len(),
            retired: kept.gone.len(),
            ..Replaced::default()
        };
        for (place, before) in &kept.places {
            let (Some((now, _)), Some((then, _))) =
                (file.association(*place), present.file.association(*before))
            else {
                continue;
            };
            if now != then {
                replaced.amended += 1;
                let slot = file.slots.of(*place);
                let change = &mut amend[home(&databases, slot)];
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
            let slot = present.file.slots.of(place);
            let change = &mut retire[home(present.file.databases(), slot)];
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
            present.empty.push_back((slot, now));
        }
        let taken: HashSet<u32> = file.slots.by_place().iter().copied().collect();
        present.empty.retain(|(slot, _)| !taken.contains(slot));
        present.capacity = file.slots.capacity() as u32;
        present.file = file;
        Ok(Replacement {
            prepare,
            switch: databases,
            amend,
            retire,
            settle: Settlement::new(settlement),
            replaced,
        })
    }

    fn no_changes(&self) -> Vec<ShardChange> {
        (0..self.shards).map(|_| ShardChange::default()).collect()
    }
}

impl Present {
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
        let preferred = self.homes_of_predecessors(file, &slots);
        let next = (self.file.slots).next(slots, capacity as usize, kept_homes, preferred);
        file.move_to(next);
        Ok(())
    }
}

impl Present {
    /// By slot, the home of the association that had the same policy before: a flow whose
    /// association is replaced stays with its worker.
    fn homes_of_predecessors(&self, file: &SaFile, slots: &[u32]) -> HashMap<u32, u32> {
        let sad = self.file.databases().sad();
        let before: HashMap<_, u32> = protecting(self.file.policies())
            .filter_map(|(policy, by)| {
                let home = sad.home(self.file.slots.of(*by.first()?));
                Some(((&policy.selector, policy.direction), home))
            })
            .collect();
        protecting(file.policies())
            .filter_map(|(policy, by)| {
                let home = before.get(&(&policy.selector, policy.direction))?;
                Some(by.iter().map(|place| (place, *home)))
            })
            .flatten()
            .filter_map(|(place, home)| Some((*slots.get(*place as usize)?, home)))
            .collect()
    }
}

/// The policies that protect, and the places of their associations.
fn protecting(policies: &[Policy]) -> impl Iterator<Item = (&Policy, &[u32])> {
    policies.iter().filter_map(|policy| match &policy.action {
        Action::Protect(by) => Some((policy, by.as_slice())),
        Action::Bypass | Action::Discard => None,
    })
}

/// Waits until something holds, for a bounded time. Whether it does.
fn wait_until(holds: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + STEP_TIMEOUT;
    while !holds() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
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
            .field("file", &self.lock().file)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
