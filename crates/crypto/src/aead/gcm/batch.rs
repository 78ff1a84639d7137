//! The packets of a batch on their way to the kernels and back.

use weir_simd::Tier;

use super::packet::{GcmJob, Packet};
use super::plan::Plan;
use super::{scalar, simd};
use crate::cipher::Block;

/// Packets planned at once.
pub(super) const MOST_PACKETS: usize = 256;

/// Packets of a small batch, which is not worth clearing tables for many.
const FEW_PACKETS: usize = 16;

/// Up to `N` packets, each of which a kernel takes out once, and their tags.
pub(super) struct Batch<'b, 'a, const N: usize> {
    packets: &'b mut [Option<Packet<'a>>; N],
    tags: &'b mut [Block; N],
}

/// Seals or opens the GCM packets among `jobs` with the kernels of `tier`.
pub(crate) fn process<J: GcmJob>(tier: Tier, jobs: &mut [J]) {
    if jobs.len() <= FEW_PACKETS {
        process_some::<J, FEW_PACKETS>(tier, jobs);
    } else {
        for jobs in jobs.chunks_mut(MOST_PACKETS) {
            process_some::<J, MOST_PACKETS>(tier, jobs);
        }
    }
}

/// Processes at most `N` jobs.
fn process_some<J: GcmJob, const N: usize>(tier: Tier, jobs: &mut [J]) {
    let mut plan = Plan::<N>::new(tier);
    let mut packets = [const { None }; N];
    let mut tags = [[0; 16]; N];
    for (place, (job, packet)) in jobs.iter_mut().zip(&mut packets).enumerate() {
        *packet = job.packet();
        if let Some(packet) = packet {
            plan.add(place, packet);
        }
    }
    let mut batch = Batch {
        packets: &mut packets,
        tags: &mut tags,
    };
    plan.for_each(|kind, order| {
        if !simd::run(tier, kind, J::OPEN, &mut batch, order) {
            scalar::run(J::OPEN, &mut batch, order);
        }
    });
    for (place, (job, tag)) in jobs.iter_mut().zip(&tags).enumerate() {
        if plan.has(place) {
            job.finish(tag);
        }
    }
}

impl<'a, const N: usize> Batch<'_, 'a, N> {
    /// The packet at `place`, if it was not taken before.
    #[inline]
    pub(super) fn take(&mut self, place: u8) -> Option<Packet<'a>> {
        self.packets.get_mut(usize::from(place))?.take()
    }

    /// A look at the packet at `place`, if it was not taken before.
    #[inline]
    pub(super) fn peek(&self, place: u8) -> Option<&Packet<'a>> {
        self.packets.get(usize::from(place))?.as_ref()
    }

    #[inline]
    pub(super) fn finish(&mut self, place: u8, tag: Block) {
        if let Some(at) = self.tags.get_mut(usize::from(place)) {
            *at = tag;
        }
    }
}
