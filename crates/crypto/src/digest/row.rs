//! Messages of one shape, one in each lane of a kernel: they are cut alike and end
//! together, so that nothing is scheduled.

use weir_simd::Tier;

use super::compression::{Compression, Word};
use super::copy::copy_each;
use super::kernel::{Kernel, MOST_LANES, WipedStates, Words};
use super::message::{Cut, Message, Run, total_bytes};

/// A kernel whose lanes rows fill.
pub(crate) struct RowKernel<W: Word> {
    of: &'static Compression<W>,
    kernel: Kernel<W>,
}

/// Memory that a row is hashed in, kept apart so that it is never moved.
pub(crate) struct Row<W: Word> {
    states: WipedStates<W>,
    gathered: [W::Gathered; MOST_LANES],
}

impl<W: Word> RowKernel<W> {
    /// The kernel of `tier` that suits so many messages, if they fill its lanes.
    pub(crate) fn new(
        of: &'static Compression<W>,
        tier: Tier,
        messages: usize,
    ) -> Option<RowKernel<W>> {
        let kernel = of.kernel(tier, messages);
        (kernel.lanes() > 1 && kernel.lanes() <= messages).then_some(RowKernel { of, kernel })
    }

    /// Messages of a row.
    #[inline]
    pub(crate) fn lanes(&self) -> usize {
        self.kernel.lanes()
    }

    /// Takes one block of every lane into its state.
    pub(crate) fn take_words(&self, states: &mut WipedStates<W>, words: &Words<W>) {
        let lanes = 0..self.lanes();
        self.kernel
            .take_words(states, words, lanes, self.of.is_big_endian());
    }
}

impl<W: Word> Row<W> {
    #[inline]
    pub(crate) fn new() -> Row<W> {
        Row {
            states: WipedStates::default(),
            gathered: [W::NOTHING_GATHERED; MOST_LANES],
        }
    }

    /// What the message of each lane is hashed on from, then its last state.
    #[inline]
    pub(crate) fn states(&mut self) -> &mut WipedStates<W> {
        &mut self.states
    }

    /// Hashes one message in each lane, into whose state `bytes_before` bytes
    /// (whole blocks) have gone already.
    ///
    /// # Panics
    /// A message is of another shape than the first, or there are fewer than lanes.
    pub(crate) fn hash(
        &mut self,
        kernel: &RowKernel<W>,
        messages: &[impl Message],
        bytes_before: u64,
    ) {
        let messages = &messages[..kernel.lanes()];
        let Some(first) = messages.first() else {
            return;
        };
        let bytes = total_bytes(first.parts().map(<[u8]>::len));
        let mut cut = Cut::new(bytes, bytes_before);
        let all = u32::MAX >> (u32::BITS - kernel.lanes() as u32);
        loop {
            let run = cut.next::<W>(first);
            let mut streams = [&[][..]; MOST_LANES];
            let blocks = match run {
                Run::Straight { part, at, blocks } => {
                    for (stream, message) in streams.iter_mut().zip(messages) {
                        *stream = &message.part(part)[at..];
                    }
                    blocks
                }
                Run::Gathered | Run::Last => {
                    let blocks = self.gather(run, &mut cut, kernel.of, messages);
                    for (stream, gathered) in streams.iter_mut().zip(&self.gathered) {
                        *stream = gathered.as_ref();
                    }
                    blocks
                }
            };
            kernel
                .kernel
                .advance(&mut self.states, all, &streams, blocks);
            if run == Run::Last {
                break;
            }
        }
    }

    /// Gathers a run that is not straight, piece by piece of all messages;
    /// returns its blocks.
    fn gather(
        &mut self,
        run: Run,
        cut: &mut Cut,
        of: &Compression<W>,
        messages: &[impl Message],
    ) -> usize {
        let used = cut.bytes_of::<W>(run);
        let mut blocks = 1;
        if run == Run::Last {
            for (gathered, _) in self.gathered.iter_mut().zip(messages) {
                blocks = of.pad(gathered.as_mut(), used, cut.total_bytes());
            }
        }
        let mut to = 0;
        while to < used
            && let Some((part, piece)) = cut.next_piece(&messages[0], used - to)
        {
            let end = to + piece.len();
            let pairs = self.gathered.iter_mut().zip(messages);
            let pairs = pairs.map(|(gathered, message)| {
                let from = &message.part(part)[piece.clone()];
                (&mut gathered.as_mut()[to..end], from)
            });
            copy_each(piece.len(), pairs);
            to = end;
        }
        blocks
    }
}
