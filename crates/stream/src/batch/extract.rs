//! Records that give way to what was inside them, many in one go.

use std::sync::Arc;

use weir_packet::file::Block;
use weir_packet::wire::Headers;

use super::slab::{Free, Place, Room};
use super::{Arrival, BATCH_RECORDS, Batch, Columns};

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

/// A copy of a part of a record, and the record itself.
pub struct Extracted<'a> {
    /// All of the record, as it was.
    pub record: &'a [u8],
    /// The copied part.
    pub text: &'a mut [u8],
    /// What the record may be replaced by.
    pub extract: Extract,
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
        columns.parse(index, link, record, self.limits.keeps_addresses);
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

    /// As [`Batch::record`].
    #[inline]
    pub fn record(&self, index: usize) -> &'a [u8] {
        let place = self.columns.place[..self.len][index];
        &self.memory(place)[place.range()]
    }

    #[inline]
    fn memory(&self, place: Place) -> &'a [u8] {
        match self.blocks.get(place.block_index()) {
            Some(block) => block,
            None => self.written,
        }
    }

    /// Copies a record's link header, and right behind it `text_bytes` of the record
    /// from `text_offset` on.
    ///
    /// `None` where there is no such record, where the link header or the text do
    /// not lie in it, where the link header is longer than
    /// [`FRONT_BYTES`](crate::FRONT_BYTES), and where less room was asked for than
    /// the copy takes.
    // As for `replace`.
    #[inline(always)]
    pub fn extract(
        &mut self,
        index: usize,
        text_offset: usize,
        text_bytes: usize,
    ) -> Option<Extracted<'a>> {
        if index >= self.len.min(BATCH_RECORDS) {
            return None;
        }
        let place = self.columns.place[index];
        let record = self.memory(place).get(place.range())?;
        let link_bytes = self.columns.headers[index].network_offset;
        let link_header = record.get(..usize::from(link_bytes))?;
        let text = record.get(text_offset..)?.get(..text_bytes)?;
        let copied = self.free.enclose(link_header, 0, text, 0)?;
        Some(Extracted {
            record,
            text: copied.enclosed.rest,
            extract: Extract {
                place: copied.place,
                room: copied.room,
                link_bytes,
            },
        })
    }
}
