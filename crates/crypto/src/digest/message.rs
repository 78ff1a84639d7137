//! A message on its way through a lane: the next run of whole blocks, without
//! copying what already lies in blocks.

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

/// Prefix, IV, text and suffix of a packet.
pub(crate) const PARTS: usize = 4;

/// A lane: its message, and how far that has come.
///
/// ```text
/// parts     prefix iv│text                                        │suffix
/// blocks    ├────────┴───┼───────────┼───────────┼───────────┼────┴──────┤
/// runs       gathered     straight from the text              gathered, padded
/// ```
pub(super) struct Lane<M> {
    message: Option<M>,
    /// Bytes of the message, and those hashed before it: a block of HMAC's pad.
    total_bytes: u64,
    /// Bytes that no run has yet included, where they begin, and in which part.
    bytes_left: usize,
    part: usize,
    at: usize,
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
            total_bytes: 0,
            bytes_left: 0,
            part: 0,
            at: 0,
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
        self.bytes_left = message.parts().iter().map(|part| part.len()).sum();
        self.total_bytes = bytes_before + self.bytes_left as u64;
        self.part = 0;
        self.at = 0;
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
        let gathered = gathered.as_mut();
        self.source = Source::Gathered { at: 0 };
        self.is_last = self.bytes_left + 1 + W::LENGTH_BYTES <= gathered.len();
        if self.is_last {
            let used = self.bytes_left;
            self.blocks_left = of.pad(gathered, used, self.total_bytes);
            self.gather(message, &mut gathered[..used]);
            return;
        }
        while self.part < PARTS && self.at == message.part(self.part).len() {
            self.part += 1;
            self.at = 0;
        }
        let straight = match self.part {
            PARTS.. => 0,
            index => (message.part(index).len() - self.at) / W::BLOCK_BYTES,
        };
        if straight > 0 {
            self.source = Source::Part {
                index: self.part,
                at: self.at,
            };
            self.blocks_left = straight;
            self.at += straight * W::BLOCK_BYTES;
            self.bytes_left -= straight * W::BLOCK_BYTES;
        } else {
            self.blocks_left = 1;
            self.gather(message, &mut gathered[..W::BLOCK_BYTES]);
        }
    }

    /// Fills `to` with the next bytes, of which there are as many.
    fn gather(&mut self, message: &M, mut to: &mut [u8]) {
        self.bytes_left -= to.len();
        while self.part < PARTS && !to.is_empty() {
            let part = &message.part(self.part)[self.at..];
            let taken = part.len().min(to.len()).min(SHORT_BYTES);
            let (now, later) = to.split_at_mut(taken);
            copy_short(now, &part[..taken]);
            to = later;
            if taken == part.len() {
                self.part += 1;
                self.at = 0;
            } else {
                self.at += taken;
            }
        }
    }
}
