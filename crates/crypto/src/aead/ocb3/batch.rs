//! The packets of a batch on their way to the kernels, and their tags back.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::packet::{Packet, Task};
use super::{scalar, simd};
use crate::aead::plan::{MOST_PACKETS, Plan};
use crate::aead::{AeadKey, AeadPacket, gcm};
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::suite::AesKeySize;
use crate::tags::Tags;

/// Sizes of keys: packets whose keys are of the same size go together.
const KINDS: usize = AesKeySize::ALL.len();

/// Seals or opens the OCB3 packets among up to [`MOST_PACKETS`] with the kernels of `tier`.
pub(crate) fn process(tier: Tier, open: bool, packets: &mut [AeadPacket<'_>]) {
    let mut tags = Tags::new();
    let places = compute_tags(tier, open, packets, &mut tags);
    for (planned, place) in places.iter().enumerate() {
        if let Some(tag) = tags.get(planned)
            && let Some(packet) = packets.get_mut(usize::from(*place))
        {
            packet.finish(open, tag);
        }
    }
}

/// Encrypts or decrypts the texts of OCB3's packets and writes their tags; returns which of the
/// packets they are.
fn compute_tags(
    tier: Tier,
    open: bool,
    packets: &mut [AeadPacket<'_>],
    tags: &mut Tags<MOST_PACKETS>,
) -> ArrayVec<u8, MOST_PACKETS> {
    let kind_of = |packet: &Packet<'_>| packet.key.size() as usize;
    let mut plan = Plan::<_, KINDS>::new();
    let mut places = ArrayVec::new();
    for (place, given) in (0..=u8::MAX).zip(packets) {
        if let Some(packet) = packet(given)
            && plan.add(packet)
        {
            places.push(place);
        }
    }
    plan.for_each(kind_of, |these| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        let mut task = Task {
            kind: AesKeySize::ALL[these.kind],
            open,
            packets: these.packets,
            places: these.places,
            tags,
        };
        frames::cleared(|| {
            if !simd::run(tier, &mut task) {
                scalar::run(&mut task);
            }
        });
    });
    places
}

/// The packet, if it is OCB3's.
#[inline]
fn packet<'p>(given: &'p mut AeadPacket<'_>) -> Option<Packet<'p>> {
    let AeadKey::Ocb3(key) = given.key else {
        return None;
    };
    Some(Packet {
        key,
        nonce: key.nonce(given.iv()),
        associated: given.associated,
        text: gcm::cells(given.text),
    })
}
