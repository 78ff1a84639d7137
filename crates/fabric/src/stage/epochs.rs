//! The keys of what is sent, and the epochs that they count in.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_ledger::{
    Fingerprint, KeyIdentity, Kind, Ledger, LedgerError, NewKeys, Owner, Progress, Reservations,
    Shortage,
};

use super::error::FabricError;
use super::steering::home;
use super::{ProtectStage, Traffic};
use crate::secure::{Direction, FabricFile, Flow, FlowError, FlowId, Sender, Unlisted};

/// Where the epochs of senders come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Epochs {
    /// A ledger, in which they are reserved before they are used.
    Ledger {
        /// Its directory ([`weir_ledger::default_path`]).
        path: PathBuf,
        /// Keys that it may learn, by the names of queue pairs and partitions.
        new_keys: NewKeys,
    },
    /// The same in every run: two runs over different packets give both away. For examples and tests.
    RepeatableInsecure,
}

/// What the stages of all workers send by.
#[derive(Clone, Debug)]
pub struct SendingKeys {
    file: Arc<FabricFile>,
    /// As [`sources`] lists them.
    epochs: Arc<[Mutex<KeyEpochs>]>,
}

/// What has keys of its own to send by.
#[derive(Clone, Copy)]
pub(super) enum Source<'f> {
    QueuePair(&'f str, &'f Direction),
    /// The unlisted queue pairs of a partition.
    Partition(&'f str, &'f Unlisted),
}

/// How far the epochs of a key are reserved.
#[derive(Debug)]
struct KeyEpochs {
    origin: Origin,
    /// The lowest epoch that no stage has.
    next: u64,
}

#[derive(Debug)]
enum Origin {
    Ledger(Reservations),
    RepeatableInsecure,
    /// Nothing is sent by the key any more.
    Settled,
}

/// Reserved at a time. A crash loses what is left, and a receiver follows at most 63 epochs ahead, so
/// these are few: the epoch of a start lasts for 16 million packets.
const EPOCHS_AT_A_TIME: u64 = 2;

/// What a start takes: one that is left out, by which receivers know that the epoch before is over, and
/// those that it uses.
const EPOCHS_OF_A_START: u64 = 1 + EPOCHS_AT_A_TIME;

impl SendingKeys {
    /// Opens what the file's senders count in.
    ///
    /// # Errors
    /// The ledger cannot be relied on or does not know a key, or repeated epochs would go to a network.
    pub fn open(
        file: &Arc<FabricFile>,
        epochs: &Epochs,
        traffic: Traffic,
    ) -> Result<SendingKeys, FabricError> {
        let epochs = match epochs {
            Epochs::RepeatableInsecure if traffic == Traffic::Live => {
                return Err(FabricError::RepeatableLive);
            }
            Epochs::RepeatableInsecure => {
                let repeatable = |_| KeyEpochs {
                    origin: Origin::RepeatableInsecure,
                    next: Progress::UNUSED.next_sequence,
                };
                sources(file).map(repeatable).collect()
            }
            Epochs::Ledger { path, new_keys } => {
                let keys = identities(file, new_keys)?;
                match keys.is_empty() {
                    true => Vec::new(),
                    false => reserve(path, &keys, traffic)?,
                }
            }
        };
        Ok(SendingKeys {
            file: Arc::clone(file),
            epochs: epochs.into_iter().map(Mutex::new).collect(),
        })
    }

    /// Whether [`open`](SendingKeys::open) could open the ledger at `path` now, but for keys that are
    /// in use. Nothing is written.
    ///
    /// # Errors
    /// As there.
    pub fn check(file: &FabricFile, path: &Path, new_keys: &NewKeys) -> Result<(), FabricError> {
        let keys = identities(file, new_keys)?;
        match keys.is_empty() {
            true => Ok(()),
            false => Ok(weir_ledger::check(path, &keys)?),
        }
    }

