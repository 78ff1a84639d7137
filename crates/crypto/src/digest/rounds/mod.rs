//! The rounds of the hash functions, written once for vectors of any width.
//! A lane is a message; nothing moves between lanes.

pub(super) mod md5;
pub(super) mod sha1;
pub(super) mod sha2;
pub(super) mod sha2_constants;

use crate::simd::vector::{Isa, Vector};

/// A vector of words `W`, one of every lane.
pub(super) trait WordLanes<W>: Vector {
    /// Sum modulo 2³² or 2⁶⁴.
    fn add(self, other: Self) -> Self;
    /// The same with one word for all lanes.
    fn add_word(self, word: W) -> Self;
    fn rotate_right<const N: i32>(self) -> Self;
    fn shift_right<const N: i32>(self) -> Self;
}

macro_rules! word_lanes {
    ($word:ty, $add:ident, $all:ident, $rotate_right:ident, $shift_right:ident) => {
        impl<V: Vector> WordLanes<$word> for V {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.$add(other)
            }

            #[inline(always)]
            fn add_word(self, word: $word) -> Self {
                self.$add(self.isa().$all(word))
            }

            #[inline(always)]
            fn rotate_right<const N: i32>(self) -> Self {
                self.$rotate_right::<N>()
            }

            #[inline(always)]
            fn shift_right<const N: i32>(self) -> Self {
                self.$shift_right(N)
            }
        }
    };
}
word_lanes!(u32, add_32, all_32, rotate_right_32, shift_right_32);
word_lanes!(u64, add_64, all_64, rotate_right_64, shift_right_64);

/// A compression function over vectors: 16 words of a block into up to eight
/// words of state.
pub(super) trait Rounds<W>: Copy {
    /// How a block's bytes make words.
    const BIG_ENDIAN: bool;
    /// Words of the state that are used; the others are left alone.
    const STATE_WORDS: usize;

    fn compress<V: WordLanes<W>>(state: &mut [V; 8], words: [V; 16]);
}
