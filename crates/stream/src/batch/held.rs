//! Records that a stage takes out of the stream for a while.

use weir_packet::wire::{Headers, Ipv4Flow};
use weir_port::Offload;

use super::records::{Batch, BatchFull, Row};
use crate::arrival::Arrival;
use crate::disposition::Disposition;
use crate::egress::Egress;
use crate::work::Work;

/// A record that a stage has taken out of the stream for a while. It cannot be
/// copied, so it cannot be released twice.
#[derive(Debug)]
pub struct HeldRecord {
    arrival: Arrival,
    number: u64,
    headers: Headers,
    flow_hash: u32,
    work: Work,
    egress: Egress,
    offload: Offload,
    bytes: Box<[u8]>,
}

impl HeldRecord {
    /// The record, from its link header on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where its headers lie.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Its arrival.
    pub fn arrival(&self) -> Arrival {
        self.arrival
    }
}

impl Batch {
    /// Takes a record out of the stream, to be released later.
    pub fn hold(&mut self, index: usize) -> HeldRecord {
        let row = self.row(index);
        let held = HeldRecord {
            arrival: row.arrival,
            number: row.number,
            headers: row.headers,
            flow_hash: row.flow_hash,
            work: row.work,
            egress: row.egress,
            offload: row.offload,
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
        let ipv4_flow = match self.limits.keeps_flows {
            true => Ipv4Flow::from_headers(&record.headers, &record.bytes),
            false => Ipv4Flow::default(),
        };
        let row = Row {
            arrival: record.arrival,
            number: record.number,
            headers: record.headers,
            flow_hash: record.flow_hash,
            ipv4_flow,
            work: record.work,
            egress: record.egress,
            offload: record.offload,
        };
        match self.push_copy(&row, &record.bytes) {
            Ok(index) => {
                self.tally.released += 1;
                Ok(index)
            }
            Err(BatchFull) => Err(record),
        }
    }
}
