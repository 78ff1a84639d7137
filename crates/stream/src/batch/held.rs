//! Records that a stage takes out of the stream for a while.

use weir_packet::wire::Headers;

use super::{Batch, BatchFull, Row};
use crate::arrival::Arrival;
use crate::disposition::Disposition;

/// A record that a stage has taken out of the stream for a while. It cannot be
/// copied, so it cannot be released twice.
#[derive(Debug)]
pub struct HeldRecord {
    row: Row,
    bytes: Box<[u8]>,
}

impl HeldRecord {
    /// The record, from its link header on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where its headers lie.
    pub fn headers(&self) -> &Headers {
        &self.row.headers
    }

    /// Its arrival.
    pub fn arrival(&self) -> Arrival {
        self.row.arrival
    }
}

impl Batch {
    /// Takes a record out of the stream, to be released later.
    pub fn hold(&mut self, index: usize) -> HeldRecord {
        let held = HeldRecord {
            row: self.row(index),
            bytes: self.record(index).into(),
        };
        self.settle(index, Disposition::Held);
        held
    }

    /// Puts a held record back, at the end of this batch.
    ///
    /// # Errors
    /// The batch is full; the record comes back for the next one.
    pub fn release(&mut self, record: HeldRecord) -> Result<usize, HeldRecord> {
        match self.push_copy(&record.row, &record.bytes) {
            Ok(index) => {
                self.tally.released += 1;
                Ok(index)
            }
            Err(BatchFull) => Err(record),
        }
    }
}
