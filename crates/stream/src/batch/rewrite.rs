//! Rewriting records: in the batch's own slab, copied once, with room around
//! them for what is to come.

use super::Batch;

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
