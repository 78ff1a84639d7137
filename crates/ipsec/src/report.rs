//! What associations did, for the report of a run.

use std::collections::HashMap;
use std::sync::Arc;

use crate::reason::DropReason;
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
    /// The last sequence number that was sent, or the highest that was received; 0 before the
    /// first.
    pub sequence: u64,
    /// Packets that belonged to it and were dropped.
    pub drops: Drops,
}

/// Dropped packets by reason: only the reasons that occurred, for most associations none.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Drops(Vec<(DropReason, u64)>);

impl Drops {
    /// Reasons and packets, in order of first occurrence.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> {
        self.0.iter().copied()
    }

    #[cold]
    pub(crate) fn add(&mut self, reason: DropReason, packets: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += packets,
            None => self.0.push((reason, packets)),
        }
    }
}

/// What associations did that are not there any more, by name: one that follows another one of
/// its name goes on with its counts.
#[derive(Debug, Default)]
pub(crate) struct Retired(HashMap<String, AssociationReport>);

impl Retired {
    pub fn add(&mut self, mut report: AssociationReport) {
        if let Some(before) = self.0.remove(&report.parameters.name) {
            report.traffic = report.traffic.plus(before.traffic);
            for (reason, packets) in before.drops.iter() {
                report.drops.add(reason, packets);
            }
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
