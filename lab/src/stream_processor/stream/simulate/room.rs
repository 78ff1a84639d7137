//! Room in the stream register file, given out before the program runs, as the
//! stream compiler does: streams follow each other around the file, and one
//! that takes another's place waits for that one's last user.

/// A stretch of the file and who used it last.
#[derive(Clone, Copy)]
struct Stretch {
    start: u64,
    end: u64,
    /// The instruction that uses it last.
    last_use: usize,
}

/// The file.
pub(super) struct Room {
    bytes: u64,
    stretches: Vec<Stretch>,
    /// Where the last stream ended.
    next: u64,
    most_used: u64,
}

impl Room {
    pub(super) fn new(bytes: u64) -> Room {
        Room {
            bytes,
            stretches: Vec::new(),
            next: 0,
            most_used: 0,
        }
    }

    /// The most bytes in use at one point of the program.
    pub(super) fn most_used(&self) -> u64 {
        self.most_used
    }

    /// Bytes that are in use at an instruction.
    pub(super) fn used(&self, instruction: usize) -> u64 {
        let live = self
            .stretches
            .iter()
            .filter(|it| it.last_use >= instruction);
        live.map(|it| it.end - it.start).sum()
    }

    /// Gives a stream that an instruction makes its place; returns the
    /// instructions that used the place before, or none where there is no
    /// place.
    pub(super) fn give(
        &mut self,
        bytes: u64,
        instruction: usize,
        last_use: usize,
    ) -> Option<Vec<usize>> {
        let start = self
            .place(self.next, bytes, instruction)
            .or_else(|| self.place(0, bytes, instruction))?;
        let end = start + bytes;
        let mut before = Vec::new();
        let mut kept = Vec::with_capacity(self.stretches.len() + 2);
        for stretch in self.stretches.drain(..) {
            if stretch.end <= start || stretch.start >= end {
                kept.push(stretch);
                continue;
            }
            before.push(stretch.last_use);
            let rests = [(stretch.start, start), (end, stretch.end)];
            kept.extend(rests.into_iter().filter(|(start, end)| start < end).map(
                |(start, end)| Stretch {
                    start,
                    end,
                    last_use: stretch.last_use,
                },
            ));
        }
        kept.push(Stretch {
            start,
            end,
            last_use,
        });
        self.stretches = kept;
        self.next = end;
        self.most_used = self.most_used.max(self.used(instruction));
        Some(before)
    }

    /// The first place at or after a byte where nothing is in use.
    fn place(&self, from: u64, bytes: u64, instruction: usize) -> Option<u64> {
        let mut start = from;
        loop {
            if start + bytes > self.bytes {
                return None;
            }
            let in_the_way = self.stretches.iter().find(|it| {
                it.last_use >= instruction && it.start < start + bytes && it.end > start
            });
            match in_the_way {
                Some(stretch) => start = stretch.end,
                None => return Some(start),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_go_around_and_wait_for_those_before() {
        let mut room = Room::new(100);
        assert_eq!(room.give(40, 0, 1), Some(vec![]));
        assert_eq!(room.give(40, 1, 2), Some(vec![]));
        // The first is no longer in use at instruction 2, the second is.
        assert_eq!(room.give(40, 2, 3), Some(vec![1]));
        assert_eq!(room.used(2), 80);
        assert_eq!(room.give(70, 3, 4), None);
        assert_eq!(room.give(60, 4, 5), Some(vec![2]));
        assert_eq!(room.most_used(), 80);
    }
}
