//! Records that give way to what was inside them, many in one go.

use std::sync::Arc;

use weir_packet::file::Block;
use weir_packet::wire::Headers;

use super::slab::{Free, Place, Room};
use super::{BATCH_RECORDS, Batch, Columns};
use crate::arrival::Arrival;

/// The records of a batch, parts of which are copied out. All copies can be
/// written to at the same time; the records stay as they are until one of them
/// [is replaced](Batch::replace).
pub struct Extracts<'a> {
    columns: &'a Columns,
    len: usize,
    blocks: &'a [Arc<Block>],
    /// What lay in the slab before.
    written: &'a [u8],
    free: Free<'a>,
}

/// A record with what is known of it.
#[derive(Clone, Copy)]
pub struct RecordRow<'a> {
    /// As [`Batch::record`].
    pub record: &'a [u8],
    /// As [`Batch::headers`].
    pub headers: &'a Headers,
    /// As [`Batch::arrival`].
    pub arrival: &'a Arrival,
}

/// Names a copy, with a link header in front of it, in the memory of the batch that
/// it was made in. It holds until that batch is cleared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extract {
    place: Place,
    room: Room,
    link_bytes: u16,
}

impl Batch {
    /// Makes room for `records` parts of records, which have `bytes` together.
    pub fn extracts(&mut self, records: usize, bytes: usize) -> Extracts<'_> {
        let (written, free) = self.slab.claim(records, bytes);
        Extracts {
            columns: &self.columns,
            len: self.len,
            blocks: &self.blocks,
            written,
            free,
        }
    }

    /// The link header and the text of a copy; `None` where it is not of this
    /// batch.
    #[inline]
    pub fn extract_mut(&mut self, extract: &Extract) -> Option<(&mut [u8], &mut [u8])> {
        self.slab
            .bytes_mut()
            .get_mut(extract.place.range())?
            .split_at_mut_checked(usize::from(extract.link_bytes))
    }

    /// Puts a link header and the first `text_bytes` of the text behind it in the
    /// place of a record, and reads its headers. What follows an IP packet by the
    /// packet's own length is cut off.
    ///
    /// Returns the record and its headers, for corrections that leave the headers'
    /// places and the flow hash as they are. `None`, and nothing has changed, where
    /// there is no such record or the copy is not of this batch.
    // Called, it would pass its values through memory.
    #[inline(always)]
    pub fn replace(
        &mut self,
        index: usize,
        extract: &Extract,
        text_bytes: usize,
    ) -> Option<(&Headers, &mut [u8])> {
        if index >= self.len.min(BATCH_RECORDS) {
            return None;
        }
        let place = extract
            .place
            .cut_to(usize::from(extract.link_bytes) + text_bytes);
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
        columns.room[index] = extract.room;
        columns.arrival[index].wire_bytes = bytes as u32;
        Some((headers, record.get_mut(..bytes)?))
    }
}

impl<'a> Extracts<'a> {
    /// A record; `None` where there is no such record.
    #[inline(always)]
    pub fn row(&self, index: usize) -> Option<RecordRow<'a>> {
        if index >= self.len.min(BATCH_RECORDS) {
            return None;
        }
        let columns: &'a Columns = self.columns;
        let place = columns.place[index];
        let memory: &'a [u8] = match self.blocks.get(place.block_index()) {
            Some(block) => block,
            None => self.written,
        };
        Some(RecordRow {
            record: memory.get(place.range())?,
            headers: &columns.headers[index],
            arrival: &columns.arrival[index],
        })
    }

    /// Copies a link header, and right behind it a text, both parts of a record.
    /// Returns the copy of the text, and what names both.
    ///
    /// `None` where the link header is longer than
    /// [`FRONT_BYTES`](crate::FRONT_BYTES), and where less room was asked for than
    /// the copy takes.
    // As for `replace`.
    #[inline(always)]
    pub fn extract(&mut self, link_header: &[u8], text: &[u8]) -> Option<(&'a mut [u8], Extract)> {
        let copied = self.free.enclose(link_header, 0, text, 0)?;
        let extract = Extract {
            place: copied.place,
            room: copied.room,
            // It fits the bytes in front.
            link_bytes: link_header.len() as u16,
        };
        Some((copied.enclosed.rest, extract))
    }
}
