//! HMAC across messages: each lane has a message and a key of its own.
//!
//! ```text
//! submit ──► inner hash, lanes refilled ──► 16 ended ──► outer hash ──► done
//!            from the state behind ipad     are kept     from the state behind opad,
//!                                           waiting      one block, all lanes at once
//! ```

use weir_simd::Tier;

use super::hmac::PadStates;
use crate::digest::{Compression, MOST_LANES, Message, Room, Scheduler, WipedStates, Word};

/// Memory that the lanes work in, kept apart so that it is never moved.
pub(crate) struct HmacRoom<W: Word> {
    inner: Room<W>,
    /// The blocks of the outer hash, padded: only digests are written to them.
    outer_blocks: [[u8; 128]; MOST_LANES],
    outer_states: WipedStates<W>,
    digest_bytes: usize,
}

impl<W: Word> HmacRoom<W> {
    /// Room for keys like this one.
    pub(crate) fn new(like: &PadStates<W>) -> HmacRoom<W> {
        let mut block = [0; 128];
        let bytes = (W::BLOCK_BYTES + like.digest_bytes) as u64;
        like.of.pad(&mut block, like.digest_bytes, bytes);
        HmacRoom {
            inner: Room::new(),
            outer_blocks: [block; MOST_LANES],
            outer_states: WipedStates::default(),
            digest_bytes: like.digest_bytes,
        }
    }
}

/// Messages on their way to a tag, all by the same hash function.
pub(crate) struct HmacLanes<'r, W: Word, M> {
    inner: Scheduler<'r, W, Keyed<'r, W, M>>,
    outer: Outer<'r, W, M>,
}

/// A message and its key.
struct Keyed<'k, W: Word, M> {
    pads: &'k PadStates<W>,
    message: M,
}

impl<W: Word, M: Message> Message for Keyed<'_, W, M> {
    fn part(&self, index: usize) -> &[u8] {
        self.message.part(index)
    }
}

/// Messages whose inner hash has ended.
struct Outer<'r, W: Word, M> {
    of: &'static Compression<W>,
    tier: Tier,
    waiting: [Option<M>; MOST_LANES],
    count: usize,
    blocks: &'r mut [[u8; 128]; MOST_LANES],
    states: &'r mut WipedStates<W>,
    digest_bytes: usize,
}

impl<'r, W: Word, M: Message> HmacLanes<'r, W, M> {
    /// Lanes of `tier` for about so many messages with keys for `of`.
    pub(crate) fn new(
        of: &'static Compression<W>,
        tier: Tier,
        messages: usize,
        room: &'r mut HmacRoom<W>,
    ) -> Self {
        HmacLanes {
            inner: Scheduler::new(of, tier, messages, &mut room.inner),
            outer: Outer {
                of,
                tier,
                waiting: [const { None }; MOST_LANES],
                count: 0,
                blocks: &mut room.outer_blocks,
                states: &mut room.outer_states,
                digest_bytes: room.digest_bytes,
            },
        }
    }

    /// Takes a message in. Messages that end meanwhile go to `done` with the
    /// state whose bytes are the tag.
    pub(crate) fn submit(
        &mut self,
        message: M,
        pads: &'r PadStates<W>,
        done: &mut impl FnMut(M, [W; 8]),
    ) {
        let HmacLanes { inner, outer } = self;
        let keyed = Keyed { pads, message };
        inner.submit(
            keyed,
            &pads.inner,
            W::BLOCK_BYTES as u64,
            &mut |keyed, state| {
                outer.take(keyed, &state, done);
            },
        );
    }

    /// Brings all messages to their end.
    pub(crate) fn finish(self, done: &mut impl FnMut(M, [W; 8])) {
        let HmacLanes { inner, mut outer } = self;
        inner.finish(&mut |keyed, state| outer.take(keyed, &state, done));
        outer.finish(done);
    }
}

impl<W: Word, M> Outer<'_, W, M> {
    fn take(
        &mut self,
        Keyed { pads, message }: Keyed<'_, W, M>,
        inner: &[W; 8],
        done: &mut impl FnMut(M, [W; 8]),
    ) {
        let place = self.count;
        self.of
            .write(inner, &mut self.blocks[place][..self.digest_bytes]);
        self.states.set_column(place, &pads.outer);
        self.waiting[place] = Some(message);
        self.count += 1;
        if self.count == MOST_LANES {
            self.finish(done);
        }
    }

    fn finish(&mut self, done: &mut impl FnMut(M, [W; 8])) {
        let streams = self.blocks.each_ref().map(|block| &block[..]);
        self.of
            .take_blocks(self.tier, self.states, &streams, self.count);
        for (lane, message) in self.waiting[..self.count].iter_mut().enumerate() {
            if let Some(message) = message.take() {
                done(message, self.states.column(lane));
            }
        }
        self.count = 0;
    }
}
