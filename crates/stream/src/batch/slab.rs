//! The memory of rewritten records.

use std::ops::Range;

/// Room in front of a record that was copied in: an outer IPv6 header, UDP,
/// ESP header and IV take 72 bytes, a second tunnel layer about as much.
const HEADROOM: usize = 128;

/// Room behind it: ESP padding, its trailer and a 32-byte ICV.
const TAILROOM: usize = 64;

/// Records start on a cache line, less their headroom.
const ALIGNMENT: usize = 64;

/// Bytes in front of an enclosed packet, room included: whole cache lines, so that
/// the packet starts on one, as do what the cipher reads and writes.
pub const FRONT_BYTES: usize = HEADROOM + 64;

/// The longest packet that is copied piece by piece.
const SHORT_BYTES: usize = 160;

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
        self.copy_apart(&[], front, bytes, back)
    }

    /// Copies a record in, in two parts, with `gap` undefined bytes between
    /// them and `back` behind them that belong to it.
    #[inline]
    pub fn copy_apart(
        &mut self,
        first: &[u8],
        gap: usize,
        second: &[u8],
        back: usize,
    ) -> (Place, Room) {
        let (place, room) = self.allocate(first.len() + gap + second.len() + back);
        let record = &mut self.memory[place.range()];
        copy_header(&mut record[..first.len()], first);
        let start = first.len() + gap;
        copy_packet(&mut record[start..start + second.len()], second);
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

    /// Takes memory for so many enclosed packets with so many bytes together, what
    /// goes behind them included; beside it, what was taken before.
    pub fn claim(&mut self, packets: usize, bytes: usize) -> (&[u8], Free<'_>) {
        let start = self.used;
        let around_bytes = FRONT_BYTES + TAILROOM + ALIGNMENT;
        let end = start + whole_lines(packets * around_bytes + bytes);
        if self.memory.len() < end {
            self.extend(end);
        }
        self.used = end;
        let (taken, rest) = self.memory.split_at_mut(start);
        let memory = &mut rest[..end - start];
        (taken, Free { memory, start })
    }

    #[cold]
    fn extend(&mut self, bytes: usize) {
        self.memory.resize(bytes.next_power_of_two(), 0);
    }

    /// All of the memory, to be taken record by record.
    pub fn take_apart(&mut self) -> Remains<'_> {
        Remains {
            rest: &mut self.memory,
            passed: 0,
        }
    }
}

/// Memory of a slab that was claimed and holds no record yet.
pub(super) struct Free<'a> {
    memory: &'a mut [u8],
    /// Where it starts in the slab.
    start: usize,
}

/// A record that was copied in to be enclosed.
pub(super) struct Copied<'a> {
    pub place: Place,
    pub room: Room,
    pub enclosed: Enclosed<'a>,
}

/// The bytes of a record whose packet goes into another one.
pub struct Enclosed<'a> {
    /// Undefined bytes, the link header, and at the end the undefined bytes that
    /// were asked for in front of the packet.
    pub front: &'a mut [u8; FRONT_BYTES],
    /// Where the link header begins in it, and with it the record.
    pub link_offset: usize,
    /// The packet, and the undefined bytes behind it.
    pub rest: &'a mut [u8],
}

impl<'a> Free<'a> {
    /// Copies a link header and a packet in, with so many bytes in front of the
    /// packet and behind it. `None` where the memory does not suffice or
    /// [`FRONT_BYTES`] do not.
    #[inline]
    pub fn enclose(
        &mut self,
        link_header: &[u8],
        front_bytes: usize,
        packet: &[u8],
        back_bytes: usize,
    ) -> Option<Copied<'a>> {
        let link_offset = FRONT_BYTES.checked_sub(link_header.len() + front_bytes)?;
        let rest_bytes = packet.len() + back_bytes;
        let room_bytes = whole_lines(FRONT_BYTES + rest_bytes + TAILROOM);
        if self.memory.len() < room_bytes {
            return None;
        }
        let (room, memory) = std::mem::take(&mut self.memory).split_at_mut(room_bytes);
        self.memory = memory;
        let room_start = self.start;
        self.start += room_bytes;
        let (front, rest) = room.split_first_chunk_mut::<FRONT_BYTES>()?;
        let rest = rest.get_mut(..rest_bytes)?;
        copy_header(
            front.get_mut(link_offset..)?.get_mut(..link_header.len())?,
            link_header,
        );
        copy_packet(rest.get_mut(..packet.len())?, packet);
        Some(Copied {
            place: Place {
                start: (room_start + link_offset) as u32,
                end: (room_start + FRONT_BYTES + rest_bytes) as u32,
                block: IN_SLAB,
            },
            room: Room {
                start: room_start as u32,
                end: (room_start + room_bytes) as u32,
            },
            enclosed: Enclosed {
                front,
                link_offset,
                rest,
            },
        })
    }
}

/// So many bytes, and as many more as fill cache lines.
#[inline]
fn whole_lines(bytes: usize) -> usize {
    (bytes + ALIGNMENT - 1) & !(ALIGNMENT - 1)
}

/// Copies what is mostly a link header, without a call where it is as short as
/// Ethernet's: in two halves that overlap.
#[inline(always)]
fn copy_header(to: &mut [u8], from: &[u8]) {
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
fn copy_packet(to: &mut [u8], from: &[u8]) {
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

/// What of a slab nobody has taken.
pub(super) struct Remains<'a> {
    rest: &'a mut [u8],
    /// Bytes in front of it.
    passed: usize,
}

impl<'a> Remains<'a> {
    /// The record at `place`; `None` outside the slab, or where it was taken
    /// before or lies before one that was.
    #[inline]
    pub fn take(&mut self, place: Place) -> Option<&'a mut [u8]> {
        if place.block != IN_SLAB {
            return None;
        }
        let range = place.range();
        let skip = range.start.checked_sub(self.passed)?;
        let (_, from_start) = std::mem::take(&mut self.rest).split_at_mut(skip);
        let (record, behind) = from_start.split_at_mut(range.len());
        self.rest = behind;
        self.passed = range.end;
        Some(record)
    }
}
