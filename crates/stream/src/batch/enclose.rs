//! Records whose packets go into other packets, many in one go.

use std::sync::Arc;

use weir_packet::file::Block;
use weir_packet::wire::{Headers, Ipv4Flow, Network};

use super::slab::{Enclosed, Free};
use super::{BATCH_RECORDS, Batch, Columns};
use crate::arrival::Arrival;

/// What is put around a record's IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enclosing {
    /// The outer header's version.
    pub network: Network,
    /// The protocol that follows it, one without ports.
    pub protocol: u8,
    /// Bytes of the outer header.
    pub header_bytes: u16,
    /// The flow hash of such a packet.
    pub flow_hash: u32,
    /// Bytes between link header and packet, the outer header among them.
    pub front_bytes: usize,
    /// Bytes behind the packet.
    pub back_bytes: usize,
}

/// The records of a batch, to be put into other packets. All that come out of it
/// can be written to at the same time.
pub struct Enclosures<'a> {
    columns: &'a mut Columns,
    len: usize,
    blocks: &'a [Arc<Block>],
    /// What lay in the slab before.
    written: &'a [u8],
    free: Free<'a>,
}

impl Batch {
    /// Makes room for `records` to be [enclosed](Enclosures::enclose), whose
    /// packets have `bytes` together, what goes behind them included.
    pub fn enclosures(&mut self, records: usize, bytes: usize) -> Enclosures<'_> {
        let (written, free) = self.slab.claim(records, bytes);
        Enclosures {
            columns: &mut self.columns,
            len: self.len,
            blocks: &self.blocks,
            written,
            free,
        }
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

impl<'a> Enclosures<'a> {
    /// As [`Batch::headers`].
    #[inline]
    pub fn headers(&self, index: usize) -> &Headers {
        &self.columns.headers[..self.len][index]
    }

    /// As [`Batch::arrival`].
    #[inline]
    pub fn arrival(&self, index: usize) -> &Arrival {
        &self.columns.arrival[..self.len][index]
    }

    /// Copies a record: its link header, undefined bytes for what goes between,
    /// its IP packet without link padding, undefined bytes for what goes behind.
    /// Its metadata are those of the outer packet from now on, whose bytes the
    /// caller writes.
    ///
    /// `None`, and nothing has changed, where there is no such record, where its
    /// headers do not lie in it, where link header and front take more than
    /// [`FRONT_BYTES`](crate::FRONT_BYTES), and where less room was asked for than
    /// the record takes.
    ///
    // What it returns would pass through memory, and be read in other pieces than
    // it was written, if it were called.
    #[inline(always)]
    pub fn enclose(&mut self, index: usize, around: &Enclosing) -> Option<Enclosed<'a>> {
        if index >= self.len.min(BATCH_RECORDS) {
            return None;
        }
        let columns = &mut *self.columns;
        let place = &mut columns.place[index];
        let headers = &mut columns.headers[index];
        let memory: &[u8] = match self.blocks.get(place.block_index()) {
            Some(block) => block,
            None => self.written,
        };
        let record = memory
            .get(place.range())?
            .get(..headers.end_offset as usize)?;
        let (link_header, packet) = record.split_at_checked(usize::from(headers.network_offset))?;
        let (front_bytes, back_bytes) = (around.front_bytes, around.back_bytes);
        let copied = self
            .free
            .enclose(link_header, front_bytes, packet, back_bytes)?;
        *place = copied.place;
        columns.room[index] = copied.room;
        let record_bytes = place.len() as u32;
        columns.arrival[index].wire_bytes = record_bytes;
        headers.enclose(
            around.network,
            around.protocol,
            around.header_bytes,
            record_bytes,
        );
        columns.flow_hash[index] = around.flow_hash;
        columns.ipv4_flow[index] = Ipv4Flow::default();
        Some(copied.enclosed)
    }
}
