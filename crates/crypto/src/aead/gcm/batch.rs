//! The packets of a batch on their way to the kernels, and their tags back.

use weir_simd::Tier;

use super::occupancy::lane_use;
use super::packet::GcmJob;
use super::plan::{KINDS, Kind, Task};
use super::simd::LaneLimits;
use super::{scalar, simd};
use crate::aead::plan::{MOST_PACKETS, Plan};
use crate::cipher::Block;
use crate::lane_use::LaneUse;

/// Seals or opens the GCM packets among `jobs` with the kernels of `tier`.
pub(crate) fn process<J: GcmJob>(tier: Tier, jobs: &mut [J]) -> LaneUse {
    let mut lanes = LaneUse::default();
    for jobs in jobs.chunks_mut(MOST_PACKETS) {
        let mut tags = [[0; 16]; MOST_PACKETS];
        lanes += compute_tags(tier, jobs, &mut tags);
        let mut tags = tags.iter();
        for job in jobs {
            if job.packet().is_some()
                && let Some(tag) = tags.next()
            {
                job.finish(tag);
            }
        }
    }
    lanes
}

/// Encrypts or decrypts all texts, and writes the tags of those jobs that are
/// GCM's, in their order.
fn compute_tags<J: GcmJob>(
    tier: Tier,
    jobs: &mut [J],
    tags: &mut [Block; MOST_PACKETS],
) -> LaneUse {
    let limits = LaneLimits::of(tier);
    let mut plan = Plan::<_, _, KINDS>::new(|packet| Kind::number(&limits, packet));
    for job in jobs {
        if let Some(packet) = job.begin() {
            plan.add(packet);
        }
    }
    let mut lanes = LaneUse::default();
    plan.for_each(|kind, packets, places| {
        let mut task = Task {
            kind: Kind::of(kind),
            open: J::OPEN,
            alike: !plan.is_mixed(),
            packets,
            places,
            tags,
        };
        if simd::run(tier, &mut task) {
            lanes += lane_use(tier, &task);
        } else {
            scalar::run(&mut task);
            lanes += lane_use(Tier::Scalar, &task);
        }
    });
    lanes
}
