//! Packets of a batch in the order in which kernels take them.
//!
//! Packets of one kind run through the same kernel. Within a kernel they are
//! ordered by length: lanes of a vector then end together, and branches on
//! lengths go the same way many times in a row. A batch of packets that are all
//! alike stays in the order that it came in.

use arrayvec::ArrayVec;

use crate::cipher::Block;

/// What is planned: something with lengths.
pub(crate) trait Planned: Copy {
    /// Bytes that are encrypted or decrypted.
    fn text_bytes(&self) -> usize;

    /// Bytes that are only authenticated.
    fn associated_bytes(&self) -> usize;
}

/// The packets of a kind, in the order in which a kernel takes them.
pub(super) struct Task<'t, P, K> {
    /// What they have in common.
    pub(super) kind: K,
    /// Whether they are opened, not sealed.
    pub(super) open: bool,
    /// Whether all have as long a text and as much associated data.
    pub(super) alike: bool,
    pub(super) packets: &'t [P],
    /// Where among the tags that of each packet goes.
    pub(super) places: &'t [u8],
    /// Tags of packets of all kinds.
    pub(super) tags: &'t mut [Block; MOST_PACKETS],
}

impl<'t, P, K> Task<'t, P, K> {
    /// The packet at `position` of the order.
    #[inline]
    pub(super) fn packet(&self, position: usize) -> Option<&'t P> {
        self.packets.get(position)
    }

    /// Keeps the tag of the packet at `position` of the order.
    #[inline]
    pub(super) fn finish(&mut self, position: usize, tag: Block) {
        if let Some(place) = self.places.get(position) {
            self.tags[usize::from(*place)] = tag;
        }
    }
}

/// The most packets planned at once: a place is a byte.
pub(super) const MOST_PACKETS: usize = 256;

/// Every place, in order.
static PLACES: [u8; MOST_PACKETS] = {
    let mut places = [0; MOST_PACKETS];
    let mut place = 0;
    while place < MOST_PACKETS {
        places[place] = place as u8;
        place += 1;
    }
    places
};

/// Lengths that are told apart.
const CLASSES: usize = 64;

/// Up to [`MOST_PACKETS`] packets of up to `KINDS` kinds, and which of them go
/// together.
pub(crate) struct Plan<P, const KINDS: usize> {
    packets: ArrayVec<P, MOST_PACKETS>,
    /// Of the first packet, its kind, the bytes of its text, and those of its
    /// associated data.
    first: (usize, usize, usize),
    /// Whether another packet differs from the first in any.
    is_mixed: bool,
}

impl<P: Planned, const KINDS: usize> Plan<P, KINDS> {
    /// No packets yet.
    #[inline]
    pub(crate) fn new() -> Self {
        Plan {
            packets: ArrayVec::new(),
            first: (0, 0, 0),
            is_mixed: false,
        }
    }

    /// Adds a packet of the kind with this number, below `KINDS`, as long as
    /// there are fewer than [`MOST_PACKETS`].
    #[inline]
    pub(super) fn add(&mut self, kind: usize, packet: P) {
        let sort = (kind, packet.text_bytes(), packet.associated_bytes());
        if self.packets.is_empty() {
            self.first = sort;
        }
        self.is_mixed |= sort != self.first;
        let _ = self.packets.try_push(packet);
    }

    /// The packets, in the order in which they were added.
    #[inline]
    pub(super) fn packets(&self) -> &[P] {
        &self.packets
    }

    /// Takes all packets out.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.packets.clear();
        self.is_mixed = false;
    }

    /// Whether packets are of several kinds or lengths.
    #[inline]
    pub(super) fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Calls `run` for each kind with its packets, shortest first, and their
    /// places; `kind_of` numbers kinds as those who added the packets did.
    #[inline]
    pub(super) fn for_each(
        &self,
        kind_of: impl Fn(&P) -> usize,
        mut run: impl FnMut(usize, &[P], &[u8]),
    ) {
        let places = &PLACES[..self.packets.len()];
        if self.is_mixed {
            self.sort_and_run(places, kind_of, &mut run);
        } else if !places.is_empty() {
            run(self.first.0, &self.packets, places);
        }
    }

    #[inline(never)]
    fn sort_and_run(
        &self,
        places: &[u8],
        kind_of: impl Fn(&P) -> usize,
        run: &mut impl FnMut(usize, &[P], &[u8]),
    ) {
        // Packets of each kind and class, then where the next of them goes.
        let mut bins = [[0u16; CLASSES]; KINDS];
        let mut counts = [0; KINDS];
        let mut sorts = [(0, 0); MOST_PACKETS];
        for (packet, sort) in self.packets.iter().zip(&mut sorts) {
            let (kind, class) = (kind_of(packet), class(packet.text_bytes()));
            *sort = (kind as u8, class as u8);
            bins[kind][class] += 1;
            counts[kind] += 1;
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
        for (place, (kind, class)) in places.iter().zip(sorts) {
            let at = &mut bins[usize::from(kind)][usize::from(class)];
            order[usize::from(*at)] = *place;
            *at += 1;
        }
        let order = &order[..places.len()];
        let sorted = order.iter().map(|place| self.packets[usize::from(*place)]);
        let sorted: ArrayVec<P, MOST_PACKETS> = sorted.collect();
        let mut begin = 0;
        for (kind, count) in counts.into_iter().enumerate() {
            if count > 0 {
                let end = begin + count;
                run(kind, &sorted[begin..end], &order[begin..end]);
                begin = end;
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
