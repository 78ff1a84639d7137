//! Messages of one shape, one in each lane of a kernel: they are cut alike and end
//! together, so that nothing is scheduled.

use weir_simd::Tier;

use super::compression::{Compression, Word};
use super::copy::copy_each;
use super::kernel::{HmacRow, Kernel, MOST_LANES, WipedStates, Words};
use super::message::Message;
use super::simd::LaneKernel;

/// A kernel whose lanes rows fill.
pub(crate) struct RowKernel<W: Word> {
    of: &'static Compression<W>,
    kernel: &'static LaneKernel<W>,
}

/// Memory that a row is hashed in, kept apart so that it is never moved.
pub(crate) struct Row<W: Word> {
    ends: [W::Gathered; MOST_LANES],
    /// Bytes in front of the padding that the ends have, and of the whole messages.
    padded: Option<(usize, u64)>,
    states: WipedStates<W>,
    /// The block of the outer hash, padded, but for the digest.
    outer_words: Words<W>,
    digest_words: usize,
}

impl<W: Word> RowKernel<W> {
    /// The kernel of `tier` that suits so many messages, if they fill its lanes.
    pub(crate) fn new(
        of: &'static Compression<W>,
        tier: Tier,
        messages: usize,
    ) -> Option<RowKernel<W>> {
        match of.kernel(tier, messages) {
            Kernel::Lanes(kernel) if kernel.lanes <= messages => Some(RowKernel { of, kernel }),
            _ => None,
        }
    }

    /// Messages of a row.
    #[inline]
    pub(crate) fn lanes(&self) -> usize {
        self.kernel.lanes
    }

    /// Whether a message may be in a row: it lies in one place, and what is behind it is short.
    #[inline]
    pub(crate) fn takes(message: &impl Message) -> bool {
        message.part(0).is_empty() && message.part(2).len() <= MOST_TRAILING_BYTES
    }
}

/// What fits behind the last bytes of a message together with the padding.
const MOST_TRAILING_BYTES: usize = 16;

impl<W: Word> Row<W> {
    #[inline]
    pub(crate) fn new(outer_words: Words<W>, digest_words: usize) -> Row<W> {
        Row {
            ends: [W::NOTHING_GATHERED; MOST_LANES],
            padded: None,
            states: WipedStates::default(),
            outer_words,
            digest_words,
        }
    }

    /// The state whose bytes are a lane's tag.
    #[inline]
    pub(crate) fn tag(&self, lane: usize) -> [W; 8] {
        self.states.column(lane)
    }

    /// Hashes a message in each lane by HMAC, from the states behind its key's pads.
    ///
    /// # Panics
    /// A message is of another shape than the first, or there are fewer than lanes.
    pub(crate) fn hmac<'a>(
        &mut self,
        kernel: &RowKernel<W>,
        pads: impl Fn(usize) -> &'a [[W; 8]; 2],
        messages: &[impl Message],
    ) where
        W: 'a,
    {
        let messages = &messages[..kernel.lanes()];
        let [body_bytes, trailing_bytes] = [1, 2].map(|part| messages[0].part(part).len());
        let body_blocks = body_bytes / W::BLOCK_BYTES;
        let whole = body_blocks * W::BLOCK_BYTES;
        let used = body_bytes - whole + trailing_bytes;
        let end_blocks = (used + 1 + W::LENGTH_BYTES).div_ceil(W::BLOCK_BYTES);
        let total = (W::BLOCK_BYTES + body_bytes + trailing_bytes) as u64;
        if self.padded != Some((used, total)) {
            for (end, _) in self.ends.iter_mut().zip(messages) {
                kernel.of.pad(end.as_mut(), used, total);
            }
            self.padded = Some((used, total));
        }
        let (rest, ends) = (body_bytes - whole, &mut self.ends);
        let pairs = ends.iter_mut().zip(messages);
        let rests = pairs.map(|(end, message)| {
            let body = &message.part(1)[whole..whole + rest];
            (&mut end.as_mut()[..rest], body)
        });
        copy_each(rest, rests);
        if trailing_bytes > 0 {
            for (end, message) in ends.iter_mut().zip(messages) {
                let place = &mut end.as_mut()[rest..used];
                place.copy_from_slice(message.part(2));
            }
        }

        // Lanes that the kernel lacks repeat the first.
        let lane = |lane: usize| if lane < messages.len() { lane } else { 0 };
        let row = HmacRow {
            pads: std::array::from_fn(|index| pads(lane(index))),
            bodies: std::array::from_fn(|index| messages[lane(index)].part(1)),
            body_blocks,
            ends: std::array::from_fn(|index| self.ends[index].as_ref()),
            end_blocks,
            outer: &self.outer_words,
            digest_words: self.digest_words,
        };
        self.states.hmac(kernel.kernel, &row);
    }
}
