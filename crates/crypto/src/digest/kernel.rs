//! Which code runs a compression function, chosen once for a batch.

use std::ops::Range;

use weir_simd::Tier;
use zeroize::Zeroizing;

use super::compression::{Compression, Word};
use super::scheduler::bits;
use super::simd::{LaneKernel, States, Streams};
use crate::simd::wipe;

pub(crate) use super::simd::{HmacRow, MOST_LANES, Words};

/// One compression function's code: a kernel in lanes, or the kept crate one
/// message at a time.
pub(super) enum Kernel<W: 'static> {
    Lanes(&'static LaneKernel<W>),
    Scalar(fn(&mut [W; 8], &[u8])),
}

impl<W: Word> Kernel<W> {
    /// The widest kernel of `tier` that so many messages make worth its while.
    pub(super) fn choose(of: &'static Compression<W>, tier: Tier, messages: usize) -> Kernel<W> {
        of.candidates
            .iter()
            .filter_map(|candidate| candidate.under(tier))
            .find(|kernel| kernel.fewest as usize <= messages)
            .map_or(Kernel::Scalar(of.scalar), Kernel::Lanes)
    }

    /// How many messages it takes at once.
    pub(super) fn lanes(&self) -> usize {
        match self {
            Kernel::Lanes(kernel) => kernel.lanes,
            Kernel::Scalar(_) => 1,
        }
    }

    /// With fewer messages than this, another kernel is done sooner.
    pub(super) fn fewest(&self) -> u32 {
        match self {
            Kernel::Lanes(kernel) => kernel.fewest,
            Kernel::Scalar(_) => 1,
        }
    }

    /// Takes `blocks` blocks of the streams of some lanes into their states:
    /// those whose bits are set in `lanes`, at most as many as the kernel has.
    /// The other streams are as long and of no interest.
    pub(super) fn advance(
        &self,
        states: &mut WipedStates<W>,
        lanes: u32,
        streams: &Streams<'_>,
        blocks: usize,
    ) {
        let in_place = u32::BITS - lanes.leading_zeros() <= self.lanes() as u32;
        if in_place {
            self.run(&mut states.0, streams, blocks);
            return;
        }
        let mut few = WipedStates::default();
        let mut side_by_side = *streams;
        for (place, lane) in bits(lanes).enumerate() {
            side_by_side[place] = streams[lane];
            few.set_column(place, &states.column(lane));
        }
        self.run(&mut few.0, &side_by_side, blocks);
        for (place, lane) in bits(lanes).enumerate() {
            states.set_column(lane, &few.column(place));
        }
    }

    /// Takes one block of each of `lanes`, at most as many as the kernel has,
    /// into its state. `big_endian` is how the words of the block are written.
    pub(super) fn take_words(
        &self,
        states: &mut WipedStates<W>,
        words: &Words<W>,
        lanes: Range<usize>,
        big_endian: bool,
    ) {
        match self {
            Kernel::Lanes(kernel) if lanes.end <= kernel.lanes => {
                kernel.take_words(&mut states.0, words);
            }
            Kernel::Lanes(kernel) => {
                let mut few = WipedStates::default();
                let mut few_words = Words::default();
                for (place, lane) in lanes.clone().enumerate() {
                    few.set_column(place, &states.column(lane));
                    for (few, row) in few_words.iter_mut().zip(words.iter()) {
                        few[place] = row[lane];
                    }
                }
                kernel.take_words(&mut few.0, &few_words);
                for (place, lane) in lanes.enumerate() {
                    states.set_column(lane, &few.column(place));
                }
            }
            Kernel::Scalar(advance) => {
                for lane in lanes {
                    let mut block = Zeroizing::new([0; 128]);
                    let (front, back) = block[..W::BLOCK_BYTES].split_at_mut(W::BLOCK_BYTES / 2);
                    let half = |first: usize| std::array::from_fn(|i| words[first + i][lane]);
                    W::write(&half(0), big_endian, front);
                    W::write(&half(8), big_endian, back);
                    let mut state = states.column(lane);
                    advance(&mut state, &block[..W::BLOCK_BYTES]);
                    states.set_column(lane, &state);
                }
            }
        }
    }

    fn run(&self, states: &mut States<W>, streams: &Streams<'_>, blocks: usize) {
        match self {
            Kernel::Lanes(kernel) => kernel.advance(states, streams, blocks),
            Kernel::Scalar(advance) => {
                let mut state = std::array::from_fn(|word| states[word][0]);
                advance(&mut state, &streams[0][..blocks * W::BLOCK_BYTES]);
                for (row, word) in states.iter_mut().zip(state) {
                    row[0] = word;
                }
            }
        }
    }
}

/// Takes one block of each message into `initial` and hands its state to `done`, with the kernels
/// of `tier` that suit so many.
pub(crate) fn advance_each<W: Word>(
    of: &'static Compression<W>,
    tier: Tier,
    initial: &[W; 8],
    blocks: &[&[u8]],
    mut done: impl FnMut(usize, [W; 8]),
) {
    let mut first = 0;
    while let Some(rest @ [like, ..]) = blocks.get(first..) {
        let kernel = of.kernel(tier, rest.len());
        let count = rest.len().min(kernel.lanes());
        // Lanes without a message repeat the first one.
        let mut streams = [*like; MOST_LANES];
        streams[..count].copy_from_slice(&rest[..count]);
        let mut states = WipedStates::default();
        for (row, word) in states.0.iter_mut().zip(initial) {
            *row = [*word; MOST_LANES];
        }
        kernel.run(&mut states.0, &streams, 1);
        (0..count).for_each(|lane| done(first + lane, states.column(lane)));
        first += count;
    }
}

/// States of lanes. Wiped when dropped: those of keyed hashes are as good as
/// the key.
#[derive(Default)]
pub(crate) struct WipedStates<W: Word>(States<W>);

impl<W: Word> WipedStates<W> {
    #[inline(always)]
    pub(crate) fn column(&self, lane: usize) -> [W; 8] {
        std::array::from_fn(|word| self.0[word][lane])
    }

    #[inline(always)]
    pub(crate) fn set_column(&mut self, lane: usize, state: &[W; 8]) {
        for (row, word) in self.0.iter_mut().zip(state) {
            row[lane] = *word;
        }
    }

    /// As [`LaneKernel::hmac`].
    pub(super) fn hmac(&mut self, kernel: &LaneKernel<W>, row: &HmacRow<'_, W>) {
        kernel.hmac(row, &mut self.0);
    }
}

impl<W: Word> Drop for WipedStates<W> {
    fn drop(&mut self) {
        wipe(&mut self.0.0);
    }
}
