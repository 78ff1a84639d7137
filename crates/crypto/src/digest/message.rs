//! A message on its way through a lane: the next run of whole blocks, without
//! copying what already lies in blocks.

use std::ops::Range;

use super::compression::{Compression, Word};
use super::copy::{SHORT_BYTES, copy_short};

/// Something to be hashed: parts that follow each other, wherever they lie.
pub(crate) trait Message {
    /// The same bytes at every call; those of no use are empty.
    fn parts(&self) -> [&[u8]; PARTS];

    /// One of them: what to ask for where not all are of use, for a copy of all
    /// would go through memory.
    fn part(&self, index: usize) -> &[u8] {
        self.parts()[index]
    }
}

/// The bytes of a message in parts: a sum that does not wrap where lengths are of 32
/// bits, and stops at the highest number where they are of 64.
#[inline]
pub(crate) fn total_bytes(parts: [usize; PARTS]) -> u64 {
    let sum = |total: u64, bytes: usize| total.saturating_add(bytes as u64);
    parts.into_iter().fold(0, sum)
}

/// AAD that do not lie in front of the rest, the rest, and what is authenticated and not sent.
pub(crate) const PARTS: usize = 3;

/// How far a message has been cut into runs of whole blocks.
///
/// ```text
/// parts     AAD │IV, payload                                      │trailing
/// blocks    ├───┴────────┼───────────┼───────────┼───────────┼────┴──────┤
/// runs       gathered     straight from the payload           gathered, padded
/// ```
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Bytes of the message, and those hashed before it: a block of HMAC's pad.
    total_bytes: u64,
    /// Bytes that no run has yet included, where they begin, and in which part.
    bytes_left: u64,
    part: usize,
    at: usize,
}

/// The next blocks that lie together, or are to be gathered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// So many blocks of a part.
    Straight {
        part: usize,
        at: usize,
        blocks: usize,
    },
    /// A block of what several parts have.
    Gathered,
    /// The end of the message, with its padding.
    Last,
}

impl Cut {
    /// Of nothing yet.
    pub(super) fn new(bytes: u64, bytes_before: u64) -> Cut {
        Cut {
            total_bytes: bytes_before.saturating_add(bytes),
            bytes_left: bytes,
            part: 0,
            at: 0,
        }
    }

    /// The next run. What is to be gathered must be, by [`Cut::next_piece`].
    #[inline]
    pub(super) fn next<W: Word>(&mut self, message: &impl Message) -> Run {
        let most_bytes = size_of::<W::Gathered>() - 1 - W::LENGTH_BYTES;
        if self.bytes_left <= most_bytes as u64 {
            return Run::Last;
        }
        while self.part < PARTS && self.at == message.part(self.part).len() {
            self.part += 1;
            self.at = 0;
        }
        let blocks = match self.part {
            PARTS.. => 0,
            part => (message.part(part).len() - self.at) / W::BLOCK_BYTES,
        };
        if blocks == 0 {
            return Run::Gathered;
        }
        let (part, at) = (self.part, self.at);
        self.at += blocks * W::BLOCK_BYTES;
        self.bytes_left -= (blocks * W::BLOCK_BYTES) as u64;
        Run::Straight { part, at, blocks }
    }

    /// Bytes of the message that a run has which is to be gathered.
    #[inline]
    pub(super) fn bytes_of<W: Word>(&self, run: Run) -> usize {
        match run {
            // No more than is gathered.
            Run::Last => self.bytes_left as usize,
            Run::Straight { .. } | Run::Gathered => W::BLOCK_BYTES,
        }
    }

    /// The next piece to be gathered, of at most `most_bytes`: its part, and the range
    /// within that part.
    #[inline]
    pub(super) fn next_piece(
        &mut self,
        message: &impl Message,
        most_bytes: usize,
    ) -> Option<(usize, Range<usize>)> {
        while self.part < PARTS {
            let left = message.part(self.part).len() - self.at;
            if left > 0 {
                let bytes = left.min(most_bytes).min(SHORT_BYTES);
                let piece = self.at..self.at + bytes;
                self.at += bytes;
                self.bytes_left -= bytes as u64;
                return Some((self.part, piece));
            }
            self.part += 1;
            self.at = 0;
        }
        None
    }

