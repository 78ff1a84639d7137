//! Numbers that were used, each in the slot of its low bits.

use weir_simd::prefetch;
use zeroize::Zeroize;

use super::format::TAG_BYTES;

/// Which of the latest numbers were used, and the whole tag of each.
///
/// A slot keeps the highest of the numbers that share its low bits. So nothing that is not remembered
/// is taken for unused: where a slot has a higher number, a lower one may have been used. Numbers
/// with large steps between them, as those of RDMA READ requests, do not push each other out.
pub(super) struct Slots {
    /// Empty until the first number is used.
    kept: Box<[Kept]>,
    /// A power of two.
    slots: u32,
    keeps_tags: bool,
}

/// A number that was used: half a cache line, so that one is fetched for it.
#[derive(Clone, Default)]
#[repr(align(32))]
struct Kept {
    /// The number plus one; 0 in a slot that was never used.
    number: u64,
    /// Where packets have timestamps, that of the first time.
    seconds: u64,
    tag: [u8; TAG_BYTES],
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
            kept: Box::default(),
            // Windows are far shorter.
            slots: packets.next_power_of_two() as u32,
            keeps_tags,
        }
    }

    #[inline]
    fn slot(&self, number: u64) -> usize {
        (number as u32 & (self.slots - 1)) as usize
    }

    /// Prefetches what is known about a number.
    #[inline]
    pub(super) fn prefetch(&self, number: u64) {
        if let Some(kept) = self.kept.get(self.slot(number)) {
            prefetch(kept);
        }
    }

    #[inline]
    pub(super) fn look(&self, number: u64) -> Use {
        match self.kept.get(self.slot(number)) {
            Some(kept) if kept.number == number.wrapping_add(1) => {
                Use::Used(self.keeps_tags.then_some(kept.tag))
            }
            Some(kept) if kept.number > number => Use::Forgotten,
            _ => Use::Unused,
        }
    }

    /// The timestamp of a number that was used.
    pub(super) fn seconds(&self, number: u64) -> Option<u64> {
        Some(self.kept.get(self.slot(number))?.seconds)
    }

    /// Keeps a number, unless its slot has a later one; the time stays that of its first packet.
    #[inline]
    pub(super) fn set(&mut self, number: u64, tag: &[u8; TAG_BYTES], seconds: u64) {
        if self.kept.is_empty() {
            self.kept = vec![Kept::default(); self.slots as usize].into();
        }
        let slot = self.slot(number);
        let (kept, number) = (&mut self.kept[slot], number.saturating_add(1));
        if kept.number > number {
            return;
        }
        if kept.number != number {
            kept.seconds = seconds;
        }
        kept.number = number;
        if self.keeps_tags {
            kept.tag = *tag;
        }
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.kept[..])
    }
}

/// Whole tags are forgeries of packets that were not sent.
impl Drop for Slots {
    fn drop(&mut self) {
        for kept in &mut self.kept {
            kept.tag.zeroize();
        }
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
                slots.set(number, &tag, 0);
                used.insert(number, tag);
            }
            prop_assert!(slots.bytes() <= 8 * 32);
        }
    }

    #[test]
    fn the_latest_numbers_are_remembered() {
        let mut slots = Slots::new(4, true);
        assert_eq!(slots.bytes(), 0);
        for number in 0..10 {
            slots.set(number, &[number as u8; TAG_BYTES], number + 7);
        }
        for number in 6..10 {
            assert_eq!(
                slots.look(number),
                Use::Used(Some([number as u8; TAG_BYTES]))
            );
        }
        assert_eq!(slots.look(5), Use::Forgotten);
        assert_eq!(slots.look(10), Use::Unused);
        slots.set(5, &[0; TAG_BYTES], 0);
        assert_eq!(slots.look(9), Use::Used(Some([9; TAG_BYTES])));
        slots.set(9, &[1; TAG_BYTES], 99);
        assert_eq!(slots.seconds(9), Some(16), "of the first time");
        let mut without = Slots::new(4, false);
        without.set(3, &[0; TAG_BYTES], 0);
        assert_eq!(without.look(3), Use::Used(None));
    }
}
