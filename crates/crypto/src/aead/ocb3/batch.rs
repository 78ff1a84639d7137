//! The packets of a batch on their way to the kernels.

use weir_simd::Tier;

use super::key::Ocb3Key;
use super::packet::Task;
use super::{scalar, simd};
use crate::aead::plan::{MOST_PACKETS, Plan};
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::suite::AesKeySize;
use crate::tags::Tags;

/// Sizes of keys: packets whose keys are of the same size go together.
pub(crate) const KINDS: usize = AesKeySize::ALL.len();

/// Encrypts the texts of packets, or decrypts them where `open`, with the kernels of `tier`, and
/// writes their tags.
pub(crate) fn compute_tags(
    tier: Tier,
    open: bool,
    plan: &Plan<'_, Ocb3Key, KINDS>,
    tags: &mut Tags<MOST_PACKETS>,
) {
    let kind_of = |key: &Ocb3Key| key.size() as usize;
    plan.for_each(kind_of, |kind, packets| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        let mut task = Task {
            kind: AesKeySize::ALL[kind],
            open,
            packets,
            tags,
        };
        frames::cleared(|| {
            if !simd::run(tier, &mut task) {
                scalar::run(&mut task);
            }
        });
    });
}
