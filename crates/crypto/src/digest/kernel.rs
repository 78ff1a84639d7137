//! Which code runs a compression function, chosen once for a batch.

use weir_simd::Tier;

use super::compression::{Compression, Word};
use super::simd::{LaneKernel, States, Streams};

/// One compression function's code: a kernel in lanes, or the kept crate one
/// message at a time.
pub(super) enum Kernel<W: 'static> {
    Lanes(&'static LaneKernel<W>),
    Twin(fn(&mut [W; 8], &[u8])),
}

impl<W: Word> Kernel<W> {
    /// The widest kernel of `tier` that so many messages make worth its while.
    pub(super) fn choose(of: &'static Compression<W>, tier: Tier, messages: usize) -> Kernel<W> {
        of.candidates
            .iter()
            .filter_map(|candidate| candidate.under(tier))
            .find(|kernel| kernel.fewest <= messages)
            .map_or(Kernel::Twin(of.twin), Kernel::Lanes)
    }

    /// How many messages it takes at once.
    pub(super) fn lanes(&self) -> usize {
        match self {
            Kernel::Lanes(kernel) => kernel.lanes,
            Kernel::Twin(_) => 1,
        }
    }

    /// With fewer messages than this, another kernel is done sooner.
    pub(super) fn fewest(&self) -> usize {
        match self {
            Kernel::Lanes(kernel) => kernel.fewest,
            Kernel::Twin(_) => 1,
        }
    }

    /// Takes `blocks` blocks of `block_bytes` of every stream into the state of
    /// its lane.
    pub(super) fn advance(
        &self,
        states: &mut States<W>,
        streams: &Streams<'_>,
        blocks: usize,
        block_bytes: usize,
    ) {
        match self {
            Kernel::Lanes(kernel) => kernel.advance(states, streams, blocks),
            Kernel::Twin(twin) => {
                let mut state = std::array::from_fn(|word| states[word][0]);
                twin(&mut state, &streams[0][..blocks * block_bytes]);
                for (row, word) in states.iter_mut().zip(state) {
                    row[0] = word;
                }
            }
        }
    }
}
