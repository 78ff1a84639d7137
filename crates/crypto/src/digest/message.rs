//! A message on its way through a lane: the next run of whole blocks, without
//! copying what already lies in blocks.

use super::compression::{Compression, Word};

/// Something to be hashed: parts that follow each other, wherever they lie.
pub(crate) trait Message {
    /// Part `index`, below [`PARTS`]; the same bytes at every call.
    fn part(&self, index: usize) -> &[u8];
}

/// Prefix, IV, text and suffix of a packet; shorter messages leave the rest
/// empty.
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

/// The blocks that a lane gathers. Three of the longest kind: one that ties
/// parts together, and an end that padding can make two.
pub(super) type Gathered = [u8; 3 * 128];

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
        gathered: &mut Gathered,
    ) {
        self.bytes_left = (0..PARTS).map(|index| message.part(index).len()).sum();
        self.total_bytes = bytes_before + self.bytes_left as u64;
        self.part = 0;
        self.at = 0;
        self.next_run(&message, of, gathered);
        self.message = Some(message);
    }

    /// Blocks that [`Lane::stream`] has.
    pub(super) fn blocks_left(&self) -> usize {
        self.blocks_left
    }

    /// The rest of the current run.
    pub(super) fn stream<'a>(&'a self, gathered: &'a Gathered) -> &'a [u8] {
        match (self.source, &self.message) {
            (Source::Part { index, at }, Some(message)) => &message.part(index)[at..],
            (Source::Gathered { at }, _) => &gathered[at..],
            (Source::Part { .. }, None) => &[],
        }
    }

    /// Moves on by `blocks`, at most those that are left, and returns the
    /// message where that is its end.
    pub(super) fn advance<W: Word>(
        &mut self,
        blocks: usize,
        of: &Compression<W>,
        gathered: &mut Gathered,
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
    fn next_run<W: Word>(&mut self, message: &M, of: &Compression<W>, gathered: &mut Gathered) {
        self.is_last = false;
        let mut filled = 0;
        while filled + 2 * W::BLOCK_BYTES <= gathered.len() {
            while self.part < PARTS && self.at == message.part(self.part).len() {
                self.part += 1;
                self.at = 0;
            }
            if self.part < PARTS {
                let blocks = (message.part(self.part).len() - self.at) / W::BLOCK_BYTES;
                if blocks > 0 && filled > 0 {
                    break;
                }
                if blocks > 0 {
                    self.source = Source::Part {
                        index: self.part,
                        at: self.at,
                    };
                    self.blocks_left = blocks;
                    self.at += blocks * W::BLOCK_BYTES;
                    self.bytes_left -= blocks * W::BLOCK_BYTES;
                    return;
                }
            }
            if self.bytes_left < W::BLOCK_BYTES {
                let used = self.bytes_left;
                gathered[filled..filled + 2 * W::BLOCK_BYTES].fill(0);
                self.gather(message, &mut gathered[filled..filled + used]);
                let end = &mut gathered[filled..];
                filled += W::BLOCK_BYTES * of.pad(end, used, self.total_bytes);
                self.is_last = true;
                break;
            }
            self.gather(message, &mut gathered[filled..filled + W::BLOCK_BYTES]);
            filled += W::BLOCK_BYTES;
        }
        self.source = Source::Gathered { at: 0 };
        self.blocks_left = filled / W::BLOCK_BYTES;
    }

    /// Fills `to` with the next bytes, of which there are as many.
    fn gather(&mut self, message: &M, mut to: &mut [u8]) {
        self.bytes_left -= to.len();
        while self.part < PARTS && !to.is_empty() {
            let part = &message.part(self.part)[self.at..];
            let taken = part.len().min(to.len());
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

/// Copies at most a block without calling for it: two pieces of a fixed length,
/// which may overlap.
#[inline(always)]
fn copy_short(to: &mut [u8], from: &[u8]) {
    /// The first and the last `N` bytes.
    #[inline(always)]
    fn ends<const N: usize>(to: &mut [u8], from: &[u8]) -> bool {
        let (Some(head), Some(tail)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
            return false;
        };
        // Read before anything is written, so that both stay in registers.
        let (head, tail) = (*head, *tail);
        if let Some(to) = to.first_chunk_mut() {
            *to = head;
        }
        if let Some(to) = to.last_chunk_mut() {
            *to = tail;
        }
        true
    }
    let copied = ends::<64>(to, from)
        || ends::<32>(to, from)
        || ends::<16>(to, from)
        || ends::<8>(to, from)
        || ends::<4>(to, from)
        || ends::<2>(to, from);
    if !copied {
        ends::<1>(to, from);
    }
}
