//! Rows: neighbours of one shape, as many as there are lanes.
//!
//! They go through the inner and the outer hash in step, so that the digests of
//! the one are the words of the other as they lie, and no lane waits.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::lanes::Keyed;
use crate::digest::{
    Compression, MOST_LANES, Message, PARTS, Row, RowKernel, WipedStates, Word, Words,
};

/// Memory that rows are hashed in, kept apart so that it is never moved.
pub(super) struct RowRoom<W: Word> {
    inner: Row<W>,
    /// The blocks of the outer hash, padded: only digests are written to them.
    outer_words: Words<W>,
    outer_states: WipedStates<W>,
    digest_words: usize,
}

impl<W: Word> RowRoom<W> {
    #[inline]
    pub(super) fn new(outer_words: Words<W>, digest_words: usize) -> RowRoom<W> {
        RowRoom {
            inner: Row::new(),
            outer_words,
            outer_states: WipedStates::default(),
            digest_words,
        }
    }
}

/// The messages of the next row.
pub(super) struct Rows<'r, W: Word, M> {
    kernel: RowKernel<W>,
    messages: ArrayVec<Keyed<'r, W, M>, MOST_LANES>,
    /// Bytes of each part of theirs.
    shape: [usize; PARTS],
    room: &'r mut RowRoom<W>,
}

impl<'r, W: Word, M: Message> Rows<'r, W, M> {
    /// Rows of the kernel of `tier` that suits so many messages; none where they
    /// do not fill one.
    pub(super) fn new(
        of: &'static Compression<W>,
        tier: Tier,
        messages: usize,
        room: &'r mut RowRoom<W>,
    ) -> Option<Self> {
        Some(Rows {
            kernel: RowKernel::new(of, tier, messages)?,
            messages: ArrayVec::new(),
            shape: [0; PARTS],
            room,
        })
    }

    /// Whether a message is of the shape of those that are waiting, if any are.
    #[inline]
    pub(super) fn fits(&self, keyed: &Keyed<'_, W, M>) -> bool {
        // One after the other, so that the lengths do not go through memory.
        self.messages.is_empty()
            || (0..PARTS).all(|part| keyed.part(part).len() == self.shape[part])
    }

    /// Takes a message in that fits. Those of a row that it fills go to `done`,
    /// with the state whose bytes are the tag.
    #[inline]
    pub(super) fn take(&mut self, keyed: Keyed<'r, W, M>, done: &mut impl FnMut(M, [W; 8])) {
        if self.messages.is_empty() {
            self.shape = keyed.parts().map(<[u8]>::len);
        }
        self.messages.push(keyed);
        if self.messages.len() == self.kernel.lanes() {
            self.hash();
            for (lane, keyed) in self.messages.drain(..).enumerate() {
                done(keyed.message, self.room.outer_states.column(lane));
            }
        }
    }

    /// A message of a row that is not to be filled.
    pub(super) fn pop(&mut self) -> Option<Keyed<'r, W, M>> {
        self.messages.pop()
    }

    /// Makes the tags of a full row.
    fn hash(&mut self) {
        let RowRoom {
            inner,
            outer_words,
            outer_states,
            digest_words,
        } = &mut *self.room;
        for (lane, keyed) in self.messages.iter().enumerate() {
            let [inner_pad, outer_pad] = keyed.pads;
            inner.states().set_column(lane, inner_pad);
            outer_states.set_column(lane, outer_pad);
        }
        inner.hash(&self.kernel, &self.messages, W::BLOCK_BYTES as u64);
        inner.states().write_words(outer_words, *digest_words);
        self.kernel.take_words(outer_states, outer_words);
    }
}
