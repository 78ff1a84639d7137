//! Segments that came before their turn.

/// Most bytes of such segments that one direction of a flow keeps.
pub(super) const MAX_AHEAD_BYTES: usize = 256 << 10;
/// Most segments, so that a flood of tiny ones costs no more than their bytes.
const MAX_SEGMENTS: usize = 512;

/// Bytes from a place of the stream on.
#[derive(Debug)]
struct Piece {
    offset: u64,
    bytes: Box<[u8]>,
}

impl Piece {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// Segments ahead of their turn, ascending, free of overlaps: what came first
/// stays.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    pieces: Vec<Piece>,
    bytes: usize,
}

impl Ahead {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Place of the first byte that is here.
    pub(super) fn first(&self) -> Option<u64> {
        self.pieces.first().map(|piece| piece.offset)
    }

    /// Keeps what is new of a segment. Says whether bytes of it differ from
    /// those that are here.
    pub(super) fn insert(&mut self, mut offset: u64, mut bytes: &[u8]) -> bool {
        let mut differs = false;
        let mut at = self.pieces.partition_point(|piece| piece.end() <= offset);
        while !bytes.is_empty() {
            let known = self.pieces.get(at);
            let known_start = known.map_or(u64::MAX, |piece| piece.offset);
            let free = known_start.saturating_sub(offset).min(bytes.len() as u64) as usize;
            if free > 0 {
                let (new, rest) = bytes.split_at(free);
                self.bytes += new.len();
                self.pieces.insert(
                    at,
                    Piece {
                        offset,
                        bytes: new.into(),
                    },
                );
                (offset, bytes) = (offset + free as u64, rest);
                at += 1;
                continue;
            }
            let Some(known) = known else { break };
            let from = (offset - known.offset) as usize;
            let same = (known.bytes.len() - from).min(bytes.len());
            differs |= known.bytes[from..from + same] != bytes[..same];
            (offset, bytes) = (offset + same as u64, &bytes[same..]);
            at += 1;
        }
        differs
    }

    /// Whether no more is to be kept: the gap in front of it has to be given
    /// up.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > MAX_AHEAD_BYTES || self.pieces.len() > MAX_SEGMENTS
    }

    /// Takes out the bytes at `next` if they are here, and whatever lies
    /// before them.
    pub(super) fn take(&mut self, next: u64) -> Option<Box<[u8]>> {
        while let Some(first) = self.pieces.first() {
            if first.offset > next {
                return None;
            }
            let piece = self.pieces.remove(0);
            self.bytes -= piece.bytes.len();
            let old = (next - piece.offset) as usize;
            if old == 0 {
                return Some(piece.bytes);
            }
            if let Some(new @ [_, ..]) = piece.bytes.get(old..) {
                return Some(new.into());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever comes in whatever order: each byte is the first that came
        /// for its place.
        #[test]
        fn what_came_first_stays(
            segments in proptest::collection::vec((0u64..40, proptest::collection::vec(any::<u8>(), 1..12)), 0..12),
        ) {
            let mut ahead = Ahead::default();
            let mut expected = [None; 64];
            for (offset, bytes) in &segments {
                let mut differs = false;
                for (at, byte) in (*offset as usize..).zip(bytes) {
                    differs |= *expected[at].get_or_insert(*byte) != *byte;
                }
                prop_assert_eq!(ahead.insert(*offset, bytes), differs);
            }
            prop_assert_eq!(ahead.bytes(), expected.iter().flatten().count());
            let mut at = 0;
            while let Some(first) = ahead.first() {
                prop_assert!(expected[at..first as usize].iter().all(Option::is_none));
                let bytes = ahead.take(first).expect("bytes");
                let wanted: Vec<Option<u8>> = bytes.iter().copied().map(Some).collect();
                at = first as usize + bytes.len();
                prop_assert_eq!(&expected[first as usize..at], &wanted[..]);
            }
            prop_assert!(expected[at..].iter().all(Option::is_none));
        }
    }
}
