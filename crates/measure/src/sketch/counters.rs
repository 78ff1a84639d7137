//! Counters of 64 bits that mostly take 32.

use std::fmt;

/// Signed counters of 64 bits. The value of one is `high`·2³¹ + `low`, and an
/// addition touches the low part only, so that the memory which updates go
/// through is a third of what wide counters take, and no memory where none is
/// wide. Exact from -2⁶³ to 2⁶³ - 1.
///
/// Low parts cannot wrap, because what has been added since they were looked at
/// is known: before it is too much, [`Counters::make_room`] carries over what is
/// above 2³¹. So an addition needs no look at its own carry.
#[derive(Clone)]
pub(crate) struct Counters {
    low: Vec<u32>,
    /// Empty while all are zero.
    high: Vec<i64>,
    /// What may be added to any low part.
    room: u32,
}

/// Bits of a low part after a carry.
const LOW_BITS: u32 = 31;

impl Counters {
    /// The most that a batch of additions to low parts may add up to.
    pub const ROOM: u32 = 1 << LOW_BITS;

    /// `count` zeros.
    pub fn new(count: usize) -> Counters {
        Counters {
            low: vec![0; count],
            high: Vec::new(),
            room: u32::MAX,
        }
    }

    /// Whether a counter may be outside 0 to 2³² - 1.
    pub fn is_wide(&self) -> bool {
        !self.high.is_empty()
    }

    /// A counter's value.
    #[inline]
    pub fn get(&self, index: usize) -> i64 {
        value(&self.high, index, self.low[index])
    }

    /// All values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> {
        let low = self.low.iter().enumerate();
        low.map(|(index, low)| value(&self.high, index, *low))
    }

    /// Sets a counter.
    pub fn set(&mut self, index: usize, value: i64) {
        let high = value >> LOW_BITS;
        if high != 0 || self.is_wide() {
            self.high.resize(self.low.len(), 0);
            self.high[index] = high;
        }
        self.low[index] = value as u32 & (Counters::ROOM - 1);
        self.room = self.room.min(Counters::ROOM);
    }

    /// The low parts, to which the caller adds values that add up to `mass`, at
    /// most [`Counters::ROOM`], and knows that no counter overflows.
    pub fn low_for(&mut self, mass: u32) -> &mut [u32] {
        if self.room < mass {
            self.make_room();
        }
        self.room = self.room.saturating_sub(mass);
        &mut self.low
    }

    /// Carries over.
    #[cold]
    fn make_room(&mut self) {
        let mut max = 0;
        for index in 0..self.low.len() {
            let low = self.low[index];
            if low >> LOW_BITS != 0 {
                self.high.resize(self.low.len(), 0);
                self.high[index] += 1;
                self.low[index] = low - Counters::ROOM;
            }
            max = max.max(self.low[index]);
        }
        self.room = u32::MAX - max;
    }

    /// Adds to one counter, which the caller knows not to overflow.
    pub fn add(&mut self, index: usize, value: i64) {
        self.set(index, self.get(index) + value);
    }

    /// Adds to one counter; true where it had to saturate.
    pub fn add_saturating(&mut self, index: usize, value: i64) -> bool {
        let before = self.get(index);
        self.set(index, before.saturating_add(value));
        before.checked_add(value).is_none()
    }

    /// The low parts of one row, the whole values where none is wide.
    pub fn low_row(&self, row: usize, width: usize) -> &[u32] {
        &self.low[row * width..(row + 1) * width]
    }

    /// Sum of the squares of the counters of one row, several sums side by side: one
    /// alone waits for itself.
    pub fn squares_of_row(&self, row: usize, width: usize) -> f64 {
        let mut sums = [0.0; 8];
        if !self.is_wide() {
            for counters in self.low_row(row, width).chunks(sums.len()) {
                for (sum, counter) in sums.iter_mut().zip(counters) {
                    *sum += f64::from(*counter) * f64::from(*counter);
                }
            }
        } else {
            for index in row * width..(row + 1) * width {
                let counter = self.get(index) as f64;
                sums[index % sums.len()] += counter * counter;
            }
        }
        sums.iter().sum()
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        self.low.fill(0);
        self.high.clear();
        self.room = u32::MAX;
    }
}

#[inline]
fn value(high: &[i64], index: usize, low: u32) -> i64 {
    let high = high.get(index).copied().unwrap_or(0);
    (high << LOW_BITS) + i64::from(low)
}

/// Equal values may be cut into parts differently.
impl PartialEq for Counters {
    fn eq(&self, other: &Counters) -> bool {
        self.iter().eq(other.iter())
    }
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

    /// What an update of a test does.
    #[derive(Clone, Debug)]
    enum Step {
        /// Adds to low parts.
        Narrow(u32),
        /// Adds any number.
        Wide(i64),
    }

    proptest! {
        /// Two parts are one 64-bit number, whatever the signs and carries.
        #[test]
        fn parts_are_one_number(
            steps in prop::collection::vec((0usize..6, prop_oneof![
                (0..=Counters::ROOM).prop_map(Step::Narrow),
                (0u32..3).prop_map(|below| Step::Narrow(Counters::ROOM - below)),
                (-(1i64 << 34)..1 << 34).prop_map(Step::Wide),
            ]), 0..60)
        ) {
            let mut counters = Counters::new(6);
            let mut expected = [0i64; 6];
            for (index, step) in &steps {
                match step {
                    Step::Narrow(value) => {
                        // Overflows, and panics here, where the sum does not fit.
                        counters.low_for(*value)[*index] += value;
                        expected[*index] += i64::from(*value);
                    }
                    Step::Wide(value) => {
                        counters.add(*index, *value);
                        expected[*index] += value;
                    }
                }
            }
            prop_assert_eq!(counters.iter().collect::<Vec<_>>(), expected);
            prop_assert_eq!(counters.get(4), expected[4]);
            if !counters.is_wide() {
                prop_assert!(expected.iter().all(|value| value >> 32 == 0));
                let low: Vec<i64> = counters.low_row(1, 3).iter().map(|low| i64::from(*low)).collect();
                prop_assert_eq!(&low[..], &expected[3..]);
            }
            let mut set = Counters::new(6);
            for (index, value) in expected.iter().enumerate() {
                set.set(index, *value);
            }
            prop_assert!(set == counters);
            counters.clear();
            prop_assert!(counters == Counters::new(6) && !counters.is_wide());
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