    /// The stage of a worker.
    pub fn stage(&self, worker: usize, workers: usize) -> ProtectStage {
        ProtectStage::new(self.clone(), worker, workers)
    }

    pub(super) fn file(&self) -> &FabricFile {
        &self.file
    }

    /// The places of the keys that a worker has. Unlisted queue pairs may be at every address: each
    /// worker has keys of theirs, for those that it is home of.
    pub(super) fn places(&self, worker: usize, workers: usize) -> Vec<usize> {
        let is_here = |source: &Source<'_>| match source {
            Source::QueuePair(_, direction) => {
                home(direction.ends().map(|end| end.address), workers) == worker
            }
            Source::Partition(..) => true,
        };
        (sources(&self.file).enumerate())
            .filter(|(_, source)| is_here(source))
            .map(|(place, _)| place)
            .collect()
    }

    fn lock(&self, place: usize) -> Option<MutexGuard<'_, KeyEpochs>> {
        let epochs = self.epochs.get(place)?;
        Some(epochs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Epochs for a start of the sender, or of a queue pair that is set up again.
    pub(super) fn begin(&self, place: usize) -> Result<Range<u64>, Shortage> {
        match self.lock(place) {
            Some(mut epochs) => epochs.begin(),
            None => Err(Shortage::Pending),
        }
    }

    /// More epochs for a sender that has none left behind `newest`: where they end.
    pub(super) fn extend(&self, place: usize, newest: u64) -> Result<u64, Shortage> {
        match self.lock(place) {
            Some(mut epochs) => epochs.extend(newest),
            None => Err(Shortage::Pending),
        }
    }

    /// Writes down the newest epoch of keys that nothing is sent by any more. Those of partitions, which
    /// several workers have, stay used up as far as they are reserved.
    pub(super) fn settle(
        &self,
        newest: impl IntoIterator<Item = (usize, u64)>,
    ) -> Result<(), Arc<LedgerError>> {
        let settled = newest.into_iter().filter_map(|(place, newest)| {
            let mut epochs = self.lock(place)?;
            match std::mem::replace(&mut epochs.origin, Origin::Settled) {
                Origin::Ledger(reservations) => Some((reservations, numbers(newest + 1))),
                Origin::RepeatableInsecure | Origin::Settled => None,
            }
        });
        Reservations::settle(settled)
    }
}

impl KeyEpochs {
    fn begin(&mut self) -> Result<Range<u64>, Shortage> {
        let first = self.next + 1;
        let end = self.reserve_behind(first, first + EPOCHS_AT_A_TIME)?;
        self.next = end;
        Ok(first..end)
    }

    fn extend(&mut self, newest: u64) -> Result<u64, Shortage> {
        let end = self.reserve_behind(newest + 1, newest + 1 + EPOCHS_AT_A_TIME)?;
        self.next = self.next.max(end);
        Ok(end)
    }

    /// Reserves at least the epoch `used`; where nothing is written down, up to `end`.
    fn reserve_behind(&mut self, used: u64, end: u64) -> Result<u64, Shortage> {
        match &mut self.origin {
            Origin::Ledger(reservations) => {
                reservations.provide(numbers(used), 0)?;
                Ok(reservations.end().next_sequence)
            }
            Origin::RepeatableInsecure => Ok(end),
            Origin::Settled => Err(Shortage::Pending),
        }
    }
}

fn numbers(next_sequence: u64) -> Progress {
    Progress {
        next_sequence,
        bytes: 0,
    }
}

fn reserve(
    path: &Path,
    keys: &[KeyIdentity],
    traffic: Traffic,
) -> Result<Vec<KeyEpochs>, LedgerError> {
    let of_start = |used: Progress| numbers(used.next_sequence.saturating_add(EPOCHS_OF_A_START));
    let (ledger, progress) = Ledger::open(path, keys, |_, used| Some(of_start(used)))?;
    let waits = traffic == Traffic::Capture;
    let step = numbers(EPOCHS_AT_A_TIME);
    let epochs = (0..).zip(progress).map(|(key, used)| KeyEpochs {
        origin: Origin::Ledger(Reservations::new(&ledger, key, step, of_start(used), waits)),
        next: used.next_sequence,
    });
    Ok(epochs.collect())
}

