//! Incremental hash functions of strings, for searching payloads.
//!
//! A pattern is found in a payload by the hashes of all windows of its length.
//! The hash of a window of m + 1 bytes is computed from that of its first m bytes
//! and the next byte: windows of consecutive lengths cost one step each, and a window may
//! continue in the next segment of a stream if its *state* is kept.
//!
//! ```
//! use weir_hash::Seed;
//! use weir_hash::string::{ShiftAddXor, StringFamily};
//!
//! let family = ShiftAddXor::draw(4, 16, Seed::from_u64(5));
//! let hash = family.hash(0, b"GET /");
//! assert_eq!(hash, family.hash(0, &b"xGET /x"[1..6]));
//! ```
//!
//! ```text
//!  payload    p₀ p₁ p₂ p₃ p₄ …          states of windows at offsets 0, 1, 2, …
//!  length m   [p₀ … pₘ₋₁] [p₁ … pₘ] …   one array
//!  append     pₘ          pₘ₊₁ …        one array of bytes: the payload itself, m further
//!  length m+1 [p₀ … pₘ]   [p₁ … pₘ₊₁] … the same array
//! ```
//!
//! | type | a step | property |
//! | --- | --- | --- |
//! | [`ShiftAddXor`] | h ^= (h << 5) + (h >> 2) + byte | like random functions in experiments, nothing proven |
//! | [`Tabulation`] | h ^= T\[offset in the window\]\[byte\] | 3-independent |
//! | [`Radix<1>`](Radix) | x = x·base + byte mod 2³¹ - 1, then H1 | 2-universal: P(collision) ≤ (m + 2)/2³¹ |
//! | [`Radix<3>`](Radix) | the same, then a cubic polynomial | 4-universal but for equal x |
//!
//! Filters need more than two independent hashes: [`Radix`] says why.

mod radix;
mod shift_add_xor;
mod simd;
mod tabulation;

pub use radix::Radix;
pub use shift_add_xor::ShiftAddXor;
pub use tabulation::Tabulation;

use weir_simd::Tier;

use crate::seed::Seed;

/// Several functions from strings to 32 bits, of which the most significant are the best. Drawn from a seed; equal arguments give equal functions everywhere.
pub trait StringFamily: Sized {
    /// Name for tables.
    const NAME: &'static str;

    /// Draws `functions` functions for strings of at most `longest_bytes`
    /// bytes.
    fn draw(functions: usize, longest_bytes: usize, seed: Seed) -> Self;

    /// Number of functions.
    fn functions(&self) -> usize;

    /// State of the empty string.
    ///
    /// # Panics
    /// There is no such function; in all methods.
    fn start(&self, function: usize) -> u32;

    /// State of a string that is one byte longer; `place` is the offset of that byte,
    /// below the length of the longest string.
    fn append(&self, function: usize, state: u32, place: usize, byte: u8) -> u32;

    /// The hash of a string, by its state.
    fn finish(&self, function: usize, state: u32) -> u32;

    /// [`StringFamily::append`] for windows at consecutive offsets of a payload:
    /// `states[j]` goes on with `bytes[j]`. In lanes where there are any.
    fn append_to_each(
        &self,
        tier: Tier,
        function: usize,
        states: &mut [u32],
        place: usize,
        bytes: &[u8],
    ) {
        let _ = tier;
        for (state, byte) in states.iter_mut().zip(bytes) {
            *state = self.append(function, *state, place, *byte);
        }
    }

    /// [`StringFamily::finish`] for many states: `hashes[j]` is that of
    /// `states[j]`. In lanes where there are any.
    fn finish_each(&self, tier: Tier, function: usize, states: &[u32], hashes: &mut [u32]) {
        let _ = tier;
        for (hash, state) in hashes.iter_mut().zip(states) {
            *hash = self.finish(function, *state);
        }
    }

    /// The definition: the hash of a string.
    fn hash(&self, function: usize, string: &[u8]) -> u32 {
        let state = (string.iter().enumerate())
            .fold(self.start(function), |state, (place, byte)| {
                self.append(function, state, place, *byte)
            });
        self.finish(function, state)
    }
}

#[cfg(test)]
mod tests;
