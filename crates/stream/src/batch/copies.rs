//! Records that are copied to a new place in the batch's memory and rewritten there, many at
//! once.

use std::ops::Range;
use std::sync::Arc;

use weir_packet::file::Block;
use weir_packet::wire::{Headers, Ipv4Flow, Network};
use weir_port::Frames;

use super::limits::BATCH_RECORDS;
use super::records::{Batch, Columns};
use super::slab::{Place, Reserved, Room, copy_link_header, copy_packet};
use crate::arrival::Arrival;

/// The records of a batch, to be copied within its memory. The memory itself is lent beside
/// them, as one buffer.
pub struct Copies<'a> {
    columns: &'a mut Columns,
    len: usize,
    blocks: &'a [Arc<Block>],
    frames: &'a Frames,
    reserved: Reserved<'a>,
}

/// A record with its metadata.
#[derive(Clone, Copy)]
pub struct RecordRow<'a> {
    /// As [`Batch::record`].
    pub record: &'a [u8],
    /// As [`Batch::headers`].
    pub headers: &'a Headers,
    /// As [`Batch::arrival`].
    pub arrival: &'a Arrival,
}

/// What a copy of a record consists of:
///
/// ```text
/// record[..kept_bytes] │ gap_bytes │ record[from..to] │ back_bytes
/// ```
///
/// Gap and back are undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CopyShape {
    /// Bytes of the record's front.
    pub kept_bytes: usize,
    /// Bytes behind them.
    pub gap_bytes: usize,
    /// Start of the second part.
    pub from: usize,
    /// Its end.
    pub to: usize,
    /// Bytes behind it.
    pub back_bytes: usize,
    /// Which of the second part's bytes begins a cache line: the first one that is
    /// computed on.
    pub aligned_at: usize,
}

impl CopyShape {
    /// Bytes of the copy.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.kept_bytes + self.gap_bytes + self.to.saturating_sub(self.from) + self.back_bytes
    }
}

/// Names a copy in the memory of the batch that it was made in, until that batch is cleared.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordCopy {
    place: Place,
    room: Room,
}

impl RecordCopy {
    /// Where the copy lies in the batch's memory.
    #[inline]
    pub fn range(&self) -> Range<usize> {
        self.place.range()
    }
}

/// The metadata of a record whose outermost IP header was written by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterHeader {
    /// Its version.
    pub network: Network,
    /// The protocol that follows it, one without ports.
    pub protocol: u8,
    /// Its bytes.
    pub header_bytes: u16,
    /// The flow hash of such a packet.
    pub flow_hash: u32,
}

impl Batch {
    /// Reserves memory for copies of `records` records that have `bytes` together, counting
    /// [`CopyShape::bytes`] and [`CopyShape::aligned_at`], and lends all memory of the batch.
    pub fn copies(&mut self, records: usize, bytes: usize) -> (Copies<'_>, &mut [u8]) {
        let (reserved, memory) = self.slab.reserve(records, bytes);
        let copies = Copies {
            columns: &mut self.columns,
            len: self.len,
            blocks: &self.blocks,
            frames: &self.frames,
            reserved,
        };
        (copies, memory)
    }

    /// Writes the first `kept_bytes` of a record into a copy that was made of it, so that they
    /// end where `bytes` begin, and returns both; nothing has changed for the record.
    ///
    /// `None` where there is no such record, where the copy is not of this batch, and where one
    /// of the two is too short.
    // As for `replace`.
    #[inline(always)]
    pub fn put_in_front(
        &mut self,
        index: usize,
        kept_bytes: usize,
        copy: &RecordCopy,
        bytes: Range<usize>,
    ) -> Option<(&mut [u8], &mut [u8])> {
        if index >= self.len.min(BATCH_RECORDS) {
            return None;
        }
        let place = self.columns.place[index];
        let memory = self.slab.bytes_mut();
        let frame = place.frame(self.columns.room[index]);
        let (record, copy) = match (self.blocks.get(place.block_index()), frame) {
            (Some(block), _) => (block.get(place.range())?, memory.get_mut(copy.range())?),
            (None, Some(frame)) => (self.frames.bytes(frame), memory.get_mut(copy.range())?),
            (None, None) => {
                // A copy lies behind the record that it was made of.
                let range = copy.range();
                let (front, back) = memory.split_at_mut_checked(range.start)?;
                (front.get(place.range())?, back.get_mut(..range.len())?)
            }
        };
        let (front, rest) = copy.split_at_mut_checked(bytes.start)?;
        let start = bytes.start.checked_sub(kept_bytes)?;
        let kept = front.get_mut(start..)?;
        copy_link_header(kept, record.get(..kept_bytes)?);
        Some((kept, rest.get_mut(..bytes.len())?))
    }

