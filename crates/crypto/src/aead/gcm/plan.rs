//! Which packets of a batch a kernel takes together, and in which order.
//!
//! Packets whose keys are in the same form run through the same kernel. Within
//! a kernel they are ordered by length: lanes of a vector then end together,
//! and branches on lengths go the same way many times in a row.

use weir_simd::Tier;

use super::key::Form;
use super::packet::{GcmJob, Packet};
use super::simd;
use crate::suite::AesKeySize;

/// Packets planned at once.
pub(crate) const MOST_PACKETS: usize = 256;

/// Associated data that fits the block in front of the text, as all of ESP's
/// does (RFC 4106 section 5).
pub(super) const SHORT_ASSOCIATED_BYTES: usize = 16;

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
    /// All lanes on one packet.
    FullWide,
}

/// Packets that run through one kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    pub(super) route: Route,
    pub(super) size: AesKeySize,
}

const ROUTES: [Route; 5] = [
    Route::RawLanes,
    Route::CompactLanes,
    Route::RawWide,
    Route::CompactWide,
    Route::FullWide,
];

const SIZES: [AesKeySize; 3] = [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256];

/// Lengths that are told apart.
const CLASSES: usize = 64;

/// A kind's packets are never more than this many.
const NO_KIND: u8 = u8::MAX;

/// Kind and length class of each packet.
pub(super) struct Plan {
    kinds: [u8; MOST_PACKETS],
    classes: [u8; MOST_PACKETS],
    present: u32,
    len: usize,
}

impl Plan {
    /// Plans the first [`MOST_PACKETS`] packets for `tier`.
    #[inline]
    pub(super) fn new<J: GcmJob>(tier: Tier, jobs: &mut [J]) -> Plan {
        let mut plan = Plan {
            kinds: [NO_KIND; MOST_PACKETS],
            classes: [0; MOST_PACKETS],
            present: 0,
            len: jobs.len().min(MOST_PACKETS),
        };
        let lanes = simd::LaneLimits::of(tier);
        for (index, job) in jobs.iter_mut().take(MOST_PACKETS).enumerate() {
            if let Some(packet) = job.packet() {
                let kind = 3 * route(&packet, lanes) as u8 + packet.key.size as u8;
                plan.kinds[index] = kind;
                plan.classes[index] = class(packet.text.len());
                plan.present |= 1 << kind;
            }
        }
        plan
    }

    /// Calls `run` for each kind with the packets of that kind, shortest first.
    #[inline]
    pub(super) fn for_each(&self, mut run: impl FnMut(Kind, &[u8])) {
        for (index, route) in ROUTES.into_iter().enumerate() {
            for (at, size) in SIZES.into_iter().enumerate() {
                let kind = 3 * index + at;
                if self.present >> kind & 1 == 1 {
                    let mut order = [0; MOST_PACKETS];
                    let order = self.sorted(kind as u8, &mut order);
                    run(Kind { route, size }, order);
                }
            }
        }
    }

    /// The packets of a kind by ascending length class, earlier ones first
    /// within a class.
    fn sorted<'a>(&self, kind: u8, order: &'a mut [u8; MOST_PACKETS]) -> &'a [u8] {
        let of_kind = || {
            let packets = self.kinds.iter().zip(&self.classes).enumerate();
            packets
                .take(self.len)
                .filter(move |(_, (k, _))| **k == kind)
                .map(|(index, (_, class))| (index as u8, usize::from(*class) % CLASSES))
        };
        let mut places = [0u16; CLASSES];
        for (_, class) in of_kind() {
            places[class] += 1;
        }
        let mut total = 0;
        for place in &mut places {
            (*place, total) = (total, total + *place);
        }
        for (index, class) in of_kind() {
            order[usize::from(places[class]) % MOST_PACKETS] = index;
            places[class] += 1;
        }
        &order[..usize::from(total)]
    }
}

fn route(packet: &Packet<'_>, lanes: simd::LaneLimits) -> Route {
    let short = packet.associated.len() <= SHORT_ASSOCIATED_BYTES;
    let text_bytes = packet.text.len();
    match packet.key.form {
        Form::Raw if short && text_bytes <= lanes.raw_text_bytes => Route::RawLanes,
        Form::Raw | Form::RawAhead => Route::RawWide,
        Form::Compact if short && text_bytes <= lanes.compact_text_bytes => Route::CompactLanes,
        Form::Compact => Route::CompactWide,
        Form::Full => Route::FullWide,
    }
}

/// Lengths by pairs of blocks up to sixteen blocks, counting the tag's, and by
/// sixteen blocks from there.
fn class(text_bytes: usize) -> u8 {
    let blocks = text_bytes.div_ceil(16) + 1;
    let class = if blocks <= 16 {
        blocks.div_ceil(2)
    } else {
        8 + blocks / 16
    };
    class.min(CLASSES - 1) as u8
}
