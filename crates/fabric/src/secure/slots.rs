//! Numbers that were used, each in the slot of its low bits.

use zeroize::Zeroizing;

use super::format::TAG_BYTES;

/// Which of the latest numbers were used, and the whole tag of each.
///
/// A slot keeps the highest of the numbers that share its low bits. So nothing that is not remembered
/// is taken for unused: where a slot has a higher number, a lower one may have been used. Numbers
/// with large steps between them, as those of RDMA READ requests, do not push each other out.
pub(super) struct Slots {
    /// Numbers plus one; 0 in slots that were never used. Empty until the first one is.
    numbers: Vec<u64>,
    tags: Zeroizing<Vec<[u8; TAG_BYTES]>>,
    /// Where packets have timestamps, those of the first time.
    stamps: Vec<u64>,
    /// A power of two.
    slots: usize,
    keeps_tags: bool,
    keeps_stamps: bool,
}

/// What is known about a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It was not used.
    Unused,
    /// It was used by the packet with this tag, or by one whose tag is not kept.
    Used(Option<[u8; TAG_BYTES]>),
    /// It may have been used: a later number has its slot.
    Forgotten,
}

impl Slots {
    /// For `packets` of the latest numbers, rounded up to a power of two.
    pub(super) fn new(packets: usize, keeps_tags: bool) -> Slots {
        Slots {
            numbers: Vec::new(),
            tags: Zeroizing::default(),
            stamps: Vec::new(),
            slots: packets.next_power_of_two(),
            keeps_tags,
            keeps_stamps: false,
        }
    }

    /// The same, with a timestamp for each.
    pub(super) fn with_stamps(self) -> Slots {
        Slots {
            keeps_stamps: true,
            ..self
        }
    }

    fn slot(&self, number: u64) -> usize {
        number as usize & (self.slots - 1)
    }

    pub(super) fn look(&self, number: u64) -> Use {
        let slot = self.slot(number);
        match self.numbers.get(slot) {
            Some(&used) if used == number.wrapping_add(1) => {
                Use::Used(self.tags.get(slot).copied())
            }
            Some(&used) if used > number => Use::Forgotten,
            _ => Use::Unused,
        }
    }

    /// The timestamp of a number that was used.
    pub(super) fn stamp(&self, number: u64) -> Option<u64> {
        self.stamps.get(self.slot(number)).copied()
    }

    /// Keeps the timestamp of a number that was set.
    pub(super) fn set_stamp(&mut self, number: u64, stamp: u64) {
        let slot = self.slot(number);
        if let Some(kept) = self.stamps.get_mut(slot) {
            *kept = stamp;
        }
    }

    /// Keeps a number, unless its slot has a later one.
    pub(super) fn set(&mut self, number: u64, tag: &[u8; TAG_BYTES]) {
        if self.numbers.is_empty() {
            self.numbers.resize(self.slots, 0);
            if self.keeps_tags {
                self.tags.resize(self.slots, [0; TAG_BYTES]);
            }
            if self.keeps_stamps {
                self.stamps.resize(self.slots, 0);
            }
        }
        let slot = self.slot(number);
        if self.numbers[slot] > number.saturating_add(1) {
            return;
        }
        self.numbers[slot] = number.saturating_add(1);
        if let Some(kept) = self.tags.get_mut(slot) {
            *kept = *tag;
        }
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        8 * self.numbers.capacity() + TAG_BYTES * self.tags.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever comes, a number that was used is never said to be unused.
        #[test]
        fn used_numbers_stay_used(numbers in proptest::collection::vec(0u64..100, 1..200)) {
            let mut slots = Slots::new(8, true);
            let mut used = std::collections::HashMap::new();
            for number in numbers {
                match slots.look(number) {
                    Use::Unused => prop_assert!(!used.contains_key(&number)),
                    Use::Used(tag) => prop_assert_eq!(tag, used.get(&number).copied()),
                    Use::Forgotten => continue,
                }
                let tag = [number as u8; TAG_BYTES];
                slots.set(number, &tag);
                used.insert(number, tag);
            }
            prop_assert!(slots.bytes() <= 8 * (8 + TAG_BYTES));
        }
    }

    #[test]
    fn the_latest_numbers_are_remembered() {
        let mut slots = Slots::new(4, true);
        assert_eq!(slots.bytes(), 0);
        for number in 0..10 {
            slots.set(number, &[number as u8; TAG_BYTES]);
        }
        for number in 6..10 {
            assert_eq!(
                slots.look(number),
                Use::Used(Some([number as u8; TAG_BYTES]))
            );
        }
        assert_eq!(slots.look(5), Use::Forgotten);
        assert_eq!(slots.look(10), Use::Unused);
        slots.set(5, &[0; TAG_BYTES]);
        assert_eq!(slots.look(9), Use::Used(Some([9; TAG_BYTES])));
        let mut without = Slots::new(4, false);
        without.set(3, &[0; TAG_BYTES]);
        assert_eq!(without.look(3), Use::Used(None));
    }
}
