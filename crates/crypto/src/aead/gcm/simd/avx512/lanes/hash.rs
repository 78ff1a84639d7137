//! GHASH of four packets, one per lane, in steps that are short enough to take
//! turns with rounds of a cipher.
//!
//! A chunk that others follow is hashed with one reduction, together with the
//! element that waits before it; its own last element then waits. The last chunk
//! goes by pairs, down to the lengths, which a packet of one chunk needs no more
//! than the square of the hash key for:
//!
//! ```text
//! others follow    sum = (sum + waiting)H⁴ + x₀H³ + x₁H² + x₂H        x₃ waits
//! the last         sum = (sum + waiting)H² + x₀H
//!                  sum = (sum + x₁)H² + x₂H
//!                  sum = (sum + x₃)H² + lengths H
//! ```

use std::arch::x86_64::*;

use super::super::field::{Sums, in_order, product, square};

/// Pending: nothing.
pub(super) const NOTHING: u8 = 0;

/// Pending: the element that waits and the first three of a chunk.
pub(super) const FOUR: u8 = 1;

/// Pending: the element that waits, the last chunk and the lengths.
pub(super) const REST: u8 = 2;

/// The hash of a group, of which a chunk is still to be hashed.
#[derive(Clone, Copy)]
pub(super) struct Hash {
    h: __m512i,
    h_squared: __m512i,
    /// The third and the fourth power.
    higher: [__m512i; 2],
    /// Products that are not yet reduced.
    sums: Sums,
    pub(super) sum: __m512i,
    /// The element in front of the chunk.
    pub(super) waiting: __m512i,
    pub(super) elements: [__m512i; 4],
    lengths: __m512i,
    /// What the tags are enciphered with.
    pub(super) tag_pad: __m512i,
}

impl Hash {
    /// Of no packets.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn nothing() -> Hash {
        let zero = _mm512_setzero_si512();
        Hash {
            h: zero,
            h_squared: zero,
            higher: [zero; 2],
            sums: Sums::zero(),
            sum: zero,
            waiting: zero,
            elements: [zero; 4],
            lengths: zero,
            tag_pad: zero,
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    pub(super) fn new(h: __m512i, waiting: __m512i, lengths: __m512i, tag_pad: __m512i) -> Hash {
        Hash {
            h,
            h_squared: square(h),
            waiting,
            lengths,
            tag_pad,
            ..Hash::nothing()
        }
    }

    /// Computes the powers that [`FOUR`] takes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    pub(super) fn raise(&mut self) {
        self.higher = [product(self.h_squared, self.h), square(self.h_squared)];
    }

    /// What is due after a round of others' ciphers, of which there are nine
    /// and a last one.
    ///
    /// # Safety
    /// The caller has the features of [`super::run`].
    #[inline(always)]
    pub(super) unsafe fn turn<const PENDING: u8>(&mut self, round: usize) {
        // SAFETY: the caller's.
        unsafe {
            match PENDING {
                FOUR if !round.is_multiple_of(2) => self.step_of_four(round / 2),
                REST => self.step_of_pairs(round - 1),
                _ => {}
            }
        }
    }

    /// All that is due, without others.
    ///
    /// # Safety
    /// As for [`Hash::turn`].
    #[inline(always)]
    pub(super) unsafe fn finish(&mut self) {
        // SAFETY: the caller's.
        unsafe {
            self.turn::<REST>(1);
            self.turn::<REST>(2);
            self.turn::<REST>(3);
            self.turn::<REST>(4);
            self.turn::<REST>(5);
            self.turn::<REST>(6);
            self.turn::<REST>(7);
            self.turn::<REST>(8);
            self.turn::<REST>(9);
        }
    }

    #[inline(always)]
    unsafe fn step_of_four(&mut self, step: usize) {
        let [x0, x1, x2, _] = self.elements;
        let [third, fourth] = self.higher;
        // SAFETY: the caller has the features.
        unsafe {
            match step {
                0 => self.sums = Sums::of(x0, third),
                1 => self.sums.add(x1, self.h_squared),
                2 => self.sums.add(x2, self.h),
                // The sum so far comes from far behind, and so last.
                3 => self
                    .sums
                    .add(_mm512_xor_si512(self.sum, self.waiting), fourth),
                _ => return self.reduce(),
            }
            self.sums.in_order();
        }
    }

    #[inline(always)]
    unsafe fn step_of_pairs(&mut self, step: usize) {
        let [x0, x1, x2, x3] = self.elements;
        let (x, y) = match step / 3 {
            0 => (self.waiting, x0),
            1 => (x1, x2),
            _ => (x3, self.lengths),
        };
        // SAFETY: the caller has the features.
        unsafe {
            match step % 3 {
                0 => self.sums = Sums::of(_mm512_xor_si512(self.sum, x), self.h_squared),
                1 => self.sums.add(y, self.h),
                _ => return self.reduce(),
            }
            self.sums.in_order();
        }
    }

    #[inline(always)]
    unsafe fn reduce(&mut self) {
        // SAFETY: the caller has the features.
        unsafe {
            self.sum = self.sums.reduce_lanes();
            in_order(std::slice::from_mut(&mut self.sum));
        }
    }
}
