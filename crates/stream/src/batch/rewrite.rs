//! Rewriting records: in the batch's own slab, copied once, with room around
//! them for what is to come.

use super::Batch;
use super::slab::{Place, Remains};

impl Batch {
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
        columns.arrival[index].wire_bytes = record.len() as u32;
        let link = columns.arrival[index].link;
        columns.parse(index, link, record, self.limits.keeps_flows);
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
