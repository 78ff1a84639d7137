//! Batches: up to 256 records, their metadata in columns.
//!
//! A record's bytes lie either in a shared block that the source read (nobody
//! writes there) or in the batch's own slab, into which a record is copied
//! once, when a stage first rewrites it, with room in front and behind for
//! the headers and trailers to come.

use std::sync::Arc;

use weir_packet::file::{Block, Interface};
use weir_packet::wire::{FlowKey, Headers, LinkType, Network};

use crate::disposition::{Disposition, DropReason};
use crate::event::{Event, EventKind};
use crate::statistics::Tally;
use crate::work::Work;

mod limits;
mod slab;

pub use limits::BatchLimits;
use slab::{Place, Remains, Room, Slab};

/// The most records that a batch holds.
pub const BATCH_RECORDS: usize = 256;

/// The most blocks that a batch keeps alive.
const BATCH_BLOCKS: usize = 16;

/// A batch has no room for another record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch is full")]
pub struct BatchFull;

/// What a source knows of a record besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Nanoseconds since 1970.
    pub timestamp_ns: u64,
    /// Length on the wire; more than the record's bytes where it was cut.
    pub wire_bytes: u32,
    /// Index into the batch's interfaces.
    pub interface: u16,
    /// Link header in front.
    pub link: LinkType,
}

/// A record that a stage has taken out of the stream for a while. It cannot be
/// copied, so it cannot be released twice.
#[derive(Debug)]
pub struct HeldRecord {
    row: Row,
    bytes: Vec<u8>,
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

/// One record's metadata, gathered from the columns.
#[derive(Clone, Copy, Debug)]
struct Row {
    arrival: Arrival,
    number: u64,
    headers: Headers,
    flow_hash: u32,
    work: Work,
}

/// The columns: one array per field, so that a kernel loads only what it
/// reads.
struct Columns {
    place: [Place; BATCH_RECORDS],
    /// Only of records in the slab.
    room: [Room; BATCH_RECORDS],
    arrival: [Arrival; BATCH_RECORDS],
    number: [u64; BATCH_RECORDS],
    headers: [Headers; BATCH_RECORDS],
    flow_hash: [u32; BATCH_RECORDS],
    work: [Work; BATCH_RECORDS],
    disposition: [Disposition; BATCH_RECORDS],
}

/// Up to [`BATCH_RECORDS`] records in arrival order.
///
/// Records are named by their index in the batch, `0..len()`. Indices stay
/// valid for the life of the batch: a dropped, held or absorbed record keeps
/// its row. Methods that take an index panic where it is not below `len()`,
/// as slices do.
pub struct Batch {
    columns: Box<Columns>,
    len: usize,
    bytes: usize,
    limits: BatchLimits,
    blocks: Vec<Arc<Block>>,
    slab: Slab,
    interfaces: Arc<[Interface]>,
    events: Vec<Event>,
    tally: Tally,
    clock_ns: u64,
    last: bool,
}

impl Batch {
    /// An empty batch.
    pub fn new(limits: BatchLimits) -> Batch {
        Batch {
            columns: Box::new(Columns {
                place: [Place::default(); BATCH_RECORDS],
                room: [Room::default(); BATCH_RECORDS],
                arrival: [Arrival::default(); BATCH_RECORDS],
                number: [0; BATCH_RECORDS],
                headers: [Headers::default(); BATCH_RECORDS],
                flow_hash: [0; BATCH_RECORDS],
                work: [Work::default(); BATCH_RECORDS],
                disposition: [Disposition::Forward; BATCH_RECORDS],
            }),
            len: 0,
            bytes: 0,
            limits,
            blocks: Vec::with_capacity(BATCH_BLOCKS),
            slab: Slab::default(),
            interfaces: Arc::new([]),
            events: Vec::new(),
            tally: Tally::default(),
            clock_ns: 0,
            last: false,
        }
    }

    /// Empties the batch for its next use; its memory stays.
    pub fn clear(&mut self) {
        self.len = 0;
        self.bytes = 0;
        self.blocks.clear();
        self.slab.clear();
        self.events.clear();
        self.tally = Tally::default();
        self.last = false;
    }

