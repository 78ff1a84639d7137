use super::{Segmented, Sizing};

/// A segmented filter with a counter per bit of the keys that set it, so that keys can be
/// removed (Fan, Cao, Almeida, Broder, *Summary cache*,
/// 1998; section 5.4.3 of the thesis). Queries read the bits alone.
///
/// A counter that reached its maximum stays there: its bit is never cleared, which is a
/// false positive at worst. With 4 bits that happens to one bit in 10¹⁵ at the
/// best number of functions, with 8 bits never.
#[derive(Clone, Debug)]
pub struct Counting {
    bits: Segmented,
    counter: Counter,
    counters: Vec<u8>,
}

/// Size of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Up to 15 keys; half of the memory.
    FourBits,
    /// Up to 255 keys.
    EightBits,
}

/// The key was never added: nothing was withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key to be withdrawn is none of the filter's")]
pub struct NotAMember;

impl Counter {
    const fn most(self) -> u8 {
        match self {
            Counter::FourBits => 15,
            Counter::EightBits => 255,
        }
    }

    const fn per_byte(self) -> usize {
        match self {
            Counter::FourBits => 2,
            Counter::EightBits => 1,
        }
    }
}

impl Counting {
    /// A filter of no keys.
    pub fn new(sizing: Sizing, counter: Counter) -> Counting {
        let bits = Segmented::new(sizing);
        Counting {
            counters: vec![0; bits.places().div_ceil(counter.per_byte())],
            bits,
            counter,
        }
    }

    /// The bits, for queries.
    pub fn bits(&self) -> &Segmented {
        &self.bits
    }

    /// Heap memory.
    pub fn memory_bytes(&self) -> usize {
        self.bits.memory_bytes() + self.counters.len()
    }

    /// Adds a key, by its hash under each function. A key that is added twice
    /// is to be withdrawn twice.
    pub fn insert(&mut self, hashes: &[u32]) {
        for (function, hash) in (0..self.bits.functions()).zip(hashes) {
            let place = self.bits.place(function, *hash);
            let count = self.count(place);
            self.set_count(place, count.saturating_add(1).min(self.counter.most()));
            self.bits.set(place, true);
        }
    }

    /// Removes a key that was added.
    ///
    /// # Errors
    /// [`NotAMember`] where the filter does not contain the key. Removing another key that
    /// is a false positive is not detected.
    pub fn remove(&mut self, hashes: &[u32]) -> Result<(), NotAMember> {
        if !self.contains(hashes) {
            return Err(NotAMember);
        }
        for (function, hash) in (0..self.bits.functions()).zip(hashes) {
            let place = self.bits.place(function, *hash);
            let count = self.count(place);
            if count < self.counter.most() {
                self.set_count(place, count - 1);
                self.bits.set(place, count > 1);
            }
        }
        Ok(())
    }

    /// Whether the key may be one of the set.
    pub fn contains(&self, hashes: &[u32]) -> bool {
        self.bits.contains(hashes)
    }

    fn count(&self, place: usize) -> u8 {
        match self.counter {
            Counter::EightBits => self.counters[place],
            Counter::FourBits => self.counters[place / 2] >> (place % 2 * 4) & 15,
        }
    }

    fn set_count(&mut self, place: usize, count: u8) {
        match self.counter {
            Counter::EightBits => self.counters[place] = count,
            Counter::FourBits => {
                let (byte, shift) = (&mut self.counters[place / 2], place % 2 * 4);
                *byte = *byte & !(15 << shift) | count << shift;
            }
        }
    }
}
