//! Which code runs a compression function, chosen once for a batch.

use weir_simd::Tier;
use zeroize::Zeroize;

use super::compression::{Compression, Word};
use super::simd::{LaneKernel, States, Streams};

pub(crate) use super::simd::MOST_LANES;

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
            .find(|kernel| kernel.fewest as usize <= messages)
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
    pub(super) fn fewest(&self) -> u32 {
        match self {
            Kernel::Lanes(kernel) => kernel.fewest,
            Kernel::Twin(_) => 1,
        }
    }

    /// Takes `blocks` blocks of the streams of `lanes` into their states.
    /// `lanes` ascends, and has at most as many as the kernel.
    pub(super) fn advance(
        &self,
        states: &mut WipedStates<W>,
        lanes: impl Iterator<Item = usize> + Clone,
        streams: &[&[u8]; MOST_LANES],
        blocks: usize,
    ) {
        let (Some(first), Some(last)) = (lanes.clone().next(), lanes.clone().last()) else {
            return;
        };
        // An idle lane reads what another one does, and nobody its state.
        let mut side_by_side = [streams[first]; MOST_LANES];
        if last < self.lanes() {
            for lane in lanes {
                side_by_side[lane] = streams[lane];
            }
            self.run(&mut states.0, &side_by_side, blocks);
        } else {
            let mut few = WipedStates::default();
            for (place, lane) in lanes.clone().enumerate() {
                side_by_side[place] = streams[lane];
                few.set_column(place, &states.column(lane));
            }
            self.run(&mut few.0, &side_by_side, blocks);
            for (place, lane) in lanes.enumerate() {
                states.set_column(lane, &few.column(place));
            }
        }
    }

    fn run(&self, states: &mut States<W>, streams: &Streams<'_>, blocks: usize) {
        match self {
            Kernel::Lanes(kernel) => kernel.advance(states, streams, blocks),
            Kernel::Twin(twin) => {
                let mut state = std::array::from_fn(|word| states[word][0]);
                twin(&mut state, &streams[0][..blocks * W::BLOCK_BYTES]);
                for (row, word) in states.iter_mut().zip(state) {
                    row[0] = word;
                }
            }
        }
    }
}

/// States of lanes. Wiped when dropped: those of keyed hashes are as good as
/// the key.
#[derive(Default)]
pub(crate) struct WipedStates<W: Word>(States<W>);

impl<W: Word> WipedStates<W> {
    pub(crate) fn column(&self, lane: usize) -> [W; 8] {
        std::array::from_fn(|word| self.0[word][lane])
    }

    pub(crate) fn set_column(&mut self, lane: usize, state: &[W; 8]) {
        for (row, word) in self.0.iter_mut().zip(state) {
            row[lane] = *word;
        }
    }
}

impl<W: Word> Drop for WipedStates<W> {
    fn drop(&mut self) {
        self.0.0.zeroize();
    }
}
