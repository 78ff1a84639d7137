//! What changes in stages while they run.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use crate::databases::Databases;
use crate::inbound::InboundAssociation;
use crate::ledger::{LedgerError, Progress, Reservations, SeenBound};
use crate::outbound::OutboundAssociation;
use crate::sa::Parameters;

/// What changes in the stages of a shard.
#[derive(Default)]
pub struct ShardChange {
    /// For the stage that protects; `None` where nothing changes.
    pub protect: Option<ProtectChange>,
    /// For the stage that unprotects; `None` where nothing changes.
    pub unprotect: Option<UnprotectChange>,
}

/// What changes in a stage that protects ([`Protect::change`]).
#[derive(Default)]
pub struct ProtectChange {
    pub(crate) installed: Vec<(u32, OutboundAssociation)>,
    pub(crate) amended: Vec<(u32, Arc<Parameters>)>,
    pub(crate) retired: Vec<u32>,
    pub(crate) settled: Option<Sender<Settled>>,
}

/// What changes in a stage that unprotects ([`Unprotect::change`]).
#[derive(Default)]
pub struct UnprotectChange {
    pub(crate) expected: Option<Arc<Databases>>,
    pub(crate) installed: Vec<(u32, InboundAssociation)>,
    pub(crate) amended: Vec<(u32, Arc<Parameters>)>,
    pub(crate) retired: Vec<u32>,
    pub(crate) settled: Option<Sender<Settled>>,
}

/// How far a retired association has come.
pub(crate) enum Settled {
    Sealing(Reservations, Progress),
    Window(SeenBound, u64),
}

/// What retired associations leave to the ledger.
pub struct Settlement(Receiver<Settled>);

impl Settlement {
    pub(crate) fn new(of: Receiver<Settled>) -> Settlement {
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
    pub(crate) fn protect(&mut self) -> &mut ProtectChange {
        self.protect.get_or_insert_default()
    }

    pub(crate) fn unprotect(&mut self) -> &mut UnprotectChange {
        self.unprotect.get_or_insert_default()
    }
}
