//! Records of a pipeline, on their way through a sender or receiver.

use weir_crypto::BATCH_PACKETS;
use weir_packet::wire::Headers;
use weir_stream::{Batch, Context, CopyShape, RecordCopy, WorkBit};

use crate::secure::{self, DropReason, FlowId, OtherPackets, Places};
use crate::wire::{Bth, is_other};

/// The packets of a batch that need a stage, and which records they are of.
///
/// A packet is copied once within the memory of the batch, processed in its copy, and the copy takes the
/// place of the record. A record that is dropped or passes stays as it came.
#[derive(Default)]
pub(super) struct Records {
    places: Places,
    pub rows: Vec<Row>,
    bytes: usize,
}

/// A record that needs a stage.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Its number in the batch.
    pub index: usize,
    /// Whether it is of another network.
    is_other: bool,
    copy: RecordCopy,
    /// Its number among the packets.
    at: usize,
}

/// What a sender or receiver made of a record.
pub(super) enum Made {
    /// It goes on as it is.
    Passed,
    /// It is dropped.
    Dropped(DropReason),
    /// A packet of a flow takes its place, this number of bytes of the copy.
    Packet(FlowId, usize),
}

impl Records {
    /// What was made of a record.
    pub fn made(&self, row: &Row, others: OtherPackets) -> Made {
        let record = match row.is_other {
            true => Err(DropReason::NotFabric),
            false => self.places.record(row.at),
        };
        match (record, self.flow(row)) {
            (Ok(record), Some(flow)) => Made::Packet(flow, record.len()),
            (Ok(_), None) => Made::Passed,
            (Err(DropReason::NotFabric), _) if others == OtherPackets::Allow => Made::Passed,
            (Err(reason), _) => Made::Dropped(reason),
        }
    }

    /// The flow of a record that was processed.
    pub fn flow(&self, row: &Row) -> Option<FlowId> {
        match row.is_other {
            true => None,
            false => self.places.flow(row.at),
        }
    }

    /// Takes the records from `next` on that need the work, as far as they fit; returns where to go
    /// on, or `None` where all were taken.
    pub fn take(&mut self, batch: &mut Batch, work: WorkBit, next: usize) -> Option<usize> {
        self.rows.clear();
        self.bytes = 0;
        for index in batch.live().skip_while(|index| *index < next) {
            let needed = batch.work(index);
            if !needed.needs(work) {
                continue;
            }
            if self.rows.len() == BATCH_PACKETS {
                return Some(index);
            }
            batch.set_work(index, needed.without(work));
            let is_other = is_other(batch.headers(index), batch.arrival(index).link);
            if !is_other {
                let shape = shape(batch.record(index), aligned_at(batch.headers(index)));
                self.bytes += shape.bytes() + shape.aligned_at;
            }
            self.rows.push(Row {
                index,
                is_other,
                copy: RecordCopy::default(),
                at: 0,
            });
        }
        None
    }

    /// Has the packets of the records processed.
    pub fn run(&mut self, batch: &mut Batch, process: impl FnOnce(&mut secure::Batch<'_>)) {
        let Records {
            places,
            rows,
            bytes,
        } = self;
        let (mut copies, memory) = batch.copies(rows.len(), *bytes);
        let mut packets = places.batch(memory);
        for row in rows.iter_mut().filter(|row| !row.is_other) {
            row.at = packets.len();
            let memory = packets.buffer_mut();
            let Some(record) = copies.row(memory, row.index) else {
                row.is_other = true;
                continue;
            };
            let (headers, link) = (*record.headers, record.arrival.link);
            let record_bytes = record.record.len();
            let shape = shape(record.record, aligned_at(&headers));
            let copy = copies.copy(memory, row.index, &shape).unwrap_or_default();
            row.copy = copy;
            let start = copy.range().start;
            // There are no more rows than packets that a batch takes.
            let _ = packets.push_behind(&headers, link, start..start + record_bytes);
        }
        process(&mut packets);
        for row in rows.iter().filter(|row| !row.is_other) {
            if places.record(row.at).is_ok() && places.flow(row.at).is_some() {
                copies.adopt_unparsed(row.index, &row.copy);
            }
        }
    }
}

fn shape(record: &[u8], aligned_at: usize) -> CopyShape {
    CopyShape {
        to: record.len(),
        back_bytes: secure::Batch::SPACE_BYTES,
        aligned_at: aligned_at.min(record.len()),
        ..CopyShape::default()
    }
}

/// Where the body of most packets of RoCEv2 begins.
fn aligned_at(headers: &Headers) -> usize {
    usize::from(headers.transport_offset) + UDP_BYTES + Bth::BYTES
}

const UDP_BYTES: usize = 8;

/// Reads the record of a packet, of which the copy has this number of bytes.
pub(super) fn finish(batch: &mut Batch, row: &Row, bytes: usize) {
    let spare_bytes = row.copy.range().len().saturating_sub(bytes);
    batch.shrink(row.index, 0, spare_bytes);
    batch.reparse(row.index);
}

/// The time of a batch: live that of the clock, of a file that of a record.
pub(super) fn time_ns(batch: &Batch, index: usize, cx: &Context) -> u64 {
    cx.stream_ns()
        .unwrap_or_else(|| batch.arrival(index).timestamp_ns)
}

pub(super) const NS_PER_SECOND: u64 = 1_000_000_000;