    /// Number of records, whatever became of them.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no record.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many more records and record bytes a source may add. Both are zero
    /// in a full batch; an empty batch takes one record of any length.
    pub fn room(&self) -> (usize, usize) {
        let records = self.limits.records - self.len;
        let bytes = self.limits.bytes.saturating_sub(self.bytes);
        if records == 0 || bytes == 0 || self.blocks.len() == BATCH_BLOCKS {
            (0, 0)
        } else {
            (records, bytes)
        }
    }

    /// The interfaces that [`Arrival::interface`] indexes.
    pub fn interfaces(&self) -> &Arc<[Interface]> {
        &self.interfaces
    }

    /// Set by the source, before it adds records.
    pub fn set_interfaces(&mut self, interfaces: &Arc<[Interface]>) {
        if !Arc::ptr_eq(&self.interfaces, interfaces) {
            self.interfaces = Arc::clone(interfaces);
        }
    }

    /// The source's clock when it closed the batch: no later record will have
    /// arrived earlier (captures out of order aside).
    pub fn clock_ns(&self) -> u64 {
        self.clock_ns
    }

    pub(crate) fn set_clock_ns(&mut self, clock_ns: u64) {
        self.clock_ns = clock_ns;
    }

    /// Says that the source has nothing more.
    pub fn mark_last(&mut self) {
        self.last = true;
    }

    /// Whether the source has nothing more.
    pub fn is_last(&self) -> bool {
        self.last
    }

    // ---- adding records -------------------------------------------------

    /// Adds received records whose bytes lie in one block: reads their headers,
    /// hashes their flows. They are given as offset and length in the block and
    /// what the source knows of them, and are numbered from `first_number` on.
    /// Returns how many were added.
    ///
    /// # Errors
    /// The batch is full (the records before that stay), or a range lies
    /// outside the block.
    pub fn receive(
        &mut self,
        block: &Arc<Block>,
        first_number: u64,
        records: impl IntoIterator<Item = (u32, u32, Arrival)>,
    ) -> Result<usize, BatchFull> {
        let handle = self.add_block(block)?;
        let memory: &[u8] = block;
        let columns = &mut *self.columns;
        let first = self.len;
        let mut index = first;
        let mut outcome = Ok(());
        let (mut record_bytes, mut wire_bytes) = (0, 0);
        for (offset, captured_bytes, arrival) in records {
            let place = Place::in_block(handle, offset, captured_bytes);
            let (true, Some(record)) = (index < BATCH_RECORDS, memory.get(place.range())) else {
                outcome = Err(BatchFull);
                break;
            };
            // Straight into the columns: a row on the stack, written field by
            // field and read back in words, would stall on every record.
            let headers = &mut columns.headers[index];
            headers.parse_in_place(arrival.link, record);
            columns.flow_hash[index] = headers.symmetric_flow_hash(record);
            columns.place[index] = place;
            columns.arrival[index] = arrival;
            columns.number[index] = first_number + (index - first) as u64;
            record_bytes += place.len();
            wire_bytes += u64::from(arrival.wire_bytes);
            index += 1;
        }
        columns.work[first..index].fill(Work::default());
        columns.disposition[first..index].fill(Disposition::Forward);
        let added = index - first;
        self.len = index;
        self.bytes += record_bytes;
        self.tally.packets += added as u64;
        self.tally.bytes += wire_bytes;
        outcome.map(|()| added)
    }

    /// Keeps a block alive as long as the batch; returns its handle.
    fn add_block(&mut self, block: &Arc<Block>) -> Result<u8, BatchFull> {
        if let Some(known) = self.blocks.last()
            && Arc::ptr_eq(known, block)
        {
            return Ok((self.blocks.len() - 1) as u8);
        }
        if self.blocks.len() == BATCH_BLOCKS {
            return Err(BatchFull);
        }
        self.blocks.push(Arc::clone(block));
        Ok((self.blocks.len() - 1) as u8)
    }

