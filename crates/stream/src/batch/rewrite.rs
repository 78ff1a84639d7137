//! Rewriting records: in their frame, or in the batch's own slab, copied once, with
//! room around them for what is to come.

use super::records::Batch;
use super::slab::Place;

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
        if let Some(frame) = place.frame(self.columns.room[index]) {
            return self.grow_frame(index, frame, front, back);
        }
        let (grown, room) = match self.blocks.get(place.block_index()) {
            Some(block) => self.slab.copy_in(&block[place.range()], front, back),
            None => self.slab.grow(place, self.columns.room[index], front, back),
        };
        self.columns.place[index] = grown;
        self.columns.room[index] = room;
        &mut self.slab.bytes_mut()[grown.range()]
    }

    /// The same of a record in a frame: it grows into the frame's own space, or moves to the
    /// slab where that does not suffice.
    fn grow_frame(&mut self, index: usize, frame: usize, front: usize, back: usize) -> &mut [u8] {
        let frames = &mut self.frames;
        if frames.headroom(frame) >= front && frames.tailroom(frame) >= back {
            frames.extend_front(frame, front);
            frames.extend_back(frame, back);
            let bytes = frames.bytes(frame).len();
            (self.columns.place[index], self.columns.room[index]) = Place::in_frame(frame, bytes);
            return self.frames.bytes_mut(frame);
        }
        let (grown, room) = self.slab.copy_in(frames.bytes(frame), front, back);
        frames.discard(frame);
        (self.columns.place[index], self.columns.room[index]) = (grown, room);
        &mut self.slab.bytes_mut()[grown.range()]
    }

    /// Cuts bytes off a record's front and back. Cuts that overlap leave an
    /// empty record.
    pub fn shrink(&mut self, index: usize, front: usize, back: usize) {
        self.check(index);
        let place = self.columns.place[index];
        let shrunk = place.shrunk(front, back);
        self.columns.place[index] = match place.frame(self.columns.room[index]) {
            Some(frame) => {
                self.frames.cut_front(frame, shrunk.range().start);
                let back = self.frames.bytes(frame).len() - shrunk.len();
                self.frames.cut_back(frame, back);
                Place::in_frame(frame, shrunk.len()).0
            }
            None => shrunk,
        };
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
        let record = match self.blocks.get(place.block_index()) {
            Some(block) => &block[place.range()],
            None => match place.frame(columns.room[index]) {
                Some(frame) => self.frames.bytes(frame),
                None => &self.slab.bytes()[place.range()],
            },
        };
        columns.arrival[index].wire_bytes = record.len() as u32;
        let link = columns.arrival[index].link;
        columns.parse(index, link, record, self.limits.keeps_flows);
    }
}
