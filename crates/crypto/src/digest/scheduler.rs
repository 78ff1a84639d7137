//! Lanes kept full: a message takes the lane of one that has ended.
//!
//! All lanes advance together, by as many blocks as the shortest current run
//! has. Messages that are handed over the longest first leave few lanes idle at
//! the end; what is left then, when it is too little for the kernel, goes to a
//! narrower one.

use weir_simd::Tier;

use super::compression::{Compression, Word};
use super::kernel::{Kernel, MOST_LANES, WipedStates};
use super::message::{Lane, Message};

/// Memory that lanes work in, kept apart so that it is never moved.
pub(crate) struct Room<W: Word> {
    states: WipedStates<W>,
    gathered: [W::Gathered; MOST_LANES],
}

impl<W: Word> Room<W> {
    #[inline]
    pub(crate) fn new() -> Room<W> {
        Room {
            states: WipedStates::default(),
            gathered: [W::NOTHING_GATHERED; MOST_LANES],
        }
    }
}

/// Messages in the lanes of one compression function.
pub(crate) struct Scheduler<'r, W: Word, M> {
    of: &'static Compression<W>,
    tier: Tier,
    kernel: Kernel<W>,
    fewest: u32,
    lanes: [Lane<M>; MOST_LANES],
    /// A bit for each lane that has a message.
    active: u32,
    room: &'r mut Room<W>,
}

impl<'r, W: Word, M: Message> Scheduler<'r, W, M> {
    /// Lanes of `tier` for about so many messages.
    pub(crate) fn new(
        of: &'static Compression<W>,
        tier: Tier,
        messages: usize,
        room: &'r mut Room<W>,
    ) -> Self {
        let kernel = of.kernel(tier, messages);
        let fewest = kernel.fewest();
        Scheduler::with_kernel(of, tier, kernel, fewest, room)
    }

    /// Lanes of `kernel`, which gives way to a narrower one when fewer messages
    /// than `fewest` are left.
    pub(super) fn with_kernel(
        of: &'static Compression<W>,
        tier: Tier,
        kernel: Kernel<W>,
        fewest: u32,
        room: &'r mut Room<W>,
    ) -> Self {
        Scheduler {
            of,
            tier,
            kernel,
            fewest,
            lanes: std::array::from_fn(|_| Lane::idle()),
            active: 0,
            room,
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
        let index = loop {
            let free = self.active.trailing_ones() as usize;
            if free < self.kernel.lanes() {
                break free;
            }
            self.advance(done);
        };
        let gathered = &mut self.room.gathered[index];
        self.lanes[index].begin(message, bytes_before, self.of, gathered);
        self.room.states.set_column(index, state);
        self.active |= 1 << index;
    }

    /// Hashes what the lanes hold to its end.
    pub(crate) fn finish(&mut self, done: &mut impl FnMut(M, [W; 8])) {
        while self.active != 0 {
            let messages = self.active.count_ones();
            if messages < self.fewest {
                self.kernel = self.of.kernel(self.tier, messages as usize);
                self.fewest = self.kernel.fewest();
            }
            self.advance(done);
        }
    }

    /// Advances the lanes that the kernel takes, all or the first few of those
    /// with a message, to the end of the shortest run among them.
    fn advance(&mut self, done: &mut impl FnMut(M, [W; 8])) {
        let Room { states, gathered } = &mut *self.room;
        let taken = lowest(self.active, self.kernel.lanes());
        let first = taken.trailing_zeros() as usize;
        let Some(lane) = self.lanes.get(first) else {
            return;
        };
        let mut blocks = lane.blocks_left();
        // An idle lane reads what another one does, and nobody its state.
        let mut streams = [lane.stream::<W>(&gathered[first]); MOST_LANES];
        for index in bits(taken) {
            let lane = &self.lanes[index];
            blocks = blocks.min(lane.blocks_left());
            streams[index] = lane.stream::<W>(&gathered[index]);
        }
        self.kernel.advance(states, taken, &streams, blocks);
        for index in bits(taken) {
            let lane = &mut self.lanes[index];
            if let Some(message) = lane.advance(blocks, self.of, &mut gathered[index]) {
                self.active &= !(1 << index);
                done(message, states.column(index));
            }
        }
    }
}

/// The lowest ones of `mask`, at most so many.
fn lowest(mask: u32, most: usize) -> u32 {
    if mask.count_ones() as usize <= most {
        return mask;
    }
    bits(mask).take(most).fold(0, |low, index| low | 1 << index)
}

/// The positions of the ones in `mask`, lowest first.
pub(super) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (index < MOST_LANES).then_some(index)
    })
}
