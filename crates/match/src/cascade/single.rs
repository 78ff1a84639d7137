//! Patterns of one byte: a set of bytes that shrinks as they are seen.

use weir_simd::Tier;

use super::simd;
use super::units::Unit;

/// Patterns of one byte.
#[derive(Clone, Debug, Default)]
pub(super) struct SingleBytes {
    set: ByteSet,
    /// Their slots, for each byte.
    slots: Vec<Vec<u32>>,
}

/// A bit for each byte.
pub(super) type ByteSet = [u64; 4];

impl SingleBytes {
    pub(super) fn add(&mut self, unit: &Unit) {
        let byte = unit.pattern.bytes()[0];
        self.slots.resize(256, Vec::new());
        self.insert(byte, unit.slot);
        if unit.pattern.is_nocase() {
            self.insert(byte.to_ascii_uppercase(), unit.slot);
        }
    }

    /// How many there are, once for each case in which they occur.
    pub(super) fn count(&self) -> usize {
        self.slots.iter().map(Vec::len).sum()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    fn insert(&mut self, byte: u8, slot: u32) {
        self.set[usize::from(byte / 64)] |= 1 << (byte % 64);
        self.slots[usize::from(byte)].push(slot);
    }

    /// Reports the slots of what occurs: some of them twice, once for each
    /// case.
    pub(super) fn search(&self, tier: Tier, text: &[u8], mut report: impl FnMut(u32)) {
        let (mut set, mut at) = (self.set, 0);
        while set != [0; 4]
            && let Some(found) = find_in_set(tier, &text[at..], &set)
        {
            let byte = text[at + found];
            set[usize::from(byte / 64)] &= !(1 << (byte % 64));
            at += found + 1;
            self.slots[usize::from(byte)]
                .iter()
                .for_each(|slot| report(*slot));
        }
    }

    /// Calls `found` with slot and place of every occurrence.
    pub(super) fn search_all(&self, tier: Tier, text: &[u8], mut found: impl FnMut(u32, usize)) {
        let mut at = 0;
        while let Some(place) = find_in_set(tier, &text[at..], &self.set) {
            let byte = text[at + place];
            self.slots[usize::from(byte)]
                .iter()
                .for_each(|slot| found(*slot, at + place));
            at += place + 1;
        }
    }
}

/// Place of the first byte that is one of a set.
fn find_in_set(tier: Tier, text: &[u8], set: &ByteSet) -> Option<usize> {
    simd::find_in_set(tier, text, set).unwrap_or_else(|| find_in_set_scalar(text, set))
}

/// The definition.
pub(super) fn find_in_set_scalar(text: &[u8], set: &ByteSet) -> Option<usize> {
    text.iter()
        .position(|byte| set[usize::from(byte / 64)] >> (byte % 64) & 1 != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_simd::for_each_tier;

    use super::*;

    proptest! {
        /// Every kernel finds the byte that the definition finds.
        #[test]
        fn kernels_equal_the_scalar_reference(
            text in proptest::collection::vec(any::<u8>(), 0..200),
            bytes in proptest::collection::vec(any::<u8>(), 0..4),
        ) {
            let mut set = ByteSet::default();
            for byte in bytes {
                set[usize::from(byte / 64)] |= 1 << (byte % 64);
            }
            for_each_tier(|tier| {
                for at in 0..=text.len() {
                    let (text, expected) = (&text[at..], find_in_set_scalar(&text[at..], &set));
                    assert_eq!(find_in_set(tier, text, &set), expected, "{tier}");
                }
            });
        }
    }
}
