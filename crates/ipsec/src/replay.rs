//! The anti-replay window: a bitmap that slides by whole words (RFC 6479).

use std::ops::RangeInclusive;

use weir_simd::prefetch;

/// Remembers which of the last sequence numbers were received.
///
/// A bit of a 64-bit word stands for each number. There is one word more than
/// the window needs, so that moving right clears whole words and never shifts
/// any (RFC 6479, section 2). Numbers are full ones: with extended sequence
/// numbers, [`extended`](crate::sequence::extended) finds the upper half first.
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    size: u64,
    highest: u64,
    words: Words,
}

/// A power of two of words; number `n` lives in word `n / 64` modulo that.
#[derive(Clone, Debug)]
enum Words {
    /// Those of the smallest windows, where a packet finds them with the rest.
    Two([u64; 2]),
    /// At least four.
    Many(Box<[u64]>),
}

impl ReplayWindow {
    /// Sizes that a window may have. RFC 4303, section 3.4.3, requires 32 at
    /// least and recommends 64.
    pub const SIZES: RangeInclusive<u32> = 64..=4096;

    /// An empty window of `size` numbers; sizes outside
    /// [`SIZES`](ReplayWindow::SIZES) are brought to the nearest one inside.
    pub fn new(size: u32) -> ReplayWindow {
        let size = size.clamp(*Self::SIZES.start(), *Self::SIZES.end());
        ReplayWindow {
            size: u64::from(size),
            highest: 0,
            words: match (size.div_ceil(64) + 1).next_power_of_two() {
                2 => Words::Two([0; 2]),
                words => Words::Many(vec![0; words as usize].into_boxed_slice()),
            },
        }
    }

    /// The window of a receiver that has seen every number up to `highest`, or
    /// may have.
    pub fn resume(size: u32, highest: u64) -> ReplayWindow {
        let mut window = ReplayWindow::new(size);
        window.highest = highest;
        match &mut window.words {
            Words::Two(words) => words.fill(u64::MAX),
            Words::Many(words) => words.fill(u64::MAX),
        }
        // Numbers ahead share a word with the highest one, and are new.
        let ahead = !(bit(highest) | (bit(highest) - 1));
        *window.words.of_block_mut(highest / 64) &= !ahead;
        window
    }

    /// How many numbers the window spans.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The highest number received; 0 before the first.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether a packet with this number would be new: to be checked before the
    /// packet is verified. Zero is never sent and never new.
    #[inline]
    pub fn is_new(&self, sequence: u64) -> bool {
        if sequence > self.highest {
            return true;
        }
        let age = self.highest - sequence;
        sequence != 0 && age < self.size && self.words.of_block(sequence / 64) & bit(sequence) == 0
    }

    /// Records the number of a packet that was verified; false where it is
    /// not new, so that of two copies verified in one batch the second loses.
    #[inline]
    pub fn accept(&mut self, sequence: u64) -> bool {
        if !self.is_new(sequence) {
            return false;
        }
        if sequence > self.highest {
            self.slide_to(sequence);
        }
        *self.words.of_block_mut(sequence / 64) |= bit(sequence);
        true
    }

    /// Prefetches the bitmap, where it is allocated separately.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Words::Many(words) = &self.words {
            prefetch(&**words);
        }
    }

    fn slide_to(&mut self, sequence: u64) {
        let from = self.highest / 64;
        let entered = (sequence / 64 - from).min(self.words.count());
        for step in 1..=entered {
            *self.words.of_block_mut(from.wrapping_add(step)) = 0;
        }
        self.highest = sequence;
    }
}

impl Words {
    #[inline]
    fn count(&self) -> u64 {
        match self {
            Words::Two(_) => 2,
            Words::Many(words) => words.len() as u64,
        }
    }

    /// The word of the numbers from 64 times `block` on.
    #[inline]
    fn of_block(&self, block: u64) -> u64 {
        match self {
            Words::Two(words) => words[(block & 1) as usize],
            Words::Many(words) => words[(block & (words.len() as u64 - 1)) as usize],
        }
    }

