//! The memory of rewritten records.

use std::ops::Range;

/// Room in front of a record that was copied in, for the headers of
/// tunnels: an outer IPv6 header and what follows it take about 72 bytes.
const HEADROOM: usize = 128;

/// Room behind it, for padding, a trailer and a check value of 32 bytes.
const TAILROOM: usize = 64;

/// Records start on a cache line, less their headroom.
const ALIGNMENT: usize = 64;

/// The longest packet that is copied piece by piece.
const SHORT_BYTES: usize = 160;

/// Marks a place in the slab.
const IN_SLAB: u8 = u8::MAX;

/// Marks a record in a frame of a port; its room names the frame.
const IN_FRAME: u8 = u8::MAX - 1;

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

    /// A whole record in a frame.
    #[inline]
    pub fn in_frame(frame: usize, bytes: usize) -> (Place, Room) {
        let (start, frame) = (0, frame as u32);
        let room = Room {
            start: frame,
            end: 0,
        };
        (Place::in_block(IN_FRAME, start, bytes as u32), room)
    }

    /// The frame that it lies in, if it does; `room` belongs to the same record.
    #[inline]
    pub fn frame(self, room: Room) -> Option<usize> {
        (self.block == IN_FRAME).then_some(room.start as usize)
    }

    /// The same range of a block that has another handle here.
    pub fn moved_to(self, block: u8) -> Place {
        Place { block, ..self }
    }

    /// Index of its block; out of range for a place in the slab or in a frame.
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

    /// A part of it, if it lies in it.
    #[inline]
    pub fn part(self, bytes: Range<usize>) -> Option<Place> {
        if bytes.start > bytes.end || bytes.end > self.len() {
            return None;
        }
        Some(Place {
            start: self.start + bytes.start as u32,
            end: self.start + bytes.end as u32,
            ..self
        })
    }

    /// At most the first `bytes` of it.
    #[inline]
    pub fn cut_to(self, bytes: usize) -> Place {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Place {
            end: self.end.min(self.start.saturating_add(bytes)),
            ..self
        }
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

/// The part of the slab that belongs to a record, room around it included; or the number of its
/// frame.
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
    /// Grows by whole cache lines.
    used: usize,
}

impl Slab {
    pub fn clear(&mut self) {
        // From the first whole cache line on.
        let into_line = self.memory.as_ptr().addr() % ALIGNMENT;
        self.used = (ALIGNMENT - into_line) % ALIGNMENT;
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
        let record = &mut self.memory[place.range()];
        record[front..front + bytes.len()].copy_from_slice(bytes);
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

    #[inline]
    fn allocate(&mut self, bytes: usize) -> (Place, Room) {
        let room_start = self.used;
        let start = room_start + HEADROOM;
        let end = start + bytes;
        let room_end = room_start + whole_lines(HEADROOM + bytes + TAILROOM);
        if self.memory.len() < room_end {
            self.extend(room_end);
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

    /// Ensures that there is memory for `records` more records with `bytes` together, and lends
    /// it with all other memory.
    pub fn reserve(&mut self, records: usize, bytes: usize) -> (Reserved<'_>, &mut [u8]) {
        let around_bytes = HEADROOM + TAILROOM + 2 * ALIGNMENT;
        let end = self.used + whole_lines(records * around_bytes + bytes);
        if self.memory.len() < end {
            self.extend(end);
        }
        let used = &mut self.used;
        (Reserved { used, end }, &mut self.memory)
    }

    #[cold]
    fn extend(&mut self, bytes: usize) {
        self.memory.resize(bytes.next_power_of_two(), 0);
    }
}

/// Memory of a slab in which there are no records yet.
pub(super) struct Reserved<'a> {
    used: &'a mut usize,
    end: usize,
}

impl Reserved<'_> {
    /// Takes a place for a record of `bytes`, with headroom and tailroom. The byte behind the
    /// first `ahead` ones begins a cache line. `None` where the memory does not suffice.
    #[inline(always)]
    pub fn take(&mut self, ahead: usize, bytes: usize) -> Option<(Place, Room)> {
        let room_start = *self.used;
        let start = room_start + whole_lines(HEADROOM + ahead) - ahead;
        let end = start + bytes;
        let room_end = room_start + whole_lines(end - room_start + TAILROOM);
        if room_end > self.end {
            return None;
        }
        *self.used = room_end;
        let place = Place {
            start: start as u32,
            end: end as u32,
            block: IN_SLAB,
        };
        let room = Room {
            start: room_start as u32,
            end: room_end as u32,
        };
        Some((place, room))
    }
}

/// `bytes` rounded up to whole cache lines.
#[inline]
fn whole_lines(bytes: usize) -> usize {
    (bytes + ALIGNMENT - 1) & !(ALIGNMENT - 1)
}

/// Copies what is mostly a link header, without a call where it is as short as
/// Ethernet's: in two halves that overlap.
#[inline(always)]
pub(super) fn copy_link_header(to: &mut [u8], from: &[u8]) {
    if let (8..=16, Some(head), Some(tail)) = (from.len(), from.first_chunk(), from.last_chunk()) {
        if let Some(to) = to.first_chunk_mut::<8>() {
            *to = *head;
        }
        if let Some(to) = to.last_chunk_mut::<8>() {
            *to = *tail;
        }
    } else {
        to.copy_from_slice(from);
    }
}

/// Copies what is mostly a short packet, without a call where it is one: in
/// pieces of which the last overlaps the one before.
#[inline(always)]
pub(super) fn copy_packet(to: &mut [u8], from: &[u8]) {
    const PIECE: usize = 32;
    if let (PIECE..=SHORT_BYTES, Some(tail)) = (from.len(), from.last_chunk::<PIECE>()) {
        let pieces = to.as_chunks_mut::<PIECE>().0;
        let before_last = &from[..from.len() - 1];
        for (to, from) in pieces.iter_mut().zip(before_last.as_chunks::<PIECE>().0) {
            *to = *from;
        }
        if let Some(to) = to.last_chunk_mut() {
            *to = *tail;
        }
    } else {
        to.copy_from_slice(from);
    }
}
