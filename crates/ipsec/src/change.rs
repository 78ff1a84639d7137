//! What changes in stages while they run.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_ledger::{LedgerError, Progress, Reservations, SeenBound};

use crate::databases::Databases;
use crate::inbound::InboundAssociation;
use crate::outbound::OutboundAssociation;
use crate::report::AssociationReport;
use crate::sa::Parameters;

/// What changes in the stages of a shard; `None` where nothing does.
#[derive(Default)]
pub(crate) struct ShardChange {
    pub protect: Option<Change<OutboundAssociation>>,
    pub unprotect: Option<Change<InboundAssociation>>,
}

/// What a stage of a gateway that runs is told.
pub(crate) enum Command<N> {
    /// To make the change of its shard.
    Change(ByShard<Change<N>>),
    /// To say what its associations did so far.
    Report(Collected),
}

impl<N> Clone for Command<N> {
    fn clone(&self) -> Command<N> {
        match self {
            Command::Change(changes) => Command::Change(changes.clone()),
            Command::Report(collected) => Command::Report(collected.clone()),
        }
    }
}

/// Where stages put what their associations did.
#[derive(Clone, Default)]
pub(crate) struct Collected(Arc<Mutex<Vec<AssociationReport>>>);

impl Collected {
    pub fn add(&self, reports: Vec<AssociationReport>) {
        self.lock().extend(reports);
    }

    pub fn get(&self) -> Vec<AssociationReport> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<AssociationReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The change of each shard, in one command for all of them.
pub(crate) struct ByShard<C>(Arc<[Mutex<Option<C>>]>);

impl<C> ByShard<C> {
    pub fn new(changes: Vec<Option<C>>) -> ByShard<C> {
        ByShard(changes.into_iter().map(Mutex::new).collect())
    }

    /// That of one shard, once.
    pub fn take(&self, shard: usize) -> Option<C> {
        let change = self.0.get(shard)?;
        change.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<C> Clone for ByShard<C> {
    fn clone(&self) -> ByShard<C> {
        ByShard(Arc::clone(&self.0))
    }
}

/// What changes in a stage whose associations are made of `N`.
pub(crate) struct Change<N> {
    /// The databases that packets will be classified by.
    pub expected: Option<Arc<Databases>>,
    pub installed: Vec<(u32, N)>,
    pub amended: Vec<(u32, Arc<Parameters>)>,
    pub retired: Vec<u32>,
    pub settled: Option<Sender<Settled>>,
}

impl<N> Default for Change<N> {
    fn default() -> Change<N> {
        Change {
            expected: None,
            installed: Vec::new(),
            amended: Vec::new(),
            retired: Vec::new(),
            settled: None,
        }
    }
}

/// How far a retired association has come.
pub(crate) enum Settled {
    Sealing(Reservations, Progress),
    Window(SeenBound, u64),
}

/// What retired associations leave to the ledger.
pub(crate) struct Settlement(Receiver<Settled>);

impl Settlement {
    pub fn new(of: Receiver<Settled>) -> Settlement {
        Settlement(of)
    }

    /// Writes to the ledger how far the retired associations have come. This waits for a disk.
    ///
    /// # Errors
    /// The ledger could not be written; what was reserved stays used up.
    pub fn write(self) -> Result<(), Arc<LedgerError>> {
        let (mut sealing, mut windows) = (Vec::new(), Vec::new());
        for settled in self.0.try_iter() {
            match settled {
                Settled::Sealing(reservations, used) => sealing.push((reservations, used)),
                Settled::Window(bound, highest) => windows.push((bound, highest)),
            }
        }
        Reservations::settle(sealing).and(SeenBound::settle(windows))
    }
}

impl ShardChange {
    pub fn protect(&mut self) -> &mut Change<OutboundAssociation> {
        self.protect.get_or_insert_default()
    }

    pub fn unprotect(&mut self) -> &mut Change<InboundAssociation> {
        self.unprotect.get_or_insert_default()
    }
}