    /// Adds a record that a stage made; its bytes are copied into the slab.
    /// It takes number, time and interface from `origin`, the record that
    /// occasioned it.
    ///
    /// # Errors
    /// The batch is full: keep the record for the next batch, or drop it by
    /// [`DropReason::NoRoom`].
    pub fn create(&mut self, origin: usize, bytes: &[u8]) -> Result<usize, BatchFull> {
        let mut row = self.row(origin);
        row.arrival.wire_bytes = bytes.len() as u32;
        row.headers = Headers::parse(row.arrival.link, bytes);
        row.flow_hash = row.headers.symmetric_flow_hash(bytes);
        let index = self.push_copy(&row, bytes)?;
        self.tally.created += 1;
        Ok(index)
    }

    /// Takes a record out of the stream, to be released later.
    pub fn hold(&mut self, index: usize) -> HeldRecord {
        let held = HeldRecord {
            row: self.row(index),
            bytes: self.record(index).to_vec(),
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

    /// Takes a record over from the batch that a source filled, as received
    /// here: the hand-over from a source to its shards, whose batches keep
    /// the accounts.
    pub(crate) fn take_over(&mut self, from: &Batch, index: usize) -> Result<(), BatchFull> {
        let row = from.row(index);
        let place = from.columns.place[index];
        match from.blocks.get(place.block_index()) {
            Some(block) => {
                let block = self.add_block(block)?;
                self.push(place.moved_to(block), &row)?;
            }
            None => {
                self.push_copy(&row, from.record(index))?;
            }
        }
        self.tally.packets += 1;
        self.tally.bytes += u64::from(row.arrival.wire_bytes);
        Ok(())
    }

    fn push_copy(&mut self, row: &Row, bytes: &[u8]) -> Result<usize, BatchFull> {
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
        columns.work[index] = row.work;
        columns.disposition[index] = Disposition::Forward;
        self.len = index + 1;
        self.bytes += place.len();
        Ok(())
    }

    fn row(&self, index: usize) -> Row {
        self.check(index);
        Row {
            arrival: self.columns.arrival[index],
            number: self.columns.number[index],
            headers: self.columns.headers[index],
            flow_hash: self.columns.flow_hash[index],
            work: self.columns.work[index],
        }
    }

    #[inline]
    fn check(&self, index: usize) {
        assert!(
            index < self.len,
            "record {index} of a batch of {}",
            self.len
        );
    }

    // ---- reading records ------------------------------------------------

    /// The indices of the records that are still on their way.
    pub fn live(&self) -> impl Iterator<Item = usize> + use<> {
        let mut live = [0u64; BATCH_RECORDS / 64];
        for (index, disposition) in self.columns.disposition[..self.len].iter().enumerate() {
            live[index / 64] |= u64::from(*disposition == Disposition::Forward) << (index % 64);
        }
        live.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as usize;
                bits &= bits.wrapping_sub(1);
                (bit < 64).then_some(word * 64 + bit)
            })
        })
    }

    /// A record's bytes, from its link header to the end of what was captured.
    #[inline]
    pub fn record(&self, index: usize) -> &[u8] {
        self.check(index);
        let place = self.columns.place[index];
        let memory: &[u8] = match self.blocks.get(place.block_index()) {
            Some(block) => block,
            None => self.slab.bytes(),
        };
        &memory[place.range()]
    }

    /// Where a record's headers lie.
    #[inline]
    pub fn headers(&self, index: usize) -> &Headers {
        &self.columns.headers[..self.len][index]
    }

    /// The headers of all records, in a column.
    pub fn headers_column(&self) -> &[Headers] {
        &self.columns.headers[..self.len]
    }

    /// Time, wire length, interface and link type of a record.
    #[inline]
    pub fn arrival(&self, index: usize) -> &Arrival {
        &self.columns.arrival[..self.len][index]
    }

    /// The record's place in its source's order, from 0.
    #[inline]
    pub fn number(&self, index: usize) -> u64 {
        self.columns.number[..self.len][index]
    }

    /// The record's symmetric flow hash
    /// ([`Headers::symmetric_flow_hash`]).
    #[inline]
    pub fn flow_hash(&self, index: usize) -> u32 {
        self.columns.flow_hash[..self.len][index]
    }

    /// The record's 5-tuple.
    #[inline]
    pub fn flow_key(&self, index: usize) -> Option<FlowKey> {
        FlowKey::from_headers(self.headers(index), self.record(index))
    }

    /// What the record still needs.
    #[inline]
    pub fn work(&self, index: usize) -> Work {
        self.columns.work[..self.len][index]
    }

    /// Sets what the record still needs.
    #[inline]
    pub fn set_work(&mut self, index: usize, work: Work) {
        self.columns.work[..self.len][index] = work;
    }

    /// What became of the record so far.
    #[inline]
    pub fn disposition(&self, index: usize) -> Disposition {
        self.columns.disposition[..self.len][index]
    }

    // ---- deciding a record's fate ---------------------------------------

    /// Drops a record that is still on its way.
    pub fn drop_record(&mut self, index: usize, reason: DropReason) {
        self.settle(index, Disposition::Drop(reason));
    }

    /// Takes a record off the stream for good, because it went into others or
    /// was meant for the stage itself.
    pub fn absorb(&mut self, index: usize) {
        self.settle(index, Disposition::Absorbed);
    }

    /// A record's fate is decided once: the first decision stands.
    fn settle(&mut self, index: usize, fate: Disposition) {
        let disposition = &mut self.columns.disposition[..self.len][index];
        if *disposition == Disposition::Forward {
            *disposition = fate;
        }
    }

    // ---- rewriting records ----------------------------------------------

    /// Makes a record writable, `front` bytes longer before its first byte and
    /// `back` bytes longer after its last (contents undefined there), and
    /// returns it. It is copied at most once; later growth uses the room
    /// around it while that lasts.
    ///
    /// The record's headers are those of before until
    /// [`reparse`](Batch::reparse) is called.
    pub fn grow(&mut self, index: usize, front: usize, back: usize) -> &mut [u8] {
        self.check(index);
        let place = self.columns.place[index];
        let (grown, room) = match self.blocks.get(place.block_index()) {
            Some(block) => self.slab.copy_in(&block[place.range()], front, back),
            None => self.slab.grow(place, self.columns.room[index], front, back),
        };
        self.columns.place[index] = grown;
        self.columns.room[index] = room;
        &mut self.slab.bytes_mut()[grown.range()]
    }

    /// Makes a record writable with `gap` undefined bytes behind its first
    /// `kept` ones, ending at what was its byte `end`, and `back` undefined bytes
    /// behind that; and returns it. It is what [`shrink`](Batch::shrink),
    /// [`grow`](Batch::grow) and moving the first bytes to the front would make
    /// of it, with every byte copied once. `kept` and `end` are brought into
    /// `0..=end` and `0..=` the record's length.
    #[inline]
    pub fn open_gap(
        &mut self,
        index: usize,
        kept: usize,
        gap: usize,
        end: usize,
        back: usize,
    ) -> &mut [u8] {
        self.check(index);
        let place = self.columns.place[index];
        let end = end.min(place.len());
        let kept = kept.min(end);
        let Some(block) = self.blocks.get(place.block_index()) else {
            self.shrink(index, 0, place.len() - end);
            let record = self.grow(index, gap, back);
            record.copy_within(gap..gap + kept, 0);
            return record;
        };
        let (first, rest) = block[place.range()].split_at(kept);
        let second = &rest[..end - kept];
        let (place, room) = self.slab.copy_apart(first, gap, second, back);
        self.columns.place[index] = place;
        self.columns.room[index] = room;
        &mut self.slab.bytes_mut()[place.range()]
    }

    /// Cuts bytes off a record's front and back. Cuts that overlap leave an
    /// empty record.
    pub fn shrink(&mut self, index: usize, front: usize, back: usize) {
        self.check(index);
        let place = &mut self.columns.place[index];
        *place = place.shrunk(front, back);
    }

    /// A record's bytes for writing in place (copied once, if they lie in a
    /// block).
    pub fn record_mut(&mut self, index: usize) -> &mut [u8] {
        self.grow(index, 0, 0)
    }

    /// Where a record begins in the memory that it lies in. Of records that
    /// were made writable one after the other, each begins behind the one
    /// before, unless one outgrew its room and moved behind all others.
    #[inline]
    pub fn offset(&self, index: usize) -> usize {
        self.columns.place[..self.len][index].range().start
    }

    /// Several records for writing at once: what a kernel that works on many
    /// packets needs.
    pub fn records_mut(&mut self) -> RecordsMut<'_> {
        RecordsMut {
            places: &self.columns.place[..self.len],
            remains: self.slab.take_apart(),
        }
    }

    /// Reads a record's headers again, after it was rewritten, and sets its
    /// wire length to its present one.
    pub fn reparse(&mut self, index: usize) {
        self.check(index);
        let columns = &mut *self.columns;
        let place = columns.place[index];
        let memory: &[u8] = match self.blocks.get(place.block_index()) {
            Some(block) => block,
            None => self.slab.bytes(),
        };
        let record = &memory[place.range()];
        let arrival = &mut columns.arrival[index];
        arrival.wire_bytes = record.len() as u32;
        let headers = &mut columns.headers[index];
        headers.parse_in_place(arrival.link, record);
        columns.flow_hash[index] = headers.symmetric_flow_hash(record);
    }

    /// What [`reparse`](Batch::reparse) does, for a record whose IP packet went
    /// into another one ([`Headers::enclose`]) and whose flow hash is known.
    #[inline]
    pub fn enclose(
        &mut self,
        index: usize,
        network: Network,
        protocol: u8,
        header_bytes: u16,
        flow_hash: u32,
    ) {
        self.check(index);
        let columns = &mut *self.columns;
        let record_bytes = columns.place[index].len() as u32;
        columns.arrival[index].wire_bytes = record_bytes;
        columns.headers[index].enclose(network, protocol, header_bytes, record_bytes);
        columns.flow_hash[index] = flow_hash;
        debug_assert_eq!(
            (columns.headers[index], flow_hash),
            {
                let link = self.columns.arrival[index].link;
                let headers = Headers::parse(link, self.record(index));
                (headers, headers.symmetric_flow_hash(self.record(index)))
            },
            "what stands in the record"
        );
    }

    // ---- events and accounts --------------------------------------------

    /// Notes an event of a record.
    pub fn notice(&mut self, index: usize, kind: EventKind) {
        let headers = *self.headers(index);
        let record = self.record(index);
        let icmp = match (headers.protocol, headers.transport(record)) {
            (1 | 58, [kind, code, ..]) => Some((*kind, *code)),
            _ => None,
        };
        let event = Event {
            arrival: self.number(index),
            timestamp_ns: self.arrival(index).timestamp_ns,
            flow: self.flow_key(index).unwrap_or_default(),
            icmp,
            vlan_tci: (headers.vlan_tags > 0).then_some(headers.vlan_tci),
            interface: self.arrival(index).interface,
            kind,
        };
        self.events.push(event);
    }

    /// What was noticed about this batch's records so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The batch's accounts, with the fate of every record.
    pub(crate) fn settle_accounts(&self) -> Tally {
        let mut tally = self.tally.clone();
        tally.events = self.events.len() as u64;
        let columns = &*self.columns;
        for (arrival, disposition) in columns.arrival[..self.len]
            .iter()
            .zip(&columns.disposition[..self.len])
        {
            match disposition {
                Disposition::Forward => {
                    tally.forwarded += 1;
                    tally.forwarded_bytes += u64::from(arrival.wire_bytes);
                }
                Disposition::Drop(reason) => tally.drops[*reason as usize] += 1,
                Disposition::Held => tally.held += 1,
                Disposition::Absorbed => tally.absorbed += 1,
            }
        }
        tally
    }
}

/// The writable records of a batch, each to be taken once, in ascending order
/// of their [`offset`](Batch::offset).
pub struct RecordsMut<'a> {
    places: &'a [Place],
    remains: Remains<'a>,
}

impl<'a> RecordsMut<'a> {
    /// A record. `None` where [`grow`](Batch::grow) or another method did not
    /// make it writable, where it or one behind it was taken before, and where
    /// there is no such record.
    #[inline]
    pub fn take(&mut self, index: usize) -> Option<&'a mut [u8]> {
        self.remains.take(*self.places.get(index)?)
    }
}

#[cfg(test)]
mod tests;
