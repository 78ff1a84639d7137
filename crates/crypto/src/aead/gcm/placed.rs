//! Packets of GCM that lie in one buffer and were held against it, up to
//! [`MOST_PACKETS`] at a time. They are gathered from it in order, and what comes
//! of their tags goes over them once more.

use weir_simd::Tier;

use super::batch::{Computed, compute_tags};
use super::key::{KeyView, nonce};
use super::packet::{Packet, cells, tags_agree};
use crate::aead::plan::MOST_PACKETS;
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

/// What became of packets that were to be sealed.
pub(crate) struct SealedPlaces {
    pub(crate) lanes: LaneUse,
    /// How many packets had starts.
    pub(crate) started: usize,
    /// Which of them are sealed. The texts and tags of the others are zeros.
    pub(crate) is_sealed: [bool; MOST_PACKETS],
}

/// Encrypts packets and writes their tags, of as many as there are starts for.
#[inline]
pub(crate) fn seal_placed<'k>(
    tier: Tier,
    buffer: &mut [u8],
    places: impl Iterator<Item = Place> + Clone,
    starts: impl Iterator<Item = Start<'k>>,
) -> SealedPlaces {
    let mut computed = Computed::new();
    let packets = places.clone().zip(starts);
    let (lanes, started) = compute(tier, false, buffer, packets, &mut computed);
    let mut sealed = SealedPlaces {
        lanes,
        started,
        is_sealed: [false; MOST_PACKETS],
    };
    let mut count = 0;
    let mut remaining = (0..).zip(places.clone());
    for (packet, tag) in computed.iter() {
        let place = remaining.find(|(number, _)| *number == packet);
        if let Some((number, place)) = place
            && let Some(out) = buffer.get_mut(place.tag(ENDS))
        {
            out.copy_from_slice(tag);
            sealed.is_sealed[number] = true;
            count += 1;
        }
    }
    if count < started {
        let refused = places.zip(sealed.is_sealed).take(started);
        refused
            .filter(|(_, is_sealed)| !is_sealed)
            .for_each(|(place, _)| clear(buffer, place));
    }
    sealed
}

/// Decrypts packets that are authentic, and clears the texts of all others;
/// `verified`, false before the call, says which packets those are.
#[inline]
pub(crate) fn open_placed<'k>(
    tier: Tier,
    buffer: &mut [u8],
    places: impl Iterator<Item = Place> + Clone,
    starts: impl Iterator<Item = Start<'k>>,
    verified: &mut [bool],
) -> LaneUse {
    let mut computed = Computed::new();
    let packets = places.clone().zip(starts);
    let (lanes, _) = compute(tier, true, buffer, packets, &mut computed);
    let mut remaining = (0..).zip(places.clone());
    for (packet, tag) in computed.iter() {
        let place = remaining.find(|(number, _)| *number == packet);
        if let Some((number, place)) = place
            && let (Some(received), Some(verified)) =
                (buffer.get(place.tag(ENDS)), verified.get_mut(number))
        {
            *verified = tags_agree(received, tag);
        }
    }
    for (place, verified) in places.zip(verified) {
        if !*verified && let Some(text) = buffer.get_mut(place.text(ENDS)) {
            text.fill(0);
        }
    }
    lanes
}

/// Leaves zeros of a packet's text and tag.
#[cold]
pub(crate) fn clear(buffer: &mut [u8], place: Place) {
    for range in [place.text(ENDS), place.tag(ENDS)] {
        if let Some(bytes) = buffer.get_mut(range) {
            bytes.fill(0);
        }
    }
}

/// Returns how full the lanes were, and how many packets had starts.
#[inline]
fn compute<'k>(
    tier: Tier,
    open: bool,
    buffer: &mut [u8],
    packets: impl Iterator<Item = (Place, Start<'k>)>,
    computed: &mut Computed,
) -> (LaneUse, usize) {
    let mut rest = Rest::of(buffer);
    let mut started = 0;
    let packets = packets.map(|(place, start)| {
        started += 1;
        let parts = rest.cut(place, ENDS)?;
        let place_of_iv = parts.iv.first_chunk_mut()?;
        if let Some(iv) = start.iv {
            *place_of_iv = iv;
        }
        Some(Packet {
            key: start.key,
            nonce: nonce(start.salt, start.iv.unwrap_or(*place_of_iv)),
            associated: parts.prefix,
            text: cells(parts.text),
        })
    });
    let lanes = compute_tags(tier, open, packets, computed);
    (lanes, started)
}
