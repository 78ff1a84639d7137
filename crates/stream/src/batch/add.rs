//! How records come into a batch: from a source, or from a stage that made them.

use std::ops::Range;
use std::sync::Arc;

use weir_packet::file::Block;
use weir_packet::wire::{Headers, Ipv4Flow};
use weir_port::Offload;

use super::limits::BATCH_RECORDS;
use super::records::{BATCH_BLOCKS, Batch, BatchFull, Columns, Row};
use super::slab::Place;
use crate::arrival::Arrival;
use crate::disposition::Disposition;
use crate::egress::Egress;
use crate::statistics::ArrivalTally;
use crate::work::Work;

impl Columns {
    /// The accounts of received records. A pass of its own over the column: the loop that
    /// parses has no registers left for sums.
    #[inline]
    pub(super) fn count_arrivals(&mut self, records: Range<usize>) -> ArrivalTally {
        let (mut wire_bytes, mut is_unusual) = (0, false);
        for arrival in &self.arrival[records.clone()] {
            wire_bytes += u64::from(arrival.wire_bytes);
            is_unusual |= arrival.is_unusual();
        }
        if is_unusual {
            return self.judge_arrivals(records);
        }
        ArrivalTally {
            wire_bytes,
            ..ArrivalTally::default()
        }
    }

    /// Limits lengths on the wire to what is believed, and counts what is noted of records.
    #[cold]
    fn judge_arrivals(&mut self, records: Range<usize>) -> ArrivalTally {
        let mut arrivals = ArrivalTally::default();
        for index in records {
            let link_header_bytes = self.headers[index].network_offset;
            let arrival = &mut self.arrival[index];
            arrival.limit_wire_bytes(link_header_bytes, self.place[index].len());
            arrivals.note(arrival);
        }
        arrivals
    }
}

impl Batch {
    /// Adds received records whose bytes lie in one block: reads their headers,
    /// hashes their flows. They are given as offset and length in the block and
    /// what the source knows of them, and are numbered from `first_number` on. A
    /// length on the wire above that of the longest packet is limited to that.
    /// Returns how many were added.
    ///
    /// # Errors
    /// The batch is full (the records before that stay), or a range lies
    /// outside the block.
    // In its caller, for whom much of an arrival is constant.
    #[inline(always)]
    pub fn receive(
        &mut self,
        block: &Arc<Block>,
        first_number: u64,
        records: impl IntoIterator<Item = (u32, u32, Arrival)>,
    ) -> Result<usize, BatchFull> {
        let handle = self.add_block(block)?;
        let memory: &[u8] = block;
        let keeps_flows = self.limits.keeps_flows;
        let columns = &mut *self.columns;
        let first = self.len;
        let mut index = first;
        let mut outcome = Ok(());
        let mut record_bytes = 0;
        for (offset, captured_bytes, arrival) in records {
            let place = Place::in_block(handle, offset, captured_bytes);
            let (true, Some(record)) = (index < BATCH_RECORDS, memory.get(place.range())) else {
                outcome = Err(BatchFull);
                break;
            };
            columns.parse(index, arrival.link, record, keeps_flows);
            columns.place[index] = place;
            columns.arrival[index] = arrival;
            columns.number[index] = first_number + (index - first) as u64;
            record_bytes += place.len();
            index += 1;
        }
        let arrivals = columns.count_arrivals(first..index);
        columns.work[first..index].fill(Work::default());
        columns.disposition[first..index].fill(Disposition::Forward);
        columns.egress[first..index].fill(Egress::NONE);
        let added = index - first;
        self.len = index;
        self.bytes += record_bytes;
        self.tally.packets += added as u64;
        self.tally.bytes += record_bytes as u64;
        self.tally.arrivals.add(&arrivals);
        outcome.map(|()| added)
    }

    /// Keeps a block alive as long as the batch; returns its handle.
    fn add_block(&mut self, block: &Arc<Block>) -> Result<u8, BatchFull> {
        // Mostly the last one; records of several shards alternate between a few.
        let known = |known: &Arc<Block>| Arc::ptr_eq(known, block);
        if let Some(handle) = self.blocks.iter().rposition(known) {
            return Ok(handle as u8);
        }
        if self.blocks.len() == BATCH_BLOCKS {
            return Err(BatchFull);
        }
        self.blocks.push(Arc::clone(block));
        Ok((self.blocks.len() - 1) as u8)
    }

    /// Adds a record that a stage made; its bytes are copied into the slab.
    /// It takes number, time, interface and egress from `origin`, the record that
    /// occasioned it.
    ///
    /// # Errors
    /// The batch is full: keep the record for the next batch.
    pub fn create(&mut self, origin: usize, bytes: &[u8]) -> Result<usize, BatchFull> {
        let mut row = self.row(origin);
        row.arrival.wire_bytes = bytes.len() as u32;
        row.headers = Headers::parse(row.arrival.link, bytes);
        row.flow_hash = row.headers.symmetric_flow_hash(bytes);
        row.ipv4_flow = Ipv4Flow::default();
        row.offload = Offload::default();
        let index = self.push_copy(&row, bytes)?;
        self.tally.created += 1;
        Ok(index)
    }

    /// Takes a record that another worker handed over
    /// ([`Batch::settle_handed_over`]).
    pub(crate) fn take_over(&mut self, from: &Batch, index: usize) -> Result<(), BatchFull> {
        let row = from.row(index);
        let place = from.columns.place[index];
        match from.blocks.get(place.block_index()) {
            Some(block) => {
                let block = self.add_block(block)?;
                self.push(place.moved_to(block), &row)?;
            }
            None => drop(self.push_copy(&row, from.record(index))?),
        }
        self.tally.taken_over += 1;
        Ok(())
    }

    pub(super) fn push_copy(&mut self, row: &Row, bytes: &[u8]) -> Result<usize, BatchFull> {
        if self.len == BATCH_RECORDS {
            return Err(BatchFull);
        }
        let (place, room) = self.slab.store(bytes);
        self.push(place, row)?;
        let index = self.len - 1;
        self.columns.room[index] = room;
        Ok(index)
    }

    #[inline]
    fn push(&mut self, place: Place, row: &Row) -> Result<(), BatchFull> {
        let index = self.len;
        if index >= BATCH_RECORDS {
            return Err(BatchFull);
        }
        let columns = &mut *self.columns;
        columns.place[index] = place;
        columns.arrival[index] = row.arrival;
        columns.number[index] = row.number;
        columns.headers[index] = row.headers;
        columns.flow_hash[index] = row.flow_hash;
        columns.ipv4_flow[index] = row.ipv4_flow;
        columns.work[index] = row.work;
        columns.disposition[index] = Disposition::Forward;
        columns.egress[index] = row.egress;
        if row.offload != Offload::default() {
            columns.offload[index] = row.offload;
            self.has_offloads = true;
        }
        self.len = index + 1;
        self.bytes += place.len();
        Ok(())
    }
}
