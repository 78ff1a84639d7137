//! The batch itself.

use std::sync::Arc;

use weir_packet::file::{Block, Interface};
use weir_packet::wire::{FlowKey, Headers, Ipv4Flow, LinkType};
use weir_port::{Frames, Offload};

use super::limits::{BATCH_RECORDS, BatchLimits};
use super::slab::{Place, Room, Slab};
use crate::arrival::Arrival;
use crate::disposition::Disposition;
use crate::egress::Egress;
use crate::event::Event;
use crate::statistics::Tally;
use crate::work::{Work, WorkArgument};

/// The most blocks that a batch keeps alive.
pub(super) const BATCH_BLOCKS: usize = 16;

/// A batch has no room for another record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch is full")]
pub struct BatchFull;

/// One record's metadata, gathered from the columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) arrival: Arrival,
    pub(super) number: u64,
    pub(super) headers: Headers,
    pub(super) flow_hash: u32,
    pub(super) ipv4_flow: Ipv4Flow,
    pub(super) work: Work,
    pub(super) egress: Egress,
    pub(super) offload: Offload,
}

/// The columns: one array per field, so that a kernel loads only what it
/// reads.
pub(super) struct Columns {
    pub(super) place: [Place; BATCH_RECORDS],
    /// Only of records in the slab and in frames.
    pub(super) room: [Room; BATCH_RECORDS],
    pub(super) arrival: [Arrival; BATCH_RECORDS],
    pub(super) number: [u64; BATCH_RECORDS],
    pub(super) headers: [Headers; BATCH_RECORDS],
    pub(super) flow_hash: [u32; BATCH_RECORDS],
    /// Of IPv4 packets, where the batch's limits say so and headers were parsed in
    /// their column; nothing for others.
    pub(super) ipv4_flow: [Ipv4Flow; BATCH_RECORDS],
    pub(super) work: [Work; BATCH_RECORDS],
    pub(super) disposition: [Disposition; BATCH_RECORDS],
    pub(super) egress: [Egress; BATCH_RECORDS],
    /// None, unless the batch has offloads.
    pub(super) offload: [Offload; BATCH_RECORDS],
}

impl Columns {
    /// Fills in what a record's headers say.
    ///
    /// Straight into the columns: a row on the stack, written field by field and
    /// read back in words, would stall on every record.
    #[inline(always)]
    pub(super) fn parse(&mut self, index: usize, link: LinkType, record: &[u8], keeps_flows: bool) {
        let headers = &mut self.headers[index];
        headers.parse_in_place(link, record);
        self.flow_hash[index] = headers.symmetric_flow_hash(record);
        if keeps_flows {
            self.ipv4_flow[index] = Ipv4Flow::from_headers(headers, record);
        }
    }
}

