//! The packets of a batch on their way to the kernels.

use weir_simd::Tier;

use super::packet::Task;
use super::{scalar, simd};
use crate::aead::plan::{MOST_PACKETS, Plan};
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::tags::Tags;

/// Encrypts the texts of packets, or decrypts them where `open`, with the kernels of `tier`, and
/// writes their tags.
///
/// Branches and addresses depend on lengths alone.
pub(crate) fn compute_tags(
    tier: Tier,
    open: bool,
    plan: &Plan<'_, [u8; 32], 1>,
    tags: &mut Tags<MOST_PACKETS>,
) {
    plan.for_each(
        |_| 0,
        |_, packets| {
            if happens(Impossible::KernelReturns) {
                return;
            }
            let mut task = Task {
                kind: (),
                open,
                packets,
                tags,
            };
            if !simd::run(tier, &mut task) {
                frames::cleared(|| scalar::run(&mut task));
            }
        },
    );
}
