//! Memory of packets: pools of frames, and the frames that a batch owns.

mod pool;

use std::fmt;

pub use pool::{FrameLayout, FramePool};

use crate::port::{Arrival, Offload, Packet};
use crate::sys::region::Token;

/// Packets that were received, each in a frame of one [`FramePool`], with the space around it.
///
/// Packets have numbers, in order of arrival, that stay theirs until [`Self::clear`]. All frames
/// go back to the pool then, or when the set is dropped.
///
/// ```
/// use weir_port::{Arrival, FrameLayout, FramePool, Frames};
///
/// let pool = FramePool::new(FrameLayout { frames: 64, ..FrameLayout::default() })?;
/// let mut frames = Frames::of(&pool);
/// let packet = frames.push(&[7; 60], Arrival::default()).expect("the pool has frames");
///
/// // In place: an outer header in front of the packet, a tag behind it.
/// assert!(frames.extend_front(packet, 20) && frames.extend_back(packet, 16));
/// frames.bytes_mut(packet)[..20].fill(0x45);
/// assert_eq!(frames.bytes(packet).len(), 20 + 60 + 16);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct Frames {
    pool: Option<FramePool>,
    slots: Vec<Slot>,
    /// Frames taken from the pool for packets to come.
    spare: Vec<Token>,
}

/// A packet in its frame. The token is missing where the frame was taken out.
struct Slot {
    token: Option<Token>,
    place: Place,
}

/// Where in a frame a packet lies, and how it came there.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    end: u32,
    arrival: Arrival,
}

impl Frames {
    /// No packets yet; frames are those of `pool`. [`Frames::default`] leaves the pool open:
    /// the first port that fills it decides.
    pub fn of(pool: &FramePool) -> Frames {
        Frames {
            pool: Some(pool.clone()),
            slots: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// How many packets were added, those that were taken out included.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether none was added.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The pool of the frames.
    pub fn pool(&self) -> Option<&FramePool> {
        self.pool.as_ref()
    }

    /// Whether frames of `pool` may be added: it is the pool of these, or there are none.
    pub fn accepts(&self, pool: &FramePool) -> bool {
        self.slots.is_empty() || self.is_of(pool)
    }

    pub(crate) fn is_of(&self, pool: &FramePool) -> bool {
        self.pool.as_ref().is_some_and(|own| own.is_same(pool))
    }

    /// Whether packet `index` is here still.
    ///
    /// # Panics
    /// As all functions with an `index`: there are not so many packets.
    pub fn contains(&self, index: usize) -> bool {
        self.slots[index].token.is_some()
    }

    /// A packet; empty where it was taken out.
    pub fn bytes(&self, index: usize) -> &[u8] {
        let slot = &self.slots[index];
        match (&self.pool, &slot.token) {
            (Some(pool), Some(token)) => pool.region().bytes(token, slot.place.range()),
            _ => &[],
        }
    }

    /// A packet, to be changed in place; empty where it was taken out.
    pub fn bytes_mut(&mut self, index: usize) -> &mut [u8] {
        let slot = &mut self.slots[index];
        match (&self.pool, &mut slot.token) {
            (Some(pool), Some(token)) => pool.region().bytes_mut(token, slot.place.range()),
            _ => &mut [],
        }
    }

    /// How a packet came.
    pub fn arrival(&self, index: usize) -> &Arrival {
        &self.slots[index].place.arrival
    }

    /// The same, to be changed: whoever completes a checksum or splits a packet says so there.
    pub fn arrival_mut(&mut self, index: usize) -> &mut Arrival {
        &mut self.slots[index].place.arrival
    }

    /// A packet and how it came.
    pub fn packet(&self, index: usize) -> Packet<'_> {
        Packet {
            bytes: self.bytes(index),
            arrival: *self.arrival(index),
        }
    }

    /// All packets that are here, in order.
    pub fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        let present = |index: &usize| self.contains(*index);
        (0..self.len())
            .filter(present)
            .map(|index| self.packet(index))
    }

