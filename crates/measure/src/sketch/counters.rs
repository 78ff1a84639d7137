//! Counters of 64 bits that mostly cost 32.

use std::fmt;

/// Signed counters, each a hot low half and a cold high half: an addition
/// touches the high half only where the low one wraps, so that the memory which
/// updates go through is half of the table. Exact from -2⁶³ to 2⁶³ - 1.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Counters {
    low: Vec<u32>,
    high: Vec<i32>,
    /// Whether any high half was ever touched.
    is_wide: bool,
}

impl Counters {
    /// `count` zeros.
    pub fn new(count: usize) -> Counters {
        Counters {
            low: vec![0; count],
            high: vec![0; count],
            is_wide: false,
        }
    }

    /// Whether a counter may be outside 0 to 2³² - 1.
    pub fn is_wide(&self) -> bool {
        self.is_wide
    }

    /// A counter's value.
    #[inline]
    pub fn get(&self, index: usize) -> i64 {
        i64::from(self.high[index]) << 32 | i64::from(self.low[index])
    }

    /// All values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> {
        let halves = self.low.iter().zip(&self.high);
        halves.map(|(low, high)| i64::from(*high) << 32 | i64::from(*low))
    }

    /// Sets a counter.
    pub fn set(&mut self, index: usize, value: i64) {
        self.low[index] = value as u32;
        self.high[index] = (value >> 32) as i32;
        self.is_wide |= value >> 32 != 0;
    }

    /// Adds values from 0 to 2³² - 1 to counters of one row of `width`, which
    /// the caller knows not to overflow.
    #[inline]
    pub fn add_row<V: Copy + Into<i64>>(
        &mut self,
        row: usize,
        width: usize,
        buckets: &[u32],
        values: &[V],
    ) {
        let first = row * width;
        let low = &mut self.low[first..first + width];
        for (bucket, value) in buckets.iter().zip(values) {
            let low = &mut low[*bucket as usize];
            let (sum, has_carried) = low.overflowing_add((*value).into() as u32);
            *low = sum;
            if has_carried {
                let index = first + *bucket as usize;
                carry_over(&mut self.high, &mut self.is_wide, index, 1);
            }
        }
    }

    /// Adds to one counter, which the caller knows not to overflow.
    #[inline]
    pub fn add(&mut self, index: usize, value: i64) {
        let low = &mut self.low[index];
        let sum = i64::from(*low) + value;
        *low = sum as u32;
        let carry = sum >> 32;
        if carry != 0 {
            carry_over(&mut self.high, &mut self.is_wide, index, carry);
        }
    }

    /// Adds to one counter; true where it had to saturate.
    pub fn add_saturating(&mut self, index: usize, value: i64) -> bool {
        let before = self.get(index);
        self.set(index, before.saturating_add(value));
        before.checked_add(value).is_none()
    }

    /// The low halves of one row, the whole values where none is wide.
    pub fn low_row(&self, row: usize, width: usize) -> &[u32] {
        &self.low[row * width..(row + 1) * width]
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        self.low.fill(0);
        if self.is_wide {
            self.high.fill(0);
            self.is_wide = false;
        }
    }
}

#[cold]
fn carry_over(high: &mut [i32], is_wide: &mut bool, index: usize, carry: i64) {
    high[index] = high[index].wrapping_add(carry as i32);
    *is_wide = true;
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Two halves are one 64-bit number, whatever the signs and carries.
        #[test]
        fn halves_are_one_number(
            updates in prop::collection::vec((0u32..3, prop_oneof![-(1i64 << 34)..1 << 34, 0i64..1 << 32]), 0..60)
        ) {
            let mut counters = Counters::new(6);
            let mut expected = [0i64; 6];
            for (bucket, value) in &updates {
                match u32::try_from(*value) {
                    Ok(narrow) => counters.add_row(1, 3, &[*bucket], &[narrow]),
                    Err(_) => counters.add(3 + *bucket as usize, *value),
                }
                expected[3 + *bucket as usize] += value;
            }
            prop_assert_eq!(counters.iter().collect::<Vec<_>>(), expected);
            prop_assert_eq!(counters.get(4), expected[4]);
            if !counters.is_wide() {
                prop_assert!(expected.iter().all(|value| value >> 32 == 0));
            }
            counters.clear();
            prop_assert!(counters == Counters::new(6));
        }
    }

    #[test]
    fn counters_saturate_and_say_so() {
        let mut counters = Counters::new(1);
        assert!(!counters.add_saturating(0, i64::MAX));
        assert!(counters.add_saturating(0, 1));
        assert_eq!(counters.get(0), i64::MAX);
        assert!(!counters.add_saturating(0, i64::MIN));
        assert!(counters.add_saturating(0, i64::MIN));
        assert_eq!(counters.get(0), i64::MIN);
    }
}
