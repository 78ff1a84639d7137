//! A message on its way through a lane: the next run of whole blocks, without
//! copying what already lies in blocks.

use super::compression::{Compression, Word};

/// Something to be hashed: parts that follow each other, wherever they lie.
pub(crate) trait Message {
    /// Every call gives the same parts.
    fn parts(&self) -> [&[u8]; PARTS];
}

/// Prefix, IV, text and suffix of a packet; shorter messages leave the rest
/// empty.
pub(crate) const PARTS: usize = 4;

/// A message and how far its lane has come.
///
/// ```text
/// parts     prefix iv│text                                        │suffix
/// blocks    ├────────┴───┼───────────┼───────────┼───────────┼────┴──────┤
/// runs       gathered     straight from the text              gathered, padded
/// ```
pub(super) struct Lane<M> {
    message: M,
    /// Bytes hashed before the message: a block of HMAC's pad.
    bytes_before: u64,
    /// The part that comes next, and how much of it has been taken.
    part: usize,
    at: usize,
    source: Source,
    /// Blocks of the run that the lane has not yet advanced over.
    blocks_left: usize,
    /// The end of the message and its padding are in the current run.
    is_last: bool,
    gathered: [u8; GATHERED_BYTES],
}

/// Where the rest of the current run begins.
#[derive(Clone, Copy)]
enum Source {
    Gathered { at: usize },
    Part { index: usize, at: usize },
}

/// Three blocks of the longest kind: one that ties parts together, and an end
/// that padding can make two.
const GATHERED_BYTES: usize = 3 * 128;

impl<M: Message> Lane<M> {
    pub(super) fn new<W: Word>(message: M, bytes_before: u64, of: &Compression<W>) -> Lane<M> {
        let mut lane = Lane {
            message,
            bytes_before,
            part: 0,
            at: 0,
            source: Source::Gathered { at: 0 },
            blocks_left: 0,
            is_last: false,
            gathered: [0; GATHERED_BYTES],
        };
        lane.next_run(of);
        lane
    }

    /// Blocks that [`Lane::stream`] has.
    pub(super) fn blocks_left(&self) -> usize {
        self.blocks_left
    }

    /// The rest of the current run, which is never empty.
    pub(super) fn stream(&self) -> &[u8] {
        match self.source {
            Source::Gathered { at } => &self.gathered[at..],
            Source::Part { index, at } => &self.message.parts()[index][at..],
        }
    }

    /// Moves on by `blocks`, at most those that are left, and tells whether
    /// there is more.
    pub(super) fn advance<W: Word>(&mut self, blocks: usize, of: &Compression<W>) -> bool {
        self.blocks_left -= blocks;
        if self.blocks_left > 0 {
            let (Source::Gathered { at } | Source::Part { at, .. }) = &mut self.source;
            *at += blocks * of.block_bytes;
            return true;
        }
        !self.is_last && {
            self.next_run(of);
            true
        }
    }

    pub(super) fn into_message(self) -> M {
        self.message
    }

    fn next_run<W: Word>(&mut self, of: &Compression<W>) {
        let parts = self.message.parts();
        let block_bytes = of.block_bytes;
        let mut filled = 0;
        loop {
            // Parts that are used up, or empty.
            while self.part < PARTS && self.at == parts[self.part].len() {
                self.part += 1;
                self.at = 0;
            }
            let straight = match parts.get(self.part) {
                Some(part) => (part.len() - self.at) / block_bytes,
                None => 0,
            };
            if straight > 0 {
                if filled == 0 {
                    self.source = Source::Part {
                        index: self.part,
                        at: self.at,
                    };
                    self.at += straight * block_bytes;
                    self.blocks_left = straight;
                    return;
                }
                break;
            }
            let mut wanted = block_bytes;
            while wanted > 0 && self.part < PARTS {
                let rest = &parts[self.part][self.at..];
                let taken = rest.len().min(wanted);
                self.gathered[filled..filled + taken].copy_from_slice(&rest[..taken]);
                filled += taken;
                wanted -= taken;
                if taken == rest.len() {
                    self.part += 1;
                    self.at = 0;
                } else {
                    self.at += taken;
                }
            }
            if wanted > 0 {
                let bytes: usize = parts.iter().map(|part| part.len()).sum();
                let used = block_bytes - wanted;
                let start = filled - used;
                let total_bytes = self.bytes_before + bytes as u64;
                let end_blocks = of.pad(&mut self.gathered[start..], used, total_bytes);
                filled = start + end_blocks * block_bytes;
                self.is_last = true;
                break;
            }
            if filled + 2 * block_bytes > GATHERED_BYTES {
                break;
            }
        }
        self.source = Source::Gathered { at: 0 };
        self.blocks_left = filled / block_bytes;
    }
}
