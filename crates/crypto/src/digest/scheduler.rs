//! Lanes kept full: a message takes the lane of one that has ended.
//!
//! All lanes advance together, by as many blocks as the shortest current run
//! has. Messages that are handed over the longest first leave few lanes idle at
//! the end; what is left then, when it is too little for the kernel, goes to a
//! narrower one.

use weir_simd::Tier;
use zeroize::Zeroize;

use super::compression::{Compression, Word};
use super::kernel::Kernel;
use super::message::{Lane, Message};
use super::simd::{MOST_LANES, States};

/// Messages in the lanes of one compression function.
pub(crate) struct Scheduler<W: Word, M> {
    of: &'static Compression<W>,
    tier: Tier,
    kernel: Kernel<W>,
    fewest: usize,
    states: States<W>,
    lanes: [Option<Lane<M>>; MOST_LANES],
    active: usize,
}

impl<W: Word, M: Message> Scheduler<W, M> {
    /// Lanes of `tier` for about so many messages.
    pub(crate) fn new(of: &'static Compression<W>, tier: Tier, messages: usize) -> Scheduler<W, M> {
        let kernel = of.kernel(tier, messages);
        let fewest = kernel.fewest();
        Scheduler::with_kernel(of, tier, kernel, fewest)
    }

    /// Lanes of `kernel`, which gives way to a narrower one when fewer messages
    /// than `fewest` are left.
    pub(super) fn with_kernel(
        of: &'static Compression<W>,
        tier: Tier,
        kernel: Kernel<W>,
        fewest: usize,
    ) -> Scheduler<W, M> {
        Scheduler {
            of,
            tier,
            kernel,
            fewest,
            states: States::default(),
            lanes: [const { None }; MOST_LANES],
            active: 0,
        }
    }

    /// Hashes `message` on from `state`, into which `bytes_before` bytes (whole
    /// blocks) have gone already. Messages that end meanwhile go to `done` with
    /// their last state.
    pub(crate) fn submit(
        &mut self,
        message: M,
        state: &[W; 8],
        bytes_before: u64,
        done: &mut impl FnMut(M, [W; 8]),
    ) {
        self.place(Lane::new(message, bytes_before, self.of), state, done);
    }

    /// Hashes what the lanes hold to its end.
    pub(crate) fn finish(mut self, done: &mut impl FnMut(M, [W; 8])) {
        while self.active > 0 {
            if self.active >= self.fewest {
                self.advance(done);
            } else {
                // A kernel for so few is a narrower one, so this ends.
                let narrower = Scheduler::new(self.of, self.tier, self.active);
                let mut wide = std::mem::replace(&mut self, narrower);
                for index in 0..MOST_LANES {
                    if let Some(lane) = wide.lanes[index].take() {
                        self.place(lane, &wide.state(index), done);
                    }
                }
            }
        }
    }

    /// Puts `lane` into a free place, of which it makes one if there is none.
    fn place(&mut self, lane: Lane<M>, state: &[W; 8], done: &mut impl FnMut(M, [W; 8])) {
        let index = loop {
            let places = &self.lanes[..self.kernel.lanes()];
            match places.iter().position(Option::is_none) {
                Some(free) => break free,
                None => self.advance(done),
            }
        };
        self.lanes[index] = Some(lane);
        for (row, word) in self.states.iter_mut().zip(state) {
            row[index] = *word;
        }
        self.active += 1;
    }

    /// Advances all lanes to the end of the shortest run.
    fn advance(&mut self, done: &mut impl FnMut(M, [W; 8])) {
        let occupied = || self.lanes.iter().flatten();
        let Some(blocks) = occupied().map(Lane::blocks_left).min() else {
            return;
        };
        // An idle lane reads what another one does, and nobody its state.
        let idle = occupied().next().map_or(&[][..], Lane::stream);
        let streams = std::array::from_fn(|index| {
            let lane = self.lanes[index].as_ref();
            lane.map_or(idle, Lane::stream)
        });
        let block_bytes = self.of.block_bytes;
        self.kernel
            .advance(&mut self.states, &streams, blocks, block_bytes);
        for index in 0..self.kernel.lanes() {
            let ended = self.lanes[index].take_if(|lane| !lane.advance(blocks, self.of));
            if let Some(lane) = ended {
                self.active -= 1;
                done(lane.into_message(), self.state(index));
            }
        }
    }

    fn state(&self, index: usize) -> [W; 8] {
        std::array::from_fn(|word| self.states[word][index])
    }
}

/// States of keyed hashes are as good as the key.
impl<W: Word, M> Drop for Scheduler<W, M> {
    fn drop(&mut self) {
        self.states.0.zeroize();
    }
}