    /// Puts `bytes` of a copy in the place of its record, and reads its headers. What follows
    /// an IP packet by the packet's own length is cut off.
    ///
    /// Returns the record and its headers, for corrections that change neither where the
    /// headers lie nor the flow hash. `None`, and nothing has changed, where there is no such
    /// record or the copy is not of this batch.
    // A call would pass its values through memory.
    #[inline(always)]
    pub fn replace(
        &mut self,
        index: usize,
        copy: &RecordCopy,
        bytes: Range<usize>,
    ) -> Option<(&Headers, &mut [u8])> {
        if index >= self.len.min(BATCH_RECORDS) {
            return None;
        }
        let place = copy.place.part(bytes)?;
        let record = self.slab.bytes_mut().get_mut(place.range())?;
        let columns = &mut *self.columns;
        let link = columns.arrival[index].link;
        columns.parse(index, link, record, self.limits.keeps_flows);
        let headers = &columns.headers[index];
        let bytes = match headers.is_ip() {
            true => headers.end_offset as usize,
            false => record.len(),
        };
        columns.place[index] = place.cut_to(bytes);
        columns.room[index] = copy.room;
        columns.arrival[index].wire_bytes = bytes as u32;
        Some((headers, record.get_mut(..bytes)?))
    }

    /// Whether a record's metadata is what its bytes say. They may differ where
    /// one of the two was changed without the other.
    pub fn is_as_parsed(&self, index: usize) -> bool {
        let (arrival, record) = (self.arrival(index), self.record(index));
        let headers = Headers::parse(arrival.link, record);
        *self.headers(index) == headers
            && self.flow_hash(index) == headers.symmetric_flow_hash(record)
            && arrival.wire_bytes as usize == record.len()
    }
}

impl Copies<'_> {
    /// A record; `None` where there is no such record. `memory` is that of the batch.
    #[inline(always)]
    pub fn row<'s>(&'s self, memory: &'s [u8], index: usize) -> Option<RecordRow<'s>> {
        if index >= self.len.min(BATCH_RECORDS) {
            return None;
        }
        let columns = &*self.columns;
        let place = columns.place[index];
        let record = match self.blocks.get(place.block_index()) {
            Some(block) => block.get(place.range())?,
            None => match place.frame(columns.room[index]) {
                Some(frame) => self.frames.bytes(frame),
                None => memory.get(place.range())?,
            },
        };
        Some(RecordRow {
            record,
            headers: &columns.headers[index],
            arrival: &columns.arrival[index],
        })
    }

    /// As [`Batch::arrival`].
    #[inline]
    pub fn arrival(&self, index: usize) -> &Arrival {
        &self.columns.arrival[..self.len][index]
    }

    /// Copies a record; the record stays as it is until the copy
    /// [is adopted](Copies::adopt) or [replaces it](Batch::replace). `memory` is that of the
    /// batch.
    ///
    /// `None`, and nothing has changed, where there is no such record, where it ends before
    /// the shape does, and where less memory was reserved than the copy takes.
    // As for `replace`.
    #[inline(always)]
    pub fn copy(
        &mut self,
        memory: &mut [u8],
        index: usize,
        shape: &CopyShape,
    ) -> Option<RecordCopy> {
        if index >= self.len.min(BATCH_RECORDS) {
            return None;
        }
        let source = self.columns.place[index];
        let record_bytes = source.len();
        if shape.kept_bytes > record_bytes || shape.to > record_bytes || shape.from > shape.to {
            return None;
        }
        let ahead_bytes = shape.kept_bytes + shape.gap_bytes;
        let aligned_at = ahead_bytes + shape.aligned_at;
        let (place, room) = self.reserved.take(aligned_at, shape.bytes())?;
        let range = place.range();
        let elsewhere = match self.blocks.get(source.block_index()) {
            Some(block) => Some(block.get(source.range())?),
            None => {
                let frame = source.frame(self.columns.room[index]);
                frame.map(|frame| self.frames.bytes(frame))
            }
        };
        match elsewhere {
            Some(record) => {
                let copy = memory.get_mut(range)?;
                let (front, rest) = copy.split_at_mut_checked(ahead_bytes)?;
                let (kept, packet) = (&record[..shape.kept_bytes], &record[shape.from..shape.to]);
                copy_link_header(front.get_mut(..kept.len())?, kept);
                copy_packet(rest.get_mut(..packet.len())?, packet);
            }
            None => {
                let (from, to) = (source.range().start, range.start);
                memory.get(..range.end)?;
                memory.copy_within(from..from + shape.kept_bytes, to);
                memory.copy_within(from + shape.from..from + shape.to, to + ahead_bytes);
            }
        }
        Some(RecordCopy { place, room })
    }

    /// Puts a copy in the place of its record, whose outermost IP header follows the link
    /// header as before and is `outer`.
    #[inline(always)]
    pub fn adopt(&mut self, index: usize, copy: &RecordCopy, outer: &OuterHeader) {
        if index >= self.len.min(BATCH_RECORDS) {
            return;
        }
        self.adopt_unparsed(index, copy);
        let columns = &mut *self.columns;
        let record_bytes = columns.arrival[index].wire_bytes;
        columns.headers[index].encapsulate(
            outer.network,
            outer.protocol,
            outer.header_bytes,
            record_bytes,
        );
        columns.flow_hash[index] = outer.flow_hash;
        columns.ipv4_flow[index] = Ipv4Flow::default();
    }

    /// The same for any record: its headers are those of before until
    /// [`Batch::reparse`] is called.
    #[inline]
    pub fn adopt_unparsed(&mut self, index: usize, copy: &RecordCopy) {
        if index >= self.len.min(BATCH_RECORDS) {
            return;
        }
        let columns = &mut *self.columns;
        columns.place[index] = copy.place;
        columns.room[index] = copy.room;
        columns.arrival[index].wire_bytes = copy.place.len() as u32;
    }
}
