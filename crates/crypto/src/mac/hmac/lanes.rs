//! HMAC across messages: each lane has a message and a key of its own.
//!
//! ```text
//! submit ──► inner hash, lanes refilled ──► 16 ended ──► outer hash ──► done
//!            from the state behind ipad     are kept     from the state behind opad,
//!                                           waiting      one block, all lanes at once
//! ```
//!
//! Neighbours of one shape take a shorter way: [`super::row`].

use weir_simd::Tier;

use super::key::PadStates;
use super::row::Rows;
use crate::digest::{
    Compression, MOST_LANES, Message, PARTS, Room, Row, Scheduler, WipedStates, Word, Words,
};

/// Memory that the lanes work in, kept apart so that it is never moved.
pub(crate) struct HmacRoom<W: Word> {
    inner: Room<W>,
    /// The blocks of the outer hash, padded: only digests are written to them.
    outer_words: Words<W>,
    outer_states: WipedStates<W>,
    digest_words: usize,
    row: Row<W>,
}

impl<W: Word> HmacRoom<W> {
    /// Room for keys of a hash function with digests of `digest_bytes`.
    #[inline]
    pub(crate) fn new(of: &Compression<W>, digest_bytes: usize) -> HmacRoom<W> {
        let digest_words = digest_bytes / size_of::<W>();
        let bytes = W::BLOCK_BYTES + digest_bytes;
        let outer_words = of.padded_words(digest_words, bytes as u32);
        HmacRoom {
            inner: Room::new(),
            row: Row::new(outer_words, digest_words),
            outer_words,
            outer_states: WipedStates::default(),
            digest_words,
        }
    }
}

/// Messages on their way to a tag, all by the same hash function.
pub(crate) struct HmacLanes<'r, W: Word, M> {
    rows: Option<Rows<'r, W, M>>,
    inner: Scheduler<'r, W, Keyed<'r, W, M>>,
    outer: Outer<'r, W, M>,
}

/// A message and its key.
pub(super) struct Keyed<'k, W: Word, M> {
    pub(super) pads: &'k PadStates<W>,
    pub(super) message: M,
}

impl<W: Word, M: Message> Message for Keyed<'_, W, M> {
    #[inline]
    fn parts(&self) -> [&[u8]; PARTS] {
        self.message.parts()
    }

    #[inline]
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
    words: &'r mut Words<W>,
    states: &'r mut WipedStates<W>,
    digest_words: usize,
}

impl<'r, W: Word, M: Message> HmacLanes<'r, W, M> {
    /// Lanes of `tier` for about so many messages with keys for `of`.
    #[inline]
    pub(crate) fn new(
        of: &'static Compression<W>,
        tier: Tier,
        messages: usize,
        room: &'r mut HmacRoom<W>,
    ) -> Self {
        HmacLanes {
            rows: Rows::new(of, tier, messages, &mut room.row),
            inner: Scheduler::new(of, tier, messages, &mut room.inner),
            outer: Outer {
                of,
                tier,
                waiting: [const { None }; MOST_LANES],
                count: 0,
                words: &mut room.outer_words,
                states: &mut room.outer_states,
                digest_words: room.digest_words,
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
        let keyed = Keyed { pads, message };
        if let Some(rows) = &mut self.rows {
            if rows.fits(&keyed) {
                return rows.take(keyed, done);
            }
            self.leave_row(done);
            if let Some(rows) = &mut self.rows
                && rows.fits(&keyed)
            {
                return rows.take(keyed, done);
            }
        }
        self.submit_alone(keyed, done);
    }

    /// Takes a message in that has no neighbours of its shape.
    fn submit_alone(&mut self, keyed: Keyed<'r, W, M>, done: &mut impl FnMut(M, [W; 8])) {
        let HmacLanes { inner, outer, .. } = self;
        let [state, _] = keyed.pads;
        inner.submit(keyed, state, W::BLOCK_BYTES as u64, &mut |keyed, state| {
            outer.take(keyed, &state, done);
        });
    }

    /// Takes in the messages of a row that is not to be filled.
    fn leave_row(&mut self, done: &mut impl FnMut(M, [W; 8])) {
        while let Some(keyed) = self.rows.as_mut().and_then(Rows::pop) {
            self.submit_alone(keyed, done);
        }
    }

    /// Brings all messages to their end.
    pub(crate) fn finish(&mut self, done: &mut impl FnMut(M, [W; 8])) {
        self.leave_row(done);
        let HmacLanes { inner, outer, .. } = self;
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
        // All eight, so that the loop has a fixed length: the digest's words, and
        // the words of padding that are already there.
        for (index, word) in inner.iter().enumerate() {
            let row = &mut self.words[index];
            row[place] = if index < self.digest_words {
                *word
            } else {
                row[place]
            };
        }
        let [_, outer] = pads;
        self.states.set_column(place, outer);
        self.waiting[place] = Some(message);
        self.count += 1;
        if self.count == MOST_LANES {
            self.finish(done);
        }
    }

    fn finish(&mut self, done: &mut impl FnMut(M, [W; 8])) {
        self.of
            .take_words(self.tier, self.states, self.words, self.count);
        for (lane, message) in self.waiting[..self.count].iter_mut().enumerate() {
            if let Some(message) = message.take() {
                done(message, self.states.column(lane));
            }
        }
        self.count = 0;
    }
}
