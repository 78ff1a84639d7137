//! The packets of a batch on their way to the kernels, and their tags back.

use weir_simd::Tier;

use super::packet::{Packet, Task};
use super::{scalar, simd};
use crate::aead::plan::{MOST_PACKETS, Plan};
use crate::aead::{AeadJob, AeadKey, Parts, gcm};
use crate::cipher::Block;
use crate::suite::AesKeySize;

/// Sizes of keys: packets whose keys are of the same size go together.
const KINDS: usize = AesKeySize::ALL.len();

/// Seals or opens the OCB3 packets among `jobs` with the kernels of `tier`.
pub(crate) fn process<J: AeadJob>(tier: Tier, jobs: &mut [J]) {
    for jobs in jobs.chunks_mut(MOST_PACKETS) {
        let mut tags = [[0; 16]; MOST_PACKETS];
        compute_tags(tier, jobs, &mut tags);
        let mut tags = tags.iter();
        for job in jobs {
            if job.packet().and_then(packet).is_some()
                && let Some(tag) = tags.next()
            {
                job.finish(tag);
            }
        }
    }
}

/// Encrypts or decrypts all texts, and writes the tags of those jobs that are
/// OCB3's, in their order.
fn compute_tags<J: AeadJob>(tier: Tier, jobs: &mut [J], tags: &mut [Block; MOST_PACKETS]) {
    let kind_of = |packet: &Packet<'_>| packet.key.size() as usize;
    let mut plan = Plan::<_, KINDS>::new();
    for job in jobs {
        if let Some(packet) = job.begin().and_then(packet) {
            plan.add(packet);
        }
    }
    plan.for_each(kind_of, |these| {
        let mut task = Task {
            kind: AesKeySize::ALL[these.kind],
            open: J::OPEN,
            alike: these.alike,
            packets: these.packets,
            places: these.places,
            tags,
        };
        if !simd::run(tier, &mut task) {
            scalar::run(&mut task);
        }
    });
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
