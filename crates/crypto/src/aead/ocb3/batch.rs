//! The packets of a batch on their way to the kernels, and their tags back.

use weir_simd::Tier;

use super::packet::{PLACE, Packet, Task};
use super::{scalar, simd};
use crate::aead::{AeadJob, AeadKey};
use crate::suite::AesKeySize;

/// Packets ordered at once.
const MOST_PACKETS: usize = PLACE as usize + 1;

/// Packets of smaller batches, which are not worth clearing tables for many.
const SOME_PACKETS: usize = 64;
const FEW_PACKETS: usize = 8;

const SIZES: [AesKeySize; 3] = [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256];

/// Seals or opens the OCB3 packets among `jobs` with the kernels of `tier`.
pub(crate) fn process<J: AeadJob>(tier: Tier, jobs: &mut [J]) {
    match jobs.len() {
        0 => (),
        few if few <= FEW_PACKETS => process_some::<J, FEW_PACKETS>(tier, jobs),
        some if some <= SOME_PACKETS => process_some::<J, SOME_PACKETS>(tier, jobs),
        _ => {
            for jobs in jobs.chunks_mut(MOST_PACKETS) {
                process_some::<J, MOST_PACKETS>(tier, jobs);
            }
        }
    }
}

/// Processes at most `N` jobs: packets whose keys are of the same size together,
/// in the order of their lengths, so that neighbours fill as many vectors.
fn process_some<J: AeadJob, const N: usize>(tier: Tier, jobs: &mut [J]) {
    let mut packets = [const { None }; N];
    // Size of key, vectors of text, place.
    let mut order = [0u32; N];
    let mut count = 0;
    for (place, (job, packet)) in jobs.iter_mut().zip(&mut packets).enumerate() {
        if let Some(parts) = job.packet()
            && let AeadKey::Ocb3(key) = parts.key
        {
            let vectors = parts.text.len().div_ceil(64).min(0xffff) as u32;
            order[count] = (key.size() as u32) << 24 | vectors << 8 | place as u32;
            count += 1;
            *packet = Some(Packet {
                key,
                nonce: key.nonce(parts.iv),
                associated: parts.associated,
                text: crate::aead::gcm::cells(parts.text),
            });
        }
    }
    let order = &mut order[..count];
    order.sort_unstable();
    let mut tags = [[0; 16]; N];
    for size in SIZES {
        let first = order.partition_point(|packet| packet >> 24 < size as u32);
        let end = order.partition_point(|packet| packet >> 24 <= size as u32);
        if first < end {
            let mut task = Task {
                size,
                open: J::OPEN,
                packets: &packets,
                order: &order[first..end],
                tags: &mut tags,
            };
            if !simd::run(tier, &mut task) {
                scalar::run(&mut task);
            }
        }
    }
    for packet in order {
        let place = (*packet & PLACE) as usize;
        jobs[place].finish(&tags[place]);
    }
}
