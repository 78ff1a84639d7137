//! What associations did, for the report of a run.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sa::Parameters;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Bytes of payload, padding and trailer, as lifetimes count them.
    pub bytes: u64,
}

impl Traffic {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    pub(crate) fn minus(self, other: Traffic) -> Traffic {
        Traffic {
            packets: self.packets - other.packets,
            bytes: self.bytes - other.bytes,
        }
    }

    pub(crate) fn plus(self, other: Traffic) -> Traffic {
        Traffic {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// What one association did in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationReport {
    /// Slot of the association, which is its place in the SA file as long as that is not
    /// replaced.
    pub association: u32,
    /// Its parameters.
    pub parameters: Arc<Parameters>,
    /// What it protected or unprotected.
    pub traffic: Traffic,
}

/// What associations did that are not there any more, by name: one that follows another one of
/// its name goes on with its counts.
#[derive(Debug, Default)]
pub(crate) struct Retired(HashMap<String, AssociationReport>);

impl Retired {
    pub fn add(&mut self, mut report: AssociationReport) {
        if let Some(before) = self.0.remove(&report.parameters.name) {
            report.traffic = report.traffic.plus(before.traffic);
        }
        self.0.insert(report.parameters.name.clone(), report);
    }

    /// What all associations did, those in `present` too, by slot.
    pub fn with(&self, present: impl Iterator<Item = AssociationReport>) -> Vec<AssociationReport> {
        let mut all = Retired(self.0.clone());
        present.for_each(|report| all.add(report));
        let mut reports: Vec<AssociationReport> = all.0.into_values().collect();
        reports.sort_unstable_by_key(|report| report.association);
        reports
    }
}