/// Everything in a file that has keys to send by.
pub(super) fn sources(file: &FabricFile) -> impl Iterator<Item = Source<'_>> {
    let queue_pairs = file.queue_pairs.iter().filter_map(|queue_pair| {
        let outbound = queue_pair.outbound.as_ref()?;
        Some(Source::QueuePair(&queue_pair.name, outbound))
    });
    let partitions = file.partitions.iter().filter_map(|partition| {
        let unlisted = partition.unlisted.as_ref()?;
        Some(Source::Partition(&partition.name, unlisted))
    });
    queue_pairs.chain(partitions)
}

/// What the ledger must know to send by the keys of a file.
fn identities(file: &FabricFile, new_keys: &NewKeys) -> Result<Vec<KeyIdentity>, FabricError> {
    if let NewKeys::Of(names) = new_keys {
        let is_unknown = |name: &&String| sources(file).all(|source| source.name() != **name);
        if let Some(name) = names.iter().find(is_unknown) {
            return Err(FabricError::UnknownName { name: name.clone() });
        }
    }
    let identity = |source: Source<'_>| KeyIdentity {
        kind: Kind::Sealing,
        fingerprint: source.fingerprint(),
        may_be_new: new_keys.contains(source.name()),
        owner: source.owner(),
    };
    Ok(sources(file).map(identity).collect())
}

impl<'f> Source<'f> {
    pub(super) fn name(self) -> &'f str {
        match self {
            Source::QueuePair(name, _) | Source::Partition(name, _) => name,
        }
    }

    pub(super) fn owner(self) -> Owner {
        let what = match self {
            Source::QueuePair(..) => "queue_pair",
            Source::Partition(..) => "partition",
        };
        Owner::new(what, self.name())
    }

    fn fingerprint(self) -> Fingerprint {
        let identity = match self {
            Source::QueuePair(_, direction) => direction.keys().identity(),
            Source::Partition(_, unlisted) => unlisted.identity(),
        };
        Fingerprint::over("weir fabric epochs", &[&identity])
    }

    /// Gives the keys to a sender.
    pub(super) fn add_to(
        self,
        sender: &mut Sender,
        epochs: Range<u64>,
    ) -> Result<Option<FlowId>, FlowError> {
        match self {
            Source::QueuePair(_, direction) => {
                let added = sender.add(direction.flow, &direction.keys(), epochs);
                added.map(Some)
            }
            Source::Partition(_, unlisted) => {
                sender.add_unlisted(unlisted.clone(), epochs)?;
                Ok(None)
            }
        }
    }

    pub(super) fn flow(self) -> Option<Flow> {
        match self {
            Source::QueuePair(_, direction) => Some(direction.flow),
            Source::Partition(..) => None,
        }
    }
    /// How many epochs behind the newest in use its sender has.
    pub(super) fn epochs_left(self, sender: &Sender, flow: Option<FlowId>) -> u64 {
        match (self, flow) {
            (Source::Partition(_, unlisted), _) => {
                sender.unlisted_epochs_left(unlisted.partition_key)
            }
            (Source::QueuePair(..), Some(flow)) => sender.epochs_left(flow),
            (Source::QueuePair(..), None) => 0,
        }
    }

    pub(super) fn allow_until(
        self,
        sender: &mut Sender,
        flow: Option<FlowId>,
        end: u64,
    ) -> Result<(), FlowError> {
        match (self, flow) {
            (Source::Partition(_, unlisted), _) => {
                sender.allow_unlisted_epochs_until(unlisted.partition_key, end)
            }
            (Source::QueuePair(..), Some(flow)) => sender.allow_epochs_until(flow, end),
            (Source::QueuePair(..), None) => Ok(()),
        }
    }
}
