//! Which packets of a batch a kernel takes together, and in which order.
//!
//! Packets whose keys are in the same form run through the same kernel. Within
//! a kernel they are ordered by length: lanes of a vector then end together,
//! and branches on lengths go the same way many times in a row.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::packet::Packet;
use super::simd::LaneLimits;
use crate::cipher::Block;
use crate::suite::AesKeySize;

/// Associated data that fits the block in front of the text, as all of ESP's
/// does (RFC 4106 section 5).
pub(super) const SHORT_ASSOCIATED_BYTES: usize = 16;

/// The longest text that takes no more than twelve slots with the tag's.
pub(super) const SHORT_TEXT_BYTES: usize = 11 * 16;

/// How a packet is processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    /// One packet in each 128-bit lane, its key expanded on the way.
    RawLanes,
    /// One packet in each 128-bit lane, with round keys from memory.
    CompactLanes,
    /// All lanes on one packet, sixteen keys expanded ahead.
    RawWide,
    /// All lanes on one packet, hash-key powers computed ahead.
    CompactWide,
    /// All lanes on one packet, several packets in flight: those of at most
    /// [`SHORT_ASSOCIATED_BYTES`] and [`SHORT_TEXT_BYTES`].
    FullShort,
    /// All lanes on one packet.
    FullWide,
}

/// Packets that run through one kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    pub(super) route: Route,
    pub(super) size: AesKeySize,
}

/// The packets of a kind, in the order in which a kernel takes them.
pub(super) struct Task<'t, 'a> {
    pub(super) kind: Kind,
    pub(super) open: bool,
    /// Whether all have as long a text and as much associated data.
    pub(super) alike: bool,
    pub(super) packets: &'t [Packet<'a>],
    /// Where among the tags that of each packet goes.
    pub(super) places: &'t [u8],
    /// Tags of packets of all kinds.
    pub(super) tags: &'t mut [Block],
}

impl<'t, 'a> Task<'t, 'a> {
    /// The packet at `position` of the order.
    #[inline]
    pub(super) fn packet(&self, position: usize) -> Option<&'t Packet<'a>> {
        self.packets.get(position)
    }

    /// Keeps the tag of the packet at `position` of the order.
    #[inline]
    pub(super) fn finish(&mut self, position: usize, tag: Block) {
        if let Some(place) = self.places.get(position)
            && let Some(at) = self.tags.get_mut(usize::from(*place))
        {
            *at = tag;
        }
    }
}

/// By [`super::Form`], for packets that are not short and for those that are.
const ROUTES_OF_FORMS: [[Route; 2]; 4] = [
    [Route::RawWide, Route::RawLanes],
    [Route::RawWide, Route::RawWide],
    [Route::CompactWide, Route::CompactLanes],
    [Route::FullWide, Route::FullShort],
];

/// Numbers of kinds: a form, a size, and whether packets are short.
const KINDS: usize = ROUTES_OF_FORMS.len() * AesKeySize::ALL.len() * 2;

/// The most packets planned at once.
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

/// Up to [`MOST_PACKETS`] packets, and which of them go together.
pub(super) struct Plan<'a> {
    /// The longest text of a short packet, by [`super::Form`].
    short_text_bytes: [usize; 4],
    packets: ArrayVec<Packet<'a>, MOST_PACKETS>,
    /// Of the first packet, its kind, the bytes of its text, and those of its
    /// associated data.
    first: (usize, usize, usize),
    /// Whether another packet differs from the first in any.
    is_mixed: bool,
}

impl<'a> Plan<'a> {
    /// No packets yet, for `tier`.
    #[inline]
    pub(super) fn new(tier: Tier) -> Plan<'a> {
        let lanes = LaneLimits::of(tier);
        Plan {
            short_text_bytes: [
                lanes.raw_text_bytes,
                0,
                lanes.compact_text_bytes,
                SHORT_TEXT_BYTES,
            ],
            packets: ArrayVec::new(),
            first: (0, 0, 0),
            is_mixed: false,
        }
    }

    /// Adds a packet, as long as there are fewer than [`MOST_PACKETS`].
    #[inline]
    pub(super) fn add(&mut self, packet: Packet<'a>) {
        let kind = self.kind(&packet);
        let sort = (kind, packet.text.len(), packet.associated.len());
        if self.packets.is_empty() {
            self.first = sort;
        }
        self.is_mixed |= sort != self.first;
        let _ = self.packets.try_push(packet);
    }

    /// The number of a packet's kind.
    #[inline]
    fn kind(&self, packet: &Packet<'_>) -> usize {
        let (form, size) = (packet.key.form as usize, packet.key.size as usize);
        let is_short = packet.associated.len() <= SHORT_ASSOCIATED_BYTES
            && packet.text.len() <= self.short_text_bytes[form];
        (AesKeySize::ALL.len() * form + size) * 2 + usize::from(is_short)
    }

    /// Whether packets are of several kinds or lengths.
    #[inline]
    pub(super) fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Calls `run` for each kind with its packets, shortest first, and their
    /// places.
    #[inline]
    pub(super) fn for_each(&self, mut run: impl FnMut(Kind, &[Packet<'a>], &[u8])) {
        let places = &PLACES[..self.packets.len()];
        if self.is_mixed {
            self.sort_and_run(places, &mut run);
        } else if !places.is_empty() {
            run(Kind::of(self.first.0), &self.packets, places);
        }
    }

    #[inline(never)]
    fn sort_and_run(&self, places: &[u8], run: &mut impl FnMut(Kind, &[Packet<'a>], &[u8])) {
        // Packets of each kind and class, then where the next of them goes.
        let mut bins = [[0u16; CLASSES]; KINDS];
        let mut counts = [0; KINDS];
        let mut sorts = [(0, 0); MOST_PACKETS];
        for (packet, sort) in self.packets.iter().zip(&mut sorts) {
            let (kind, class) = (self.kind(packet), class(packet.text.len()));
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
        let sorted: ArrayVec<Packet<'a>, MOST_PACKETS> = sorted.collect();
        let mut begin = 0;
        for (kind, count) in counts.into_iter().enumerate() {
            if count > 0 {
                let end = begin + count;
                run(Kind::of(kind), &sorted[begin..end], &order[begin..end]);
                begin = end;
            }
        }
    }
}

impl Kind {
    /// The kind of this number.
    fn of(number: usize) -> Kind {
        let (form_and_size, is_short) = (number / 2, number % 2);
        Kind {
            route: ROUTES_OF_FORMS[form_and_size / AesKeySize::ALL.len()][is_short],
            size: AesKeySize::ALL[form_and_size % AesKeySize::ALL.len()],
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
