//! A message in parts, block by block.

use arrayvec::ArrayVec;

/// Messages that are hashed side by side.
pub(crate) const LANES: usize = 8;

/// Bytes of the blocks that UMAC and MMH-MAC hash by themselves.
pub(crate) const BLOCK_BYTES: usize = 1024;

/// Where a block is put together that lies in several places.
pub(crate) type Room = ArrayVec<u8, BLOCK_BYTES>;

/// A message to authenticate under a key of a universal-hash MAC.
pub(crate) struct Message<'a, K> {
    pub(crate) key: &'a K,
    pub(crate) nonce: u64,
    pub(crate) reader: Reader<'a>,
    /// Length of all parts together.
    pub(crate) bytes: usize,
}

impl<'a, K> Message<'a, K> {
    #[inline]
    pub(crate) fn new(key: &'a K, nonce: u64, parts: [&'a [u8]; 4]) -> Message<'a, K> {
        Message {
            key,
            nonce,
            reader: Reader { parts, current: 0 },
            bytes: parts.iter().map(|part| part.len()).sum(),
        }
    }
}

/// Reads parts that follow each other as one message.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    parts: [&'a [u8]; 4],
    current: usize,
}

impl<'a> Reader<'a> {
    /// The next `bytes` of the message, or as many as are left: where they lie,
    /// if that is one place, else copied into `room`.
    #[inline]
    pub(crate) fn next<'r>(&mut self, bytes: usize, room: &'r mut Room) -> &'r [u8]
    where
        'a: 'r,
    {
        while self.current < 3 && self.parts[self.current].is_empty() {
            self.current += 1;
        }
        let part = &mut self.parts[self.current];
        match part.split_at_checked(bytes) {
            Some((head, rest)) => {
                *part = rest;
                head
            }
            None => self.gather(bytes, room),
        }
    }

    #[cold]
    fn gather<'r>(&mut self, bytes: usize, room: &'r mut Room) -> &'r [u8] {
        room.clear();
        for part in &mut self.parts[self.current..] {
            let count = part
                .len()
                .min(bytes - room.len())
                .min(room.remaining_capacity());
            let (head, rest) = part.split_at(count);
            room.extend(head.iter().copied());
            *part = rest;
        }
        room
    }
}

/// Hands over the whole blocks of 16 bytes of a message in parts, and returns
/// what is left, with how many bytes that are.
pub(crate) fn for_whole_blocks(
    parts: [&[u8]; 4],
    mut each: impl FnMut(&[[u8; 16]]),
) -> ([u8; 16], usize) {
    let (mut rest, mut filled) = ([0; 16], 0);
    for mut part in parts {
        if filled > 0 {
            let (head, behind) = part.split_at(part.len().min(16 - filled));
            rest[filled..filled + head.len()].copy_from_slice(head);
            filled += head.len();
            part = behind;
            if filled == 16 {
                each(&[rest]);
                (rest, filled) = ([0; 16], 0);
            }
        }
        let (blocks, tail) = part.as_chunks();
        if !blocks.is_empty() {
            each(blocks);
        }
        if !tail.is_empty() {
            rest[..tail.len()].copy_from_slice(tail);
            filled = tail.len();
        }
    }
    (rest, filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_division_reads_as_the_whole() {
        let whole: Vec<u8> = (0..3000u32).map(|i| (i * i / 5) as u8).collect();
        for cuts in [
            [0, 0, 0],
            [8, 16, 2996],
            [0, 1024, 1024],
            [1, 2, 3],
            [3000; 3],
        ] {
            for step in [1, 32, 1000, 1024] {
                let [a, b, c] = cuts;
                let parts = [&whole[..a], &whole[a..b], &whole[b..c], &whole[c..]];
                let mut reader = Reader { parts, current: 0 };
                let mut read = Vec::new();
                while read.len() < whole.len() {
                    let mut room = Room::new();
                    let next = reader.next(step.min(whole.len() - read.len()), &mut room);
                    read.extend_from_slice(next);
                }
                assert_eq!(read, whole);
                assert!(reader.next(1, &mut Room::new()).is_empty());
            }
        }
    }

    #[test]
    fn whole_blocks_are_those_of_the_whole() {
        let whole: Vec<u8> = (0..100).collect();
        for a in 0..40 {
            for b in [a, a + 1, a + 15, a + 16, a + 40] {
                let parts = [&whole[..a], &whole[a..b], &[], &whole[b..b + 20]];
                let mut blocks = Vec::new();
                let (rest, filled) =
                    for_whole_blocks(parts, |more| blocks.extend_from_slice(more.as_flattened()));
                blocks.extend_from_slice(&rest[..filled]);
                assert_eq!(blocks, whole[..b + 20]);
                assert!(filled < 16 && rest[filled..].iter().all(|byte| *byte == 0));
            }
        }
    }
}
