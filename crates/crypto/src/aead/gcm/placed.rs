//! Packets of GCM that lie in one buffer and were held against it, up to
//! [`MOST_PACKETS`] at a time. They are gathered from it in order, and what comes
//! of their tags goes over them once more.

use weir_simd::Tier;

use super::batch::compute_tags;
use super::key::{KeyView, nonce};
use super::packet::{Packet, cells, tags_agree};
use crate::aead::plan::MOST_PACKETS;
use crate::cipher::Block;
use crate::lane_use::LaneUse;
use crate::place::{Ends, Place, Rest};

/// The parts that GCM prescribes. Of the others, no length that a [`Place`] can say
/// is too long (SP 800-38D section 5.2.1.1).
pub(crate) const ENDS: Ends = Ends {
    iv_bytes: 8,
    tag_bytes: 16,
};

/// What a packet's nonce and cipher start from.
pub(crate) struct Start<'k> {
    pub(crate) key: KeyView<'k>,
    pub(crate) salt: [u8; 4],
    /// The IV, if it is to be written; it is read where it lies if not.
    pub(crate) iv: Option<[u8; 8]>,
}

/// Encrypts packets and writes their tags, of as many as there are starts for.
/// Returns how full the lanes were, and how many packets that were.
#[inline]
pub(crate) fn seal_placed<'k>(
    tier: Tier,
    buffer: &mut [u8],
    places: impl Iterator<Item = Place> + Clone,
    starts: impl Iterator<Item = Start<'k>>,
) -> (LaneUse, usize) {
    let mut tags = [[0; 16]; MOST_PACKETS];
    let (lanes, packets) = compute(tier, false, buffer, places.clone().zip(starts), &mut tags);
    for (place, tag) in places.zip(&tags[..packets]) {
        if let Some(place) = buffer.get_mut(place.tag(ENDS)) {
            place.copy_from_slice(tag);
        }
    }
    (lanes, packets)
}

/// Decrypts packets that are authentic, and clears the texts of those that are
/// not, as many as there are starts for; `verified` is told which they are.
#[inline]
pub(crate) fn open_placed<'k>(
    tier: Tier,
    buffer: &mut [u8],
    places: impl Iterator<Item = Place> + Clone,
    starts: impl Iterator<Item = Start<'k>>,
    verified: &mut [bool],
) -> LaneUse {
    let mut tags = [[0; 16]; MOST_PACKETS];
    let (lanes, packets) = compute(tier, true, buffer, places.clone().zip(starts), &mut tags);
    for ((place, tag), verified) in places.zip(&tags[..packets]).zip(verified) {
        let received = buffer.get(place.tag(ENDS));
        *verified = received.is_some_and(|received| tags_agree(received, tag));
        if !*verified && let Some(text) = buffer.get_mut(place.text(ENDS)) {
            text.fill(0);
        }
    }
    lanes
}

#[inline]
fn compute<'k>(
    tier: Tier,
    open: bool,
    buffer: &mut [u8],
    packets: impl Iterator<Item = (Place, Start<'k>)>,
    tags: &mut [Block; MOST_PACKETS],
) -> (LaneUse, usize) {
    let mut rest = Rest::of(buffer);
    let mut gathered = 0;
    let packets = packets.map_while(|(place, start)| {
        let parts = rest.cut(place, ENDS)?;
        let place_of_iv = parts.iv.first_chunk_mut()?;
        if let Some(iv) = start.iv {
            *place_of_iv = iv;
        }
        gathered += 1;
        Some(Packet {
            key: start.key,
            nonce: nonce(start.salt, start.iv.unwrap_or(*place_of_iv)),
            associated: parts.prefix,
            text: cells(parts.text),
        })
    });
    let lanes = compute_tags(tier, open, packets, tags);
    (lanes, gathered)
}
