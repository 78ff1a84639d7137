//! A message in parts, block by block.

use arrayvec::ArrayVec;
/// Messages that are hashed side by side.
pub(crate) const LANES: usize = 8;

/// Bytes of the blocks that UMAC and MMH-MAC hash by themselves.
pub(crate) const BLOCK_BYTES: usize = 1024;

/// Where a block is put together that lies in several places.
pub(crate) type Room = ArrayVec<u8, BLOCK_BYTES>;

/// A message to authenticate under a key of a universal-hash MAC, read from front to
/// end.
pub(crate) struct Message<'a, K> {
    pub(crate) key: &'a K,
    pub(crate) nonce: u64,
    /// Length of all parts together.
    pub(crate) bytes: usize,
    /// What is unread of the current part.
    current: &'a [u8],
    /// The part that follows it.
    behind: &'a [u8],
}

impl<'a, K> Message<'a, K> {
    /// A message of two parts, of which the first is empty where it lies in one place.
    #[inline]
    pub(crate) fn new(key: &'a K, nonce: u64, [head, body]: [&'a [u8]; 2]) -> Message<'a, K> {
        let (current, behind) = match head {
            [] => (body, &[][..]),
            head => (head, body),
        };
        Message {
            key,
            nonce,
            bytes: head.len() + body.len(),
            current,
            behind,
        }
    }

    /// The next `bytes` of the message, or the rest if it is shorter: in place if
    /// they are contiguous, else copied into `room`.
    #[inline]
    pub(crate) fn next<'r, const ROOM: usize>(
        &mut self,
        bytes: usize,
        room: &'r mut ArrayVec<u8, ROOM>,
    ) -> &'r [u8]
    where
        'a: 'r,
    {
        match self.in_place(bytes) {
            Some(head) => head,
            None => self.gather(bytes, room),
        }
    }

    /// The next `bytes`, if they lie in one place.
    #[inline]
    pub(crate) fn in_place(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.current.split_at_checked(bytes)?;
        self.current = rest;
        Some(head)
    }

    #[cold]
    fn gather<'r, const ROOM: usize>(
        &mut self,
        bytes: usize,
        room: &'r mut ArrayVec<u8, ROOM>,
    ) -> &'r [u8]
    where
        'a: 'r,
    {
        if self.current.is_empty() {
            self.current = std::mem::take(&mut self.behind);
        }
        if let Some(head) = self.in_place(bytes) {
            return head;
        }
        room.clear();
        loop {
            let count = self
                .current
                .len()
                .min(bytes - room.len())
                .min(room.remaining_capacity());
            let (head, rest) = self.current.split_at(count);
            // It is as long as there is capacity for.
            let _ = room.try_extend_from_slice(head);
            self.current = rest;
            if !rest.is_empty() || room.len() == bytes || self.behind.is_empty() {
                return room;
            }
            self.current = std::mem::take(&mut self.behind);
        }
    }
}

/// For kernels that look ahead.
#[cfg(target_arch = "x86_64")]
impl<'a, K> Message<'a, K> {
    /// The next contiguous bytes, at most `most`; cut to a multiple of `UNIT` if there are
    /// fewer.
    #[inline]
    pub(crate) fn in_place_by<const UNIT: usize>(&mut self, most: usize) -> &'a [u8] {
        if self.current.is_empty() {
            self.current = std::mem::take(&mut self.behind);
        }
        let bytes = match self.current.len() {
            fewer if fewer < most => fewer / UNIT * UNIT,
            _ => most,
        };
        self.in_place(bytes).unwrap_or_default()
    }

    /// The next `BYTES`, if they lie in one place and are not the last; they remain
    /// unread.
    #[inline]
    pub(crate) fn ahead<const BYTES: usize>(&self) -> Option<&'a [u8; BYTES]> {
        let (head, rest) = self.current.split_first_chunk()?;
        (!rest.is_empty()).then_some(head)
    }
}

/// Hands over the whole blocks of 16 bytes of a message in parts, and returns
/// what is left, with how many bytes that are.
pub(crate) fn for_whole_blocks(
    parts: [&[u8]; 2],
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
        for cut in [0, 1, 8, 16, 1024, 2047, 2996, 3000] {
            for step in [1, 32, 1000, 1024] {
                let (head, body) = whole.split_at(cut);
                let mut message = Message::new(&(), 0, [head, body]);
                assert_eq!(message.bytes, whole.len());
                let mut read = Vec::new();
                while read.len() < whole.len() {
                    let mut room = Room::new();
                    let next = message.next(step.min(whole.len() - read.len()), &mut room);
                    read.extend_from_slice(next);
                }
                assert_eq!(read, whole);
                assert!(message.next(1, &mut Room::new()).is_empty());
            }
        }
    }

    #[test]
    fn whole_blocks_are_those_of_the_whole() {
        let whole: Vec<u8> = (0..100).collect();
        for a in 0..40 {
            for b in [a, a + 1, a + 15, a + 16, a + 40] {
                let parts = [&whole[..a], &whole[a..b]];
                let mut blocks = Vec::new();
                let (rest, filled) =
                    for_whole_blocks(parts, |more| blocks.extend_from_slice(more.as_flattened()));
                blocks.extend_from_slice(&rest[..filled]);
                assert_eq!(blocks, whole[..b]);
                assert!(filled < 16 && rest[filled..].iter().all(|byte| *byte == 0));
            }
        }
    }
}