/// Up to [`BATCH_RECORDS`] records in arrival order.
///
/// Records are named by their index in the batch, `0..len()`. Indices stay
/// valid for the life of the batch: a dropped, held or absorbed record keeps
/// its row. Methods that take an index panic where it is not below `len()`,
/// as slices do.
pub struct Batch {
    pub(super) columns: Box<Columns>,
    pub(super) len: usize,
    pub(super) bytes: usize,
    pub(super) limits: BatchLimits,
    pub(super) blocks: Vec<Arc<Block>>,
    pub(super) slab: Slab,
    pub(super) frames: Frames,
    /// Whether a record may have an offload.
    pub(super) has_offloads: bool,
    pub(super) interfaces: Arc<[Interface]>,
    /// By the number of the port; none where there are no ports.
    pub(super) mtus_bytes: Arc<[usize]>,
    pub(super) events: Vec<Event>,
    /// In a place of its own: batches are moved between threads.
    pub(super) tally: Box<Tally>,
    pub(super) records_steered: u64,
    pub(super) last: bool,
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
                ipv4_flow: [Ipv4Flow::default(); BATCH_RECORDS],
                work: [Work::default(); BATCH_RECORDS],
                disposition: [Disposition::Forward; BATCH_RECORDS],
                egress: [Egress::NONE; BATCH_RECORDS],
                offload: [Offload::default(); BATCH_RECORDS],
            }),
            len: 0,
            bytes: 0,
            limits,
            blocks: Vec::with_capacity(BATCH_BLOCKS),
            slab: Slab::default(),
            frames: Frames::default(),
            has_offloads: false,
            interfaces: Arc::new([]),
            mtus_bytes: Arc::new([]),
            events: Vec::new(),
            tally: Box::default(),
            records_steered: 0,
            last: false,
        }
    }

    /// Empties the batch for its next use; its memory stays.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.has_offloads) {
            self.columns.offload[..self.len].fill(Offload::default());
            self.frames.clear();
        }
        self.len = 0;
        self.bytes = 0;
        self.blocks.clear();
        self.slab.clear();
        self.events.clear();
        self.tally.reset();
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
        let records = self.limits.records.saturating_sub(self.len);
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

    /// With several shards: the number that the source's next record had when the
    /// batch was sent to its shard. Records with lower numbers that are not in it
    /// went to other shards, or came in batches before it.
    pub fn records_steered(&self) -> u64 {
        self.records_steered
    }

    pub(crate) fn set_records_steered(&mut self, records: u64) {
        self.records_steered = records;
    }

    /// Says that the source has nothing more.
    pub fn mark_last(&mut self) {
        self.last = true;
    }

    /// Whether the source has nothing more.
    pub fn is_last(&self) -> bool {
        self.last
    }

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
        match self.blocks.get(place.block_index()) {
            Some(block) => &block[place.range()],
            None => match place.frame(self.columns.room[index]) {
                Some(frame) => self.frames.bytes(frame),
                None => &self.slab.bytes()[place.range()],
            },
        }
    }

    /// How many of a record's bytes there are: the length of [`Batch::record`].
    #[inline(always)]
    pub fn captured_bytes(&self, index: usize) -> u32 {
        self.columns.place[..self.len][index].len() as u32
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

    /// Time, length on the wire, interface and link type of a record.
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
    #[inline(always)]
    pub fn flow_key(&self, index: usize) -> Option<FlowKey> {
        let kept = self.ipv4_flows()[index].key();
        kept.or_else(|| FlowKey::from_headers(self.headers(index), self.record(index)))
    }

    /// The 5-tuples of the records of IPv4 as far as they are kept
    /// ([`BatchLimits::keep_flows`]), nothing for others: [`Batch::flow_key`] has
    /// them all.
    #[inline(always)]
    pub fn ipv4_flows(&self) -> &[Ipv4Flow] {
        &self.columns.ipv4_flow[..self.len]
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

    /// Lists the records on their way whose work includes this, by index and argument in
    /// the order of arrival, and takes it off their work, as done.
    pub fn take_work(&mut self, of: WorkArgument, list: &mut Vec<(u32, u32)>) {
        list.clear();
        let columns = &mut *self.columns;
        let dispositions = &columns.disposition[..self.len];
        for ((index, work), disposition) in (0..).zip(&mut columns.work).zip(dispositions) {
            if *disposition == Disposition::Forward
                && let Some(argument) = work.argument(of)
            {
                list.push((index, argument));
                *work = work.without_argument(of);
            }
        }
    }

    /// What became of the record so far.
    #[inline]
    pub fn disposition(&self, index: usize) -> Disposition {
        self.columns.disposition[..self.len][index]
    }

    pub(super) fn row(&self, index: usize) -> Row {
        self.check(index);
        Row {
            arrival: self.columns.arrival[index],
            number: self.columns.number[index],
            headers: self.columns.headers[index],
            flow_hash: self.columns.flow_hash[index],
            ipv4_flow: self.columns.ipv4_flow[index],
            work: self.columns.work[index],
            egress: self.columns.egress[index],
            offload: self.columns.offload[index],
        }
    }

    #[inline]
    pub(super) fn check(&self, index: usize) {
        assert!(
            index < self.len,
            "record {index} of a batch of {}",
            self.len
        );
    }
}
