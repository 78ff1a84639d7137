//! The packets of a batch on their way to the kernels, and their tags back.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::packet::{Packet, Task};
use super::{scalar, simd};
use crate::aead::plan::{MOST_PACKETS, Plan};
use crate::aead::{AeadJob, AeadKey, Parts, gcm};
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::suite::AesKeySize;
use crate::tags::Tags;

/// Sizes of keys: packets whose keys are of the same size go together.
const KINDS: usize = AesKeySize::ALL.len();

/// Seals or opens the OCB3 packets among `jobs` with the kernels of `tier`.
pub(crate) fn process<J: AeadJob>(tier: Tier, jobs: &mut [J]) {
    for jobs in jobs.chunks_mut(MOST_PACKETS) {
        let mut tags = Tags::new();
        let places = compute_tags(tier, jobs, &mut tags);
        for (planned, place) in places.iter().enumerate() {
            if let Some(tag) = tags.get(planned)
                && let Some(job) = jobs.get_mut(usize::from(*place))
            {
                job.finish(tag);
            }
        }
    }
}

/// Encrypts or decrypts the texts of those jobs that are OCB3's and writes their tags;
/// returns which of the jobs they are.
fn compute_tags<J: AeadJob>(
    tier: Tier,
    jobs: &mut [J],
    tags: &mut Tags<MOST_PACKETS>,
) -> ArrayVec<u8, MOST_PACKETS> {
    let kind_of = |packet: &Packet<'_>| packet.key.size() as usize;
    let mut plan = Plan::<_, KINDS>::new();
    let mut places = ArrayVec::new();
    for (place, job) in (0..=u8::MAX).zip(jobs) {
        if let Some(packet) = job.begin().and_then(packet)
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
            open: J::OPEN,
            alike: these.alike,
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

/// The packet of these parts, if it is OCB3's.
#[inline]
fn packet(parts: Parts<'_>) -> Option<Packet<'_>> {
    let AeadKey::Ocb3(key) = parts.key else {
        return None;
    };
    Some(Packet {
        key,
        nonce: key.nonce(parts.iv),
        associated: parts.associated,
        text: gcm::cells(parts.text),
    })
}