    /// Gathers a run that is not straight; returns its blocks.
    #[inline]
    fn gather<W: Word>(
        &mut self,
        run: Run,
        message: &impl Message,
        of: &Compression<W>,
        gathered: &mut W::Gathered,
    ) -> usize {
        let gathered = gathered.as_mut();
        let used = self.bytes_of::<W>(run);
        let blocks = match run {
            Run::Last => of.pad(gathered, used, self.total_bytes),
            Run::Straight { .. } | Run::Gathered => 1,
        };
        let mut to = &mut gathered[..used];
        while !to.is_empty()
            && let Some((part, piece)) = self.next_piece(message, to.len())
        {
            let (now, later) = to.split_at_mut(piece.len());
            copy_short(now, &message.part(part)[piece]);
            to = later;
        }
        blocks
    }
}

/// A lane: its message, and how far that has come.
pub(super) struct Lane<M> {
    message: Option<M>,
    cut: Cut,
    /// Blocks of the current run that are still ahead, and where they begin.
    blocks_left: usize,
    source: Source,
    /// The end of the message, padding and all, is in the current run.
    is_last: bool,
}

/// Where the rest of the current run begins.
#[derive(Clone, Copy)]
enum Source {
    Gathered { at: usize },
    Part { index: usize, at: usize },
}

impl<M: Message> Lane<M> {
    /// A lane without a message.
    pub(super) fn idle() -> Lane<M> {
        Lane {
            message: None,
            cut: Cut::new(0, 0),
            blocks_left: 0,
            source: Source::Gathered { at: 0 },
            is_last: true,
        }
    }

    /// Takes a message in the place of the last one.
    pub(super) fn begin<W: Word>(
        &mut self,
        message: M,
        bytes_before: u64,
        of: &Compression<W>,
        gathered: &mut W::Gathered,
    ) {
        let bytes = total_bytes(message.parts().map(<[u8]>::len));
        self.cut = Cut::new(bytes, bytes_before);
        self.next_run(&message, of, gathered);
        self.message = Some(message);
    }

    /// Blocks that [`Lane::stream`] has.
    #[inline]
    pub(super) fn blocks_left(&self) -> usize {
        self.blocks_left
    }

    /// The rest of the current run.
    #[inline]
    pub(super) fn stream<'a, W: Word>(&'a self, gathered: &'a W::Gathered) -> &'a [u8] {
        match (self.source, &self.message) {
            (Source::Part { index, at }, Some(message)) => &message.part(index)[at..],
            (Source::Gathered { at }, _) => &gathered.as_ref()[at..],
            (Source::Part { .. }, None) => &[],
        }
    }

    /// Moves on by `blocks`, at most those that are left, and returns the
    /// message where that is its end.
    #[inline]
    pub(super) fn advance<W: Word>(
        &mut self,
        blocks: usize,
        of: &Compression<W>,
        gathered: &mut W::Gathered,
    ) -> Option<M> {
        self.blocks_left -= blocks;
        if self.blocks_left > 0 {
            let (Source::Gathered { at } | Source::Part { at, .. }) = &mut self.source;
            *at += blocks * W::BLOCK_BYTES;
            return None;
        }
        let message = self.message.take()?;
        if self.is_last {
            return Some(message);
        }
        self.next_run(&message, of, gathered);
        self.message = Some(message);
        None
    }

    /// Finds the next blocks that lie together, or gathers some.
    #[inline]
    fn next_run<W: Word>(&mut self, message: &M, of: &Compression<W>, gathered: &mut W::Gathered) {
        let run = self.cut.next::<W>(message);
        self.is_last = run == Run::Last;
        (self.source, self.blocks_left) = match run {
            Run::Straight { part, at, blocks } => (Source::Part { index: part, at }, blocks),
            Run::Gathered | Run::Last => {
                let blocks = self.cut.gather(run, message, of, gathered);
                (Source::Gathered { at: 0 }, blocks)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same slice of 2 GiB given three times is 6 GiB long, also where lengths are of
    /// 32 bits.
    #[test]
    fn lengths_of_parts_add_up_without_wrapping() {
        assert_eq!(total_bytes([1 << 31; 3]), 3 << 31);
        assert_eq!(total_bytes([1, 0, 2]), 3);
        let most = [usize::MAX; 3];
        assert_eq!(total_bytes(most), (usize::MAX as u64).saturating_mul(3));
    }
}
