//! Classifiers: what a record needs, by the policies and associations.

use std::sync::Arc;

use weir_stream::{Batch, Stage, StageError, Steering};

use super::{LOOK_AHEAD, LOOK_AHEAD_FURTHER};
use crate::gateway::Databases;
use crate::policy::Verdict;

/// Decides about packets on their way out: protect, bypass or drop.
pub struct ClassifyOutbound {
    databases: Arc<Databases>,
    bypassed: u64,
}

impl ClassifyOutbound {
    /// A classifier by these databases.
    pub fn new(databases: Arc<Databases>) -> ClassifyOutbound {
        ClassifyOutbound {
            databases,
            bypassed: 0,
        }
    }

    /// Packets that passed by.
    pub fn bypassed(&self) -> u64 {
        self.bypassed
    }
}

impl Stage for ClassifyOutbound {
    fn name(&self) -> &str {
        "classify outbound"
    }

    fn steering(&self) -> Steering {
        Steering::By(self.databases.outbound_steering())
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        for index in batch.live() {
            let verdict = self.databases.spd.outbound(
                batch.headers(index),
                batch.record(index),
                batch.arrival(index).interface,
                batch.flow_hash(index),
            );
            match verdict {
                Verdict::Protect(association) => {
                    batch.set_work(index, batch.work(index).with_protect(association));
                }
                Verdict::Bypass => self.bypassed += 1,
                Verdict::Drop(reason) => batch.drop_record(index, reason),
            }
        }
        Ok(())
    }
}

/// Decides about packets that came in: ESP goes to its association, and what
/// came without protection passes by or is dropped.
pub struct ClassifyInbound {
    databases: Arc<Databases>,
    bypassed: u64,
}

impl ClassifyInbound {
    /// A classifier by these databases.
    pub fn new(databases: Arc<Databases>) -> ClassifyInbound {
        ClassifyInbound {
            databases,
            bypassed: 0,
        }
    }

    /// Packets that passed by.
    pub fn bypassed(&self) -> u64 {
        self.bypassed
    }
}

impl Stage for ClassifyInbound {
    fn name(&self) -> &str {
        "classify inbound"
    }

    fn steering(&self) -> Steering {
        Steering::By(self.databases.inbound_steering())
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        for index in batch.live() {
            self.databases
                .look_ahead_inbound(batch, index + LOOK_AHEAD, false);
            self.databases
                .look_ahead_inbound(batch, index + LOOK_AHEAD_FURTHER, true);
            match self.databases.classify_inbound(batch, index) {
                Ok(Some(association)) => {
                    batch.set_work(index, batch.work(index).with_unprotect(association));
                }
                Ok(None) => self.bypassed += 1,
                Err(reason) => batch.drop_record(index, reason),
            }
        }
        Ok(())
    }
}
