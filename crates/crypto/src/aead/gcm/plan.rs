//! Which packets of a batch a kernel takes together, and in which order.
//!
//! Packets whose keys are in the same form run through the same kernel. Within
//! a kernel they are ordered by length: lanes of a vector then end together,
//! and branches on lengths go the same way many times in a row.

use weir_simd::Tier;

use super::packet::Packet;
use super::simd::LaneLimits;
use crate::cipher::Block;
use crate::suite::AesKeySize;

/// Associated data that fits the block in front of the text, as all of ESP's
/// does (RFC 4106 section 5).
pub(super) const SHORT_ASSOCIATED_BYTES: usize = 16;

/// The longest text that takes no more than sixteen slots with the tag's.
pub(super) const SHORT_TEXT_BYTES: usize = 15 * 16;

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
    /// Packets of any kind.
    pub(super) packets: &'t [Packet<'a>],
    /// Places of the packets of this kind, each once.
    pub(super) order: &'t [u8],
    /// Tags, by place.
    pub(super) tags: &'t mut [Block],
}

impl<'t, 'a> Task<'t, 'a> {
    /// The packet at `position` of the order.
    #[inline]
    pub(super) fn packet(&self, position: usize) -> Option<&'t Packet<'a>> {
        let place = *self.order.get(position)?;
        self.packets.get(usize::from(place))
    }

    /// Keeps the tag of the packet at `position` of the order.
    #[inline]
    pub(super) fn finish(&mut self, position: usize, tag: Block) {
        if let Some(place) = self.order.get(position)
            && let Some(at) = self.tags.get_mut(usize::from(*place))
        {
            *at = tag;
        }
    }
}

const ROUTES: [Route; 6] = [
    Route::RawLanes,
    Route::CompactLanes,
    Route::RawWide,
    Route::CompactWide,
    Route::FullShort,
    Route::FullWide,
];

/// By [`super::Form`], for packets that are not short and for those that are.
const ROUTES_OF_FORMS: [[Route; 2]; 4] = [
    [Route::RawWide, Route::RawLanes],
    [Route::RawWide, Route::RawWide],
    [Route::CompactWide, Route::CompactLanes],
    [Route::FullWide, Route::FullShort],
];

const SIZES: [AesKeySize; 3] = [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256];

/// Lengths that are told apart.
const CLASSES: usize = 64;

/// In place of a kind where there is no packet.
const NO_KIND: u8 = u8::MAX;

/// Kind and length class of each of up to `N` packets.
pub(super) struct Plan<const N: usize> {
    /// The longest text of a short packet, by [`super::Form`].
    short_text_bytes: [usize; 4],
    kinds: [u8; N],
    classes: [u8; N],
    /// One more than the place of the last packet.
    end: usize,
}

impl<const N: usize> Plan<N> {
    /// No packets yet, for `tier`.
    pub(super) fn new(tier: Tier) -> Plan<N> {
        let lanes = LaneLimits::of(tier);
        Plan {
            short_text_bytes: [
                lanes.raw_text_bytes,
                0,
                lanes.compact_text_bytes,
                SHORT_TEXT_BYTES,
            ],
            kinds: [NO_KIND; N],
            classes: [0; N],
            end: 0,
        }
    }

    /// Adds the packet at `place`, which is after those added before and below
    /// `N`.
    #[inline]
    pub(super) fn add(&mut self, place: usize, packet: &Packet<'_>) {
        let form = packet.key.form as usize;
        let is_short = packet.associated.len() <= SHORT_ASSOCIATED_BYTES
            && packet.text.len() <= self.short_text_bytes[form];
        let route = ROUTES_OF_FORMS[form][usize::from(is_short)];
        let kind = 3 * route as u8 + packet.key.size as u8;
        let class = class(packet.text.len());
        self.kinds[place] = kind;
        self.classes[place] = class;
        self.end = place + 1;
    }

    /// Whether there is a packet at `place`.
    #[inline]
    pub(super) fn has(&self, place: usize) -> bool {
        self.kinds[place] != NO_KIND
    }

    /// Calls `run` for each kind with the packets of that kind, shortest first.
    #[inline]
    pub(super) fn for_each(&self, mut run: impl FnMut(Kind, &[u8])) {
        // Bit sets of the kinds and of the classes that there are.
        let (mut kinds, mut classes) = (0u32, 0u64);
        for (kind, class) in self.kinds[..self.end].iter().zip(&self.classes) {
            kinds |= 1u32.checked_shl((*kind).into()).unwrap_or(0);
            classes |= 1u64.wrapping_shl((*class).into());
        }
        let mut order = [0; N];
        for (index, route) in ROUTES.into_iter().enumerate() {
            for (at, size) in SIZES.into_iter().enumerate() {
                let kind = 3 * index + at;
                if kinds >> kind & 1 == 1 {
                    let packets = match classes.is_power_of_two() {
                        true => self.gather(kind as u8, &mut order),
                        false => self.sort(kind as u8, &mut order),
                    };
                    run(Kind { route, size }, &order[..packets]);
                }
            }
        }
    }

    /// Puts the packets of a kind into `order` and returns how many there are.
    fn gather(&self, kind: u8, order: &mut [u8; N]) -> usize {
        let mut packets = 0;
        for (place, of) in self.kinds[..self.end].iter().enumerate() {
            order[packets] = place as u8;
            packets += usize::from(*of == kind);
        }
        packets
    }

    /// Puts the packets of a kind into `order` by ascending length class,
    /// earlier ones first within a class, and returns how many there are.
    fn sort(&self, kind: u8, order: &mut [u8; N]) -> usize {
        let mut places = [0u16; CLASSES];
        let packets = || self.kinds[..self.end].iter().zip(&self.classes);
        for (of, class) in packets() {
            places[usize::from(*class) % CLASSES] += u16::from(*of == kind);
        }
        let mut total = 0;
        for place in &mut places {
            (*place, total) = (total, total + *place);
        }
        for (place, (of, class)) in packets().enumerate() {
            let at = &mut places[usize::from(*class) % CLASSES];
            if *of == kind {
                order[usize::from(*at)] = place as u8;
                *at += 1;
            }
        }
        usize::from(total)
    }
}

/// Lengths by pairs of blocks up to sixteen blocks, counting the tag's, and by
/// sixteen blocks from there.
#[inline]
fn class(text_bytes: usize) -> u8 {
    let blocks = text_bytes.div_ceil(16) + 1;
    let class = if blocks <= 16 {
        blocks.div_ceil(2)
    } else {
        8 + blocks / 16
    };
    class.min(CLASSES - 1) as u8
}
