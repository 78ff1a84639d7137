//! The keys of what is received, and how far each has come.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_ledger::{
    Fingerprint, KeyIdentity, Kind, Ledger, LedgerError, Mark, Marks, Owner, SeenBound, Shortage,
};

use super::error::FabricError;
use super::flow_windows::FlowWindows;
use super::steering::home;
use super::{Traffic, UnprotectStage};
use crate::secure::{Direction, FabricFile, ReceiveFrom};

/// Where receivers begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Windows {
    /// At an epoch, in every run: for captures, which may be read as often as one likes.
    Epoch(u64),
    /// Where the last run ended.
    Ledger {
        /// Its directory. It is created where it is missing.
        path: PathBuf,
        /// A directory in memory that survives the process, for the highest numbers of live
        /// receivers ([`weir_ledger::default_marks`]).
        marks: Option<PathBuf>,
        /// Where packets come from.
        traffic: Traffic,
    },
}

/// What the stages of all workers receive by.
#[derive(Clone, Debug)]
pub struct ReceivingKeys {
    file: Arc<FabricFile>,
    first_epoch: u64,
    /// Of the inbound directions of the file, in its order.
    windows: Arc<[Mutex<KeptWindow>]>,
    /// Of the partitions with keys for unlisted queue pairs.
    flow_windows: Arc<[FlowWindows]>,
}

/// How far a receiver has come.
#[derive(Debug)]
pub(super) struct KeptWindow {
    /// Of requests, responses and extended mode.
    counters: [Counter; COUNTERS.len()],
}

#[derive(Debug)]
struct Counter {
    /// The lowest number that was not taken.
    next: u64,
    /// Numbers below this may be taken.
    granted: u64,
    /// Nothing where every run begins anew, and after the end.
    bound: Option<SeenBound>,
    mark: Option<Mark>,
}

/// What a receiver counts, as the domains of its entries in the ledger.
const COUNTERS: [&str; 3] = [
    "weir fabric window of requests",
    "weir fabric window of responses",
    "weir fabric window of extended mode",
];

impl ReceivingKeys {
    /// Opens what the file's receivers have come to.
    ///
    /// # Errors
    /// The ledger cannot be relied on.
    pub fn open(file: &Arc<FabricFile>, windows: &Windows) -> Result<ReceivingKeys, FabricError> {
        let unlisted = file.partitions.iter().filter_map(|partition| {
            let unlisted = partition.unlisted.as_ref()?;
            Some((&*partition.name, unlisted))
        });
        let (first_epoch, kept, flow_windows) = match windows {
            Windows::Epoch(epoch) => {
                let from = ReceiveFrom::epoch(*epoch);
                let kept = inbound(file).map(|_| KeptWindow::new_in_every_run(from));
                let of_flows =
                    unlisted.map(|(_, unlisted)| FlowWindows::new_in_every_run(unlisted));
                (*epoch, kept.collect(), of_flows.collect())
            }
            Windows::Ledger {
                path,
                marks,
                traffic,
            } => {
                let kept = open_windows(file, path, marks.as_deref(), *traffic)?;
                let of_flows = unlisted
                    .map(|(name, unlisted)| FlowWindows::open(name, unlisted, path, *traffic));
                (0, kept, of_flows.collect::<Result<Arc<_>, _>>()?)
            }
        };
        Ok(ReceivingKeys {
            file: Arc::clone(file),
            first_epoch,
            windows: kept.into_iter().map(Mutex::new).collect(),
            flow_windows,
        })
    }

    /// The stage of a worker.
    ///
    /// # Errors
    /// A flow cannot be set up.
    pub fn stage(&self, worker: usize, workers: usize) -> Result<UnprotectStage, FabricError> {
        UnprotectStage::new(self.clone(), worker, workers)
    }

    pub(super) fn file(&self) -> &FabricFile {
        &self.file
    }

    /// The lowest epoch of unlisted flows.
    pub(super) fn first_epoch(&self) -> u64 {
        self.first_epoch
    }

    /// The inbound directions that a worker has, with their names and places.
    pub(super) fn of_worker(
        &self,
        worker: usize,
        workers: usize,
    ) -> impl Iterator<Item = (usize, &str, &Direction)> {
        let all = inbound(&self.file).enumerate();
        all.filter(move |(_, (_, direction))| {
            home(direction.ends().map(|end| end.address), workers) == worker
        })
        .map(|(place, (name, direction))| (place, name, direction))
    }

