//! The packets of a batch on their way to the kernels, and their tags back.

use weir_simd::Tier;

use super::occupancy::lane_use;
use super::packet::{GcmJob, Packet};
use super::plan::{Plan, Task};
use super::{scalar, simd};
use crate::lane_use::LaneUse;

/// Packets planned at once.
const MOST_PACKETS: usize = 256;

/// Packets of smaller batches, which are not worth clearing tables for many.
const SOME_PACKETS: usize = 64;
const FEW_PACKETS: usize = 8;

/// Seals or opens the GCM packets among `jobs` with the kernels of `tier`.
pub(crate) fn process<J: GcmJob>(tier: Tier, jobs: &mut [J]) -> LaneUse {
    match jobs.len() {
        0 => LaneUse::default(),
        few if few <= FEW_PACKETS => process_some::<J, FEW_PACKETS>(tier, jobs),
        some if some <= SOME_PACKETS => process_some::<J, SOME_PACKETS>(tier, jobs),
        _ => {
            let mut lanes = LaneUse::default();
            for jobs in jobs.chunks_mut(MOST_PACKETS) {
                lanes += process_some::<J, MOST_PACKETS>(tier, jobs);
            }
            lanes
        }
    }
}

/// Processes at most `N` jobs.
fn process_some<J: GcmJob, const N: usize>(tier: Tier, jobs: &mut [J]) -> LaneUse {
    let mut plan = Plan::<N>::new(tier);
    let mut packets = [Packet::EMPTY; N];
    for (place, (job, packet)) in jobs.iter_mut().zip(&mut packets).enumerate() {
        if let Some(of_job) = job.packet() {
            *packet = of_job;
            plan.add(place, packet);
        }
    }
    let mut tags = [[0; 16]; N];
    let mut lanes = LaneUse::default();
    plan.for_each(|kind, order| {
        let mut task = Task {
            kind,
            open: J::OPEN,
            packets: &packets,
            order,
            tags: &mut tags,
        };
        if simd::run(tier, &mut task) {
            lanes += lane_use(tier, &task);
        } else {
            scalar::run(&mut task);
            lanes += lane_use(Tier::Scalar, &task);
        }
    });
    for (place, (job, tag)) in jobs.iter_mut().zip(&tags).enumerate() {
        if plan.has(place) {
            job.finish(tag);
        }
    }
    lanes
}
