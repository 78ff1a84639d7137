//! The memory of rewritten records.

use std::ops::Range;

/// Room in front of a record that was copied in: an outer IPv6 header, UDP,
/// ESP header and IV take 72 bytes, a second tunnel layer about as much.
const HEADROOM: usize = 128;

/// Room behind it: ESP padding, its trailer and a 32-byte ICV.
const TAILROOM: usize = 64;

/// Records start on a cache line, less their headroom.
const ALIGNMENT: usize = 64;

/// Marks a place in the slab.
const IN_SLAB: u8 = u8::MAX;

/// Where a record's bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    start: u32,
    end: u32,
    block: u8,
}

impl Default for Place {
    fn default() -> Place {
        Place::in_block(IN_SLAB, 0, 0)
    }
}

impl Place {
    #[inline]
    pub fn in_block(block: u8, offset: u32, bytes: u32) -> Place {
        Place {
            start: offset,
            end: offset.saturating_add(bytes),
            block,
        }
    }

    /// The same range of a block that has another handle here.
    pub fn moved_to(self, block: u8) -> Place {
        Place { block, ..self }
    }

    /// Index of its block; out of range for a place in the slab.
    #[inline]
    pub fn block_index(self) -> usize {
        usize::from(self.block)
    }

    #[inline]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    #[inline]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    pub fn shrunk(self, front: usize, back: usize) -> Place {
        let start = (self.start as usize)
            .saturating_add(front)
            .min(self.end as usize);
        let end = (self.end as usize).saturating_sub(back).max(start);
        Place {
            start: start as u32,
            end: end as u32,
            ..self
        }
    }
}

/// The part of the slab that belongs to a record, room around it included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    start: u32,
    end: u32,
}

/// Bump-allocated memory for the rewritten records of one batch.
#[derive(Default)]
pub(super) struct Slab {
    /// Only `..used` belongs to records; the rest is kept for the next batch.
    memory: Vec<u8>,
    used: usize,
}

impl Slab {
    pub fn clear(&mut self) {
        self.used = 0;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    pub fn store(&mut self, bytes: &[u8]) -> (Place, Room) {
        self.copy_in(bytes, 0, 0)
    }

    /// Copies a record in, with `front` and `back` undefined bytes around it
    /// that belong to it.
    pub fn copy_in(&mut self, bytes: &[u8], front: usize, back: usize) -> (Place, Room) {
        let (place, room) = self.allocate(front + bytes.len() + back);
        let start = place.start as usize + front;
        self.memory[start..start + bytes.len()].copy_from_slice(bytes);
        (place, room)
    }

    /// Grows a record of the slab, where it is if its room suffices.
    pub fn grow(&mut self, place: Place, room: Room, front: usize, back: usize) -> (Place, Room) {
        let fits =
            (place.start - room.start) as usize >= front && (room.end - place.end) as usize >= back;
        if fits {
            let grown = Place {
                start: place.start - front as u32,
                end: place.end + back as u32,
                ..place
            };
            return (grown, room);
        }
        let (moved, room) = self.allocate(front + place.len() + back);
        self.memory
            .copy_within(place.range(), moved.start as usize + front);
        (moved, room)
    }

    fn allocate(&mut self, bytes: usize) -> (Place, Room) {
        let room_start = self.used.next_multiple_of(ALIGNMENT);
        let start = room_start + HEADROOM;
        let end = start + bytes;
        let room_end = end + TAILROOM;
        if self.memory.len() < room_end {
            self.memory.resize(room_end.next_power_of_two(), 0);
        }
        self.used = room_end;
        let place = Place {
            start: start as u32,
            end: end as u32,
            block: IN_SLAB,
        };
        let room = Room {
            start: room_start as u32,
            end: room_end as u32,
        };
        (place, room)
    }

    /// The records at `places`, all writable at once. A place outside the
    /// slab, or one that was taken before or lies before one that was,
    /// yields `None`.
    pub fn disjoint_mut(
        &mut self,
        places: impl Iterator<Item = Option<Place>>,
    ) -> impl Iterator<Item = Option<&mut [u8]>> {
        let mut rest: &mut [u8] = &mut self.memory;
        let mut passed = 0;
        places.map(move |place| {
            let range = place.filter(|place| place.block == IN_SLAB)?.range();
            let skip = range.start.checked_sub(passed)?;
            let (_, from_start) = std::mem::take(&mut rest).split_at_mut(skip);
            let (record, behind) = from_start.split_at_mut(range.len());
            rest = behind;
            passed = range.end;
            Some(record)
        })
    }
}
