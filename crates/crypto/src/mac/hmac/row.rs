//! Rows: up to one message per lane, neighbours of one shape.
//!
//! They go through the inner and the outer hash in step, so that the digests of
//! the one are the words of the other as they lie, and no lane waits.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::lanes::Keyed;
use crate::digest::{Compression, MOST_LANES, Message, PARTS, Row, RowKernel, Word};

/// The messages of the next row.
pub(super) struct Rows<'r, W: Word, M> {
    kernel: RowKernel<W>,
    messages: ArrayVec<Keyed<'r, W, M>, MOST_LANES>,
    /// Bytes of each part of theirs.
    shape: [usize; PARTS],
    row: &'r mut Row<W>,
}

impl<'r, W: Word, M: Message> Rows<'r, W, M> {
    /// Rows of the kernel of `tier` that suits so many messages; none where they
    /// do not fill one.
    pub(super) fn new(
        of: &'static Compression<W>,
        tier: Tier,
        messages: usize,
        row: &'r mut Row<W>,
    ) -> Option<Self> {
        Some(Rows {
            kernel: RowKernel::new(of, tier, messages)?,
            messages: ArrayVec::new(),
            shape: [0; PARTS],
            row,
        })
    }

    /// Whether a message is of a shape that rows take, and of that of those that are waiting,
    /// if any are.
    #[inline]
    pub(super) fn fits(&self, keyed: &Keyed<'_, W, M>) -> bool {
        match self.messages.is_empty() {
            true => RowKernel::<W>::takes(keyed),
            // One after the other, so that the lengths do not go through memory.
            false => (0..PARTS).all(|part| keyed.part(part).len() == self.shape[part]),
        }
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
            let Rows {
                kernel,
                messages,
                row,
                ..
            } = self;
            row.hmac(kernel, |lane| messages[lane].pads, messages);
            for (lane, keyed) in messages.drain(..).enumerate() {
                done(keyed.message, row.tag(lane));
            }
        }
    }

    /// A message of a row that is not to be filled.
    pub(super) fn pop(&mut self) -> Option<Keyed<'r, W, M>> {
        self.messages.pop()
    }
}