    #[inline]
    fn of_block_mut(&mut self, block: u64) -> &mut u64 {
        match self {
            Words::Two(words) => &mut words[(block & 1) as usize],
            Words::Many(words) => &mut words[(block & (words.len() as u64 - 1)) as usize],
        }
    }
}

#[inline]
fn bit(sequence: u64) -> u64 {
    1 << (sequence % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// The definition: every number is kept for ever.
    #[derive(Default)]
    struct NaiveWindow {
        seen: HashSet<u64>,
        highest: u64,
    }

    impl NaiveWindow {
        fn accept(&mut self, size: u64, sequence: u64) -> bool {
            let too_old = sequence.saturating_add(size) <= self.highest;
            if sequence == 0 || too_old || !self.seen.insert(sequence) {
                return false;
            }
            self.highest = self.highest.max(sequence);
            true
        }
    }

    /// Steps as a network makes them: mostly near the front, some far ahead.
    fn step() -> impl Strategy<Value = i64> {
        prop_oneof![
            6 => -8i64..12,
            3 => -5000i64..300,
            1 => 0i64..20_000,
            1 => -70i64..=70,
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_set(
            size in 64u32..=4096,
            start in prop_oneof![Just(0u64), (u64::from(u32::MAX) - 100)..(1 << 33)],
            steps in prop::collection::vec(step(), 1..600),
        ) {
            let mut window = ReplayWindow::new(size);
            let mut naive = NaiveWindow::default();
            let mut front = start;
            for step in steps {
                let sequence = front.saturating_add_signed(step);
                prop_assert_eq!(
                    window.accept(sequence),
                    naive.accept(u64::from(size), sequence),
                    "sequence {} at {}", sequence, naive.highest
                );
                prop_assert_eq!(window.highest(), naive.highest);
                front = front.max(sequence);
            }
        }
    }

    #[test]
    fn a_resumed_window_takes_only_what_is_ahead() {
        for highest in [0, 1, 62, 63, 64, 65, 1000, (1 << 32) - 1, u64::MAX - 200] {
            for size in [64, 127, 4096] {
                let mut window = ReplayWindow::resume(size, highest);
                assert_eq!(window.highest(), highest);
                for sequence in highest.saturating_sub(5000)..=highest {
                    assert!(!window.is_new(sequence), "{sequence} up to {highest}");
                }
                for sequence in (highest + 1..highest + 200).rev() {
                    let is_inside = highest + 199 - sequence < u64::from(size).max(64);
                    assert_eq!(
                        window.accept(sequence),
                        is_inside,
                        "{sequence} of {highest}"
                    );
                    assert!(!window.accept(sequence), "{sequence} twice");
                }
            }
        }
    }

    #[test]
    fn window_edges() {
        for size in [64, 65, 127, 1024, 4096] {
            let mut window = ReplayWindow::new(size);
            assert!(!window.is_new(0));
            assert!(window.accept(10_000));
            let oldest = 10_000 - u64::from(size) + 1;
            assert!(!window.is_new(oldest - 1), "left of the window");
            assert!(window.accept(oldest), "the window's left edge");
            assert!(!window.accept(oldest), "twice");
            assert!(!window.accept(10_000), "the right edge twice");
            assert!(window.accept(10_001));
            assert!(!window.is_new(oldest), "slid out");
        }
    }

    #[test]
    fn the_last_number_of_all_is_taken_once() {
        let mut window = ReplayWindow::new(64);
        assert!(window.accept(u64::MAX));
        assert!(!window.accept(u64::MAX));
        assert!(window.accept(u64::MAX - 63));
        assert!(!window.accept(u64::MAX - 64));
    }

    #[test]
    fn sizes_are_brought_into_range() {
        assert_eq!(ReplayWindow::new(0).size(), 64);
        assert_eq!(ReplayWindow::new(1 << 20).size(), 4096);
    }
}
