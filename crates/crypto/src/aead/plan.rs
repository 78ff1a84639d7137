//! Packets of a batch in the order in which kernels take them.
//!
//! Packets of one kind run through the same kernel. Within a kernel they are
//! ordered by length: lanes of a vector then end together, and branches on
//! lengths go the same way many times in a row. A batch of packets that are all
//! alike stays in the order that it came in.

use std::cell::Cell;

use arrayvec::ArrayVec;

use crate::cipher::Block;
use crate::impossible::{Impossible, happens};
use crate::tags::Tags;

/// One packet. Kernels hold several at once, so that the text, which is borrowed for writing,
/// is a slice of cells.
pub(crate) struct Packet<'a, K> {
    pub(crate) key: &'a K,
    /// 12 bytes, and zeros. It lies where it was written: a copy would wait in the store buffer.
    pub(crate) nonce: &'a Block,
    /// In the batch.
    pub(crate) index: u8,
    /// Authenticated, not encrypted.
    pub(crate) associated: &'a [Cell<u8>],
    /// Encrypted or decrypted in place.
    pub(crate) text: &'a [Cell<u8>],
}

impl<K> Clone for Packet<'_, K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Packet<'_, K> {}

/// The packets of a kind, in the order in which a kernel takes them.
pub(super) struct Task<'t, 'a, K, Kind> {
    /// What they have in common.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "for kernels of x86-64")
    )]
    pub(super) kind: Kind,
    /// Whether they are opened, not sealed.
    pub(super) open: bool,
    pub(super) packets: &'t [Packet<'a, K>],
    /// Tags of all packets of the batch.
    pub(super) tags: &'t mut Tags<MOST_PACKETS>,
}

impl<'t, 'a, K, Kind> Task<'t, 'a, K, Kind> {
    /// The packet at `position` of the order.
    #[inline]
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "for kernels of x86-64")
    )]
    pub(super) fn packet(&self, position: usize) -> Option<&'t Packet<'a, K>> {
        self.packets.get(position)
    }

    /// Keeps the tag of the packet at `position` of the order.
    #[inline]
    pub(super) fn finish(&mut self, position: usize, tag: Block) {
        if let Some(packet) = self.packets.get(position) {
            self.tags.set(usize::from(packet.index), tag);
        }
    }
}

/// The most packets planned at once: a place is a byte.
pub(crate) const MOST_PACKETS: usize = crate::batch::BATCH_PACKETS;

/// The index of every packet of a batch, in order.
pub(super) static INDEXES: [u8; MOST_PACKETS] = {
    let mut places = [0; MOST_PACKETS];
    let mut place = 0;
    while place < MOST_PACKETS {
        places[place] = place as u8;
        place += 1;
    }
    places
};

/// Classes of lengths.
const CLASSES: usize = 64;

/// Up to [`MOST_PACKETS`] packets of up to `KINDS` kinds, and which of them go
/// together.
pub(crate) struct Plan<'a, K, const KINDS: usize> {
    packets: ArrayVec<Packet<'a, K>, MOST_PACKETS>,
}

impl<'a, K, const KINDS: usize> Plan<'a, K, KINDS> {
    /// No packets yet.
    #[inline]
    pub(crate) fn new() -> Self {
        Plan {
            packets: ArrayVec::new(),
        }
    }

    /// Adds a packet and returns true; or returns false where there are
    /// [`MOST_PACKETS`] already.
    #[inline]
    pub(crate) fn add(&mut self, packet: Packet<'a, K>) -> bool {
        !happens(Impossible::NotPlanned) && self.packets.try_push(packet).is_ok()
    }

    /// The packets, in the order in which they were added.
    #[inline]
    pub(crate) fn packets(&self) -> &[Packet<'a, K>] {
        &self.packets
    }

    /// Calls `run` for each kind with its packets, shortest first; `kind_of`
    /// numbers kinds, below `KINDS`.
    #[inline]
    pub(super) fn for_each(
        &self,
        kind_of: impl Fn(&K) -> usize,
        mut run: impl FnMut(usize, &[Packet<'a, K>]),
    ) {
        let Some(first) = self.packets.first() else {
            return;
        };
        let is_like_first = |packet: &Packet<'_, K>| {
            kind_of(packet.key) == kind_of(first.key)
                && packet.text.len() == first.text.len()
                && packet.associated.len() == first.associated.len()
        };
        if self.packets.iter().all(is_like_first) {
            run(kind_of(first.key), &self.packets);
        } else {
            self.sort_and_run(kind_of, &mut run);
        }
    }

    #[inline(never)]
    fn sort_and_run(
        &self,
        kind_of: impl Fn(&K) -> usize,
        run: &mut impl FnMut(usize, &[Packet<'a, K>]),
    ) {
        let sorted = Sorted::<KINDS>::new(&INDEXES[..self.packets.len()], |place| {
            let packet = &self.packets[usize::from(place)];
            Some((kind_of(packet.key), packet.text.len()))
        });
        sorted.for_each(|kind, places| {
            let packets = places.iter().map(|place| self.packets[usize::from(*place)]);
            let packets: ArrayVec<_, MOST_PACKETS> = packets.collect();
            run(kind, &packets);
        });
    }
}

/// Up to [`MOST_PACKETS`] packets by kind, and within a kind by length.
pub(super) struct Sorted<const KINDS: usize> {
    order: [u8; MOST_PACKETS],
    counts: [usize; KINDS],
}

impl<const KINDS: usize> Sorted<KINDS> {
    /// Sorts packets by what `kind_and_bytes` says of them; those of which it says nothing are
    /// left out.
    pub(super) fn new(
        packets: &[u8],
        kind_and_bytes: impl Fn(u8) -> Option<(usize, usize)>,
    ) -> Sorted<KINDS> {
        // Packets of each kind and class, then where the next of them goes.
        let mut bins = [[0u16; CLASSES]; KINDS];
        let mut counts = [0; KINDS];
        let mut sorts = ArrayVec::<(u8, u8, u8), MOST_PACKETS>::new();
        for packet in packets {
            if let Some((kind, bytes)) = kind_and_bytes(*packet) {
                let class = class(bytes);
                sorts.push((*packet, kind as u8, class as u8));
                bins[kind][class] += 1;
                counts[kind] += 1;
            }
        }
        let mut total = 0;
        for (classes, count) in bins.iter_mut().zip(&counts) {
            if *count > 0 {
                for place in classes {
                    (*place, total) = (total, total + *place);
                }
            }
        }
        let mut order = [0; MOST_PACKETS];
        for (packet, kind, class) in sorts {
            let at = &mut bins[usize::from(kind)][usize::from(class)];
            order[usize::from(*at)] = packet;
            *at += 1;
        }
        Sorted { order, counts }
    }

    /// Calls `run` for each kind that has packets.
    pub(super) fn for_each(&self, mut run: impl FnMut(usize, &[u8])) {
        let mut begin = 0;
        for (kind, count) in self.counts.into_iter().enumerate() {
            if count > 0 {
                run(kind, &self.order[begin..begin + count]);
                begin += count;
            }
        }
    }
}

/// Lengths by blocks up to sixteen, counting the tag's, and by sixteen blocks
/// from there.
#[inline]
fn class(text_bytes: usize) -> usize {
    let blocks = text_bytes.div_ceil(16) + 1;
    let class = if blocks <= 16 {
        blocks
    } else {
        16 + blocks / 16
    };
    class.min(CLASSES - 1)
}
