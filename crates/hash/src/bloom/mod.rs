//! Bloom filters: sets with false positives, never false negatives.
//!
//! A filter takes the hashes of a key under its functions (32 bits each, of which the most
//! significant are used), so that any family serves, and hashes that are already known are
//! not computed again.
//!
//! ```
//! use weir_hash::Seed;
//! use weir_hash::bloom::{Classic, Sizing};
//! use weir_hash::string::{Radix, StringFamily};
//!
//! let sizing = Sizing::for_rate(1000, 0.01)?; // 1,000 keys, 1 % false positives
//! let family = Radix::<3>::draw(sizing.functions, 64, Seed::random()?);
//! let hashes = |key: &[u8]| -> Vec<u32> {
//!     (0..sizing.functions).map(|function| family.hash(function, key)).collect()
//! };
//! let mut filter = Classic::new(sizing);
//! filter.insert(&hashes(b"www.example.org"));
//! assert!(filter.contains(&hashes(b"www.example.org")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | what k functions address | false positives |
//! | --- | --- | --- |
//! | [`Classic`] | one array of m bits | (1 - (1 - 1/m)^(kn))^k, equation 5.1 |
//! | [`Segmented`] | k arrays of m/k bits, one each (section 5.2.1) | (1 - (1 - k/m)^n)^k |
//! | [`Blocked`] | 512 bits, one cache line, chosen by the first | a mixture over blocks |
//! | [`Counting`] | counters of 4 or 8 bits; keys can be removed | as segmented |
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