    /// All packets that are here with their numbers, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut [u8])> {
        let pool = self.pool.as_ref();
        let slots = self.slots.iter_mut().enumerate();
        slots.filter_map(move |(index, slot)| {
            let token = slot.token.as_mut()?;
            let bytes = pool?.region().bytes_mut(token, slot.place.range());
            Some((index, bytes))
        })
    }

    /// Unused bytes of the frame in front of a packet.
    pub fn headroom(&self, index: usize) -> usize {
        self.slots[index].place.start as usize
    }

    /// Unused bytes of the frame behind a packet.
    pub fn tailroom(&self, index: usize) -> usize {
        let end = self.slots[index].place.end as usize;
        self.pool
            .as_ref()
            .map_or(0, |pool| pool.frame_bytes() - end)
    }

    /// Lengthens a packet at its front. The new bytes have any content. Returns whether there
    /// was headroom for it; without, nothing changes.
    pub fn extend_front(&mut self, index: usize, bytes: usize) -> bool {
        let fits = bytes <= self.headroom(index);
        if fits {
            self.slots[index].place.start -= bytes as u32;
        }
        fits
    }

    /// Lengthens a packet at its end. The new bytes have any content. Returns whether there was
    /// tailroom for it; without, nothing changes.
    pub fn extend_back(&mut self, index: usize, bytes: usize) -> bool {
        let fits = bytes <= self.tailroom(index);
        if fits {
            self.slots[index].place.end += bytes as u32;
        }
        fits
    }

    /// Cuts bytes off a packet's front, and returns whether it had so many.
    pub fn cut_front(&mut self, index: usize, bytes: usize) -> bool {
        let place = &mut self.slots[index].place;
        let fits = bytes <= place.range().len();
        if fits {
            place.start += bytes as u32;
        }
        fits
    }

    /// Cuts bytes off a packet's end, and returns whether it had so many.
    pub fn cut_back(&mut self, index: usize, bytes: usize) -> bool {
        let place = &mut self.slots[index].place;
        let fits = bytes <= place.range().len();
        if fits {
            place.end -= bytes as u32;
        }
        fits
    }

    /// Adds a copy of a packet, behind the pool's headroom. What is longer than the space is
    /// cut, which `wire_bytes` then tells. Returns its number, or nothing where the pool has
    /// no frame left.
    pub fn push(&mut self, bytes: &[u8], arrival: Arrival) -> Option<usize> {
        self.push_parts(&[bytes], arrival)
    }

    /// The same, of a packet whose parts lie apart.
    pub(crate) fn push_parts(&mut self, parts: &[&[u8]], arrival: Arrival) -> Option<usize> {
        let wire_bytes = parts.iter().map(|part| part.len()).sum::<usize>() as u32;
        self.push_with(arrival, |mut space| {
            let mut written = 0;
            for part in parts {
                let (to, rest) = space.split_at_mut(part.len().min(space.len()));
                to.copy_from_slice(&part[..to.len()]);
                written += to.len();
                space = rest;
            }
            written
        })
        .inspect(|index| {
            let arrival = &mut self.slots[*index].place.arrival;
            arrival.wire_bytes = arrival.wire_bytes.max(wire_bytes);
        })
    }

    /// Adds a packet that `write` puts at the beginning of the space it is given; it returns how
    /// many bytes it wrote. Its number, or nothing where the pool has no frame left.
    pub fn push_with(
        &mut self,
        arrival: Arrival,
        write: impl FnOnce(&mut [u8]) -> usize,
    ) -> Option<usize> {
        self.try_push(|space| {
            let written = write(space).min(space.len());
            Some((written, arrival))
        })
    }

    /// Adds a packet that `write` puts at the beginning of the space it is given, unless it has
    /// none: how many bytes it wrote, not more than the space, and how the packet came.
    pub(crate) fn try_push(
        &mut self,
        write: impl FnOnce(&mut [u8]) -> Option<(usize, Arrival)>,
    ) -> Option<usize> {
        let pool = self.pool.as_ref()?;
        if self.spare.is_empty() {
            pool.take(1, &mut self.spare);
        }
        let token = self.spare.last_mut()?;
        let start = pool.headroom_bytes();
        let space = pool.region().bytes_mut(token, start..pool.frame_bytes());
        let space_bytes = space.len();
        let (written, arrival) = write(space)?;
        assert!(written <= space_bytes, "more than the space was written");
        self.slots.push(Slot {
            token: self.spare.pop(),
            place: Place {
                start: start as u32,
                end: (start + written) as u32,
                arrival: Arrival {
                    wire_bytes: arrival.wire_bytes.max(written as u32),
                    ..arrival
                },
            },
        });
        Some(self.slots.len() - 1)
    }

    /// Takes a packet out. It keeps its number and is empty from then on.
    pub fn take(&mut self, index: usize) -> Option<Frame> {
        let pool = self.pool.as_ref()?;
        let slot = &mut self.slots[index];
        Some(Frame {
            token: Some(slot.token.take()?),
            place: slot.place,
            pool: pool.clone(),
        })
    }

    /// Adds a frame that was taken out of these or others of the same pool. Returns its number.
    ///
    /// # Errors
    /// The frame, where it is of another pool.
    pub fn put(&mut self, mut frame: Frame) -> Result<usize, Frame> {
        if !self.accepts(&frame.pool) {
            return Err(frame);
        }
        self.adopt(&frame.pool);
        self.slots.push(Slot {
            token: frame.token.take(),
            place: frame.place,
        });
        Ok(self.slots.len() - 1)
    }

    /// Gives one packet's frame back to the pool.
    pub fn discard(&mut self, index: usize) {
        self.spare.extend(self.slots[index].token.take());
    }

    /// Gives all frames back to the pool, all at once.
    pub fn clear(&mut self) {
        let Some(pool) = &self.pool else {
            return;
        };
        let tokens = self.slots.drain(..).filter_map(|slot| slot.token);
        pool.give(tokens.chain(self.spare.drain(..)));
    }

    /// Uses `pool` from now on, and takes frames for up to `count` packets from it, for
    /// [`Self::push`]. Returns for how many there are; none where other frames are here.
    pub(crate) fn reserve(&mut self, pool: &FramePool, count: usize) -> usize {
        if !self.accepts(pool) {
            return 0;
        }
        self.adopt(pool);
        let missing = count.saturating_sub(self.spare.len());
        if missing > 0 {
            pool.take(missing, &mut self.spare);
        }
        self.spare.len().min(count)
    }

    /// Adds a packet that is in its frame already.
    #[cfg(target_os = "linux")]
    #[inline]
    pub(crate) fn push_token(&mut self, token: Token, start: u32, end: u32, arrival_ns: u64) {
        self.slots.push(Slot {
            token: Some(token),
            place: Place {
                start,
                end,
                arrival: Arrival {
                    arrival_ns,
                    wire_bytes: end - start,
                    offload: Offload::default(),
                },
            },
        });
    }

    /// Takes a packet's frame out: and where in it the packet begins and ends.
    #[cfg(target_os = "linux")]
    #[inline]
    pub(crate) fn take_token(&mut self, index: usize) -> Option<(Token, u32, u32)> {
        let slot = &mut self.slots[index];
        Some((slot.token.take()?, slot.place.start, slot.place.end))
    }

    pub(crate) fn adopt(&mut self, pool: &FramePool) {
        if !self.is_of(pool) {
            self.clear();
            self.pool = Some(pool.clone());
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.packets()).finish()
    }
}

impl Place {
    fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A packet that was taken out of its [`Frames`]: held, or handed to another thread. Its frame
/// goes back to the pool when it is dropped.
pub struct Frame {
    token: Option<Token>,
    place: Place,
    pool: FramePool,
}

impl Frame {
    /// The packet.
    pub fn bytes(&self) -> &[u8] {
        let token = self.token.as_ref();
        token.map_or(&[], |token| {
            self.pool.region().bytes(token, self.place.range())
        })
    }

    /// How it came.
    pub fn arrival(&self) -> &Arrival {
        &self.place.arrival
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        self.pool.give(self.token.take());
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Frame").field(&self.bytes()).finish()
    }
}

#[cfg(test)]
mod tests;