    pub(super) fn window(&self, place: usize) -> Option<MutexGuard<'_, KeptWindow>> {
        let window = self.windows.get(place)?;
        Some(window.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn flow_windows(&self) -> &[FlowWindows] {
        &self.flow_windows
    }

    /// Writes down how far receivers have come, by which nothing is received any more.
    pub(super) fn settle(
        &self,
        places: impl IntoIterator<Item = usize>,
    ) -> Result<(), Arc<LedgerError>> {
        let mut settled = Vec::new();
        for place in places {
            if let Some(mut window) = self.window(place) {
                settled.extend(window.counters.iter_mut().filter_map(|counter| {
                    let highest = counter.next.saturating_sub(1);
                    Some((counter.bound.take()?, highest))
                }));
            }
        }
        SeenBound::settle(settled)
    }
}

impl KeptWindow {
    fn new_in_every_run(from: ReceiveFrom) -> KeptWindow {
        KeptWindow {
            counters: from.numbers().map(|next| Counter {
                next,
                granted: u64::MAX,
                bound: None,
                mark: None,
            }),
        }
    }

    /// Where a receiver begins.
    pub(super) fn from(&self) -> ReceiveFrom {
        ReceiveFrom::from(self.counters.each_ref().map(|counter| counter.next))
    }

    /// Notes how far a receiver has come, before its packets go on.
    ///
    /// # Errors
    /// They must not: the ledger does not say so yet.
    pub(super) fn advance(&mut self, to: ReceiveFrom) -> Result<(), Shortage> {
        let counters = self.counters.iter_mut().zip(to.numbers());
        counters
            .map(|(counter, next)| counter.advance(next))
            .fold(Ok(()), Result::and)
    }
}

impl Counter {
    fn advance(&mut self, next: u64) -> Result<(), Shortage> {
        if next <= self.next {
            return Ok(());
        }
        if next > self.granted {
            let bound = self.bound.as_mut().ok_or(Shortage::Pending)?;
            self.granted = bound.provide(next - 1)?;
        }
        self.next = next;
        if let Some(mark) = &self.mark {
            mark.set(next - 1);
        }
        Ok(())
    }
}

/// What a file receives, with the names of the queue pairs.
pub(super) fn inbound(file: &FabricFile) -> impl Iterator<Item = (&str, &Direction)> {
    let queue_pairs = file.queue_pairs.iter();
    queue_pairs.filter_map(|queue_pair| Some((&*queue_pair.name, queue_pair.inbound.as_ref()?)))
}

fn open_windows(
    file: &FabricFile,
    path: &std::path::Path,
    marks: Option<&std::path::Path>,
    traffic: Traffic,
) -> Result<Vec<KeptWindow>, LedgerError> {
    let keys: Vec<KeyIdentity> = inbound(file)
        .flat_map(|(name, direction)| {
            let identity = direction.keys().identity();
            COUNTERS.map(|domain| KeyIdentity {
                kind: Kind::ReplayWindow,
                fingerprint: Fingerprint::over(domain, &[&identity]),
                owner: Owner::new("queue_pair", name),
                // To receive needs no nonce: an unknown key has seen nothing.
                may_be_new: true,
            })
        })
        .collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let waits = traffic == Traffic::Capture;
    let (ledger, progress) = Ledger::open(path, &keys, |_, _| None)?;
    let marks = marks.filter(|_| !waits);
    let marks = marks.and_then(|directory| Marks::open(directory, ledger.id()));
    let mut counters = (0..).zip(progress).map(|(key, seen)| {
        let mark = marks.as_ref().and_then(|marks| marks.of(ledger.slot(key)?));
        let granted = seen.next_sequence;
        let (bound, highest) = SeenBound::new(&ledger, key, seen, granted, waits, mark);
        Counter {
            next: highest + 1,
            granted,
            mark: bound.mark(),
            bound: Some(bound),
        }
    });
    let windows = inbound(file).filter_map(|_| {
        let counters = [counters.next()?, counters.next()?, counters.next()?];
        Some(KeptWindow { counters })
    });
    Ok(windows.collect())
}
