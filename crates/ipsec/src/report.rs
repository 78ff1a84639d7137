//! What associations did, for the report of a run.

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
    /// Index of the association.
    pub association: u32,
    /// Its parameters.
    pub parameters: Arc<Parameters>,
    /// What it protected or unprotected.
    pub traffic: Traffic,
}
