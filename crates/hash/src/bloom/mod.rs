//! Bloom filters: sets that may say yes too often, never no.
//!
//! A filter is asked by the hashes of a key under its functions (words of
//! 32 bits each, of which the top ones count), so that any family serves, and
//! hashes that are known are not computed again.
//!
//! | type | what k functions address | false positives |
//! | --- | --- | --- |
//! | [`Classic`] | one array of m bits | (1 - (1 - 1/m)^(kn))^k, equation 5.1 |
//! | [`Segmented`] | k arrays of m/k bits, one each (section 5.2.1) | (1 - (1 - k/m)^n)^k |
//! | [`Blocked`] | 512 bits, one line of the cache, chosen by the first | a mixture over blocks |
//! | [`Counting`] | counters of 4 or 8 bits; keys can be withdrawn | as segmented |
//!
//! [`Sizing`] chooses m and k for n keys and a rate, and predicts the rate.

mod blocked;
mod classic;
mod counting;
mod segmented;
mod sizing;

pub use blocked::Blocked;
pub use classic::Classic;
pub use counting::{Counter, Counting, NotAMember};
pub use segmented::Segmented;
pub use sizing::{Sizing, SizingError};

/// The index below `size` that a hash chooses by its top bits.
#[inline(always)]
fn index(hash: u32, size: usize) -> usize {
    ((u64::from(hash) * size as u64) >> 32) as usize
}

/// An array of bits.
#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(bits: usize) -> Bits {
        Bits(vec![0; bits.div_ceil(64)])
    }

    #[inline(always)]
    fn get(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 != 0
    }

    #[inline(always)]
    fn set(&mut self, index: usize, value: bool) {
        let word = &mut self.0[index / 64];
        *word = *word & !(1 << (index % 64)) | u64::from(value) << (index % 64);
    }
}

#[cfg(test)]
mod tests;
