//! MD5, RFC 1321 section 3.4.

use super::super::published::{numbers, words};
use super::{Rounds, WordLanes};

#[derive(Clone, Copy)]
pub(in super::super) struct Md5;

/// ⌊2³² |sin(i + 1)|⌋, by round.
const T: [[u32; 16]; 4] = words(
    &numbers::<4, 16>(
        "\
         d76aa478 e8c7b756 242070db c1bdceee f57c0faf 4787c62a a8304613 fd469501 \
         698098d8 8b44f7af ffff5bb1 895cd7be 6b901122 fd987193 a679438e 49b40821 \
         f61e2562 c040b340 265e5a51 e9b6c7aa d62f105d 02441453 d8a1e681 e7d3fbc8 \
         21e1cde6 c33707d6 f4d50d87 455a14ed a9e3e905 fcefa3f8 676f02d9 8d2a4c8a \
         fffa3942 8771f681 6d9d6122 fde5380c a4beea44 4bdecfa9 f6bb4b60 bebfbc70 \
         289b7ec6 eaa127fa d4ef3085 04881d05 d9d4d039 e6db99e5 1fa27cf8 c4ac5665 \
         f4292244 432aff97 ab9423a7 fc93a039 655b59c3 8f0ccc92 ffeff47d 85845dd1 \
         6fa87e4f fe2ce6e0 a3014314 4e0811a1 f7537e82 bd3af235 2ad7d2bb eb86d391",
    ),
    0,
);

impl Rounds<u32> for Md5 {
    const BIG_ENDIAN: bool = false;
    const STATE_WORDS: usize = 4;

    #[inline(always)]
    fn compress<V: WordLanes<u32>>(state: &mut [V; 8], w: [V; 16]) {
        let [mut a, mut b, mut c, mut d, ..] = *state;

        /// One step; instead of the words, their names move on. `$left` is the
        /// rotation to the left.
        macro_rules! step {
            ($f:ident, $t:expr, $word:expr, $left:literal,
             $a:ident, $b:ident, $c:ident, $d:ident) => {
                let sum = $a.add_word($t).add(w[$word % 16]).add($f($b, $c, $d));
                $a = $b.add(sum.rotate_right::<{ 32 - $left }>());
            };
        }
        /// Sixteen steps: step `i` takes word `$first + i * $stride`.
        macro_rules! round {
            ($f:ident, $t:expr, $first:literal, $stride:literal,
             $s0:literal, $s1:literal, $s2:literal, $s3:literal) => {
                round!($f, $t, $first, $stride, $s0, $s1, $s2, $s3; 0, 4, 8, 12);
            };
            ($f:ident, $t:expr, $first:literal, $stride:literal,
             $s0:literal, $s1:literal, $s2:literal, $s3:literal; $($i:literal),*) => {$(
                step!($f, $t[$i], $first + $i * $stride, $s0, a, b, c, d);
                step!($f, $t[$i + 1], $first + ($i + 1) * $stride, $s1, d, a, b, c);
                step!($f, $t[$i + 2], $first + ($i + 2) * $stride, $s2, c, d, a, b);
                step!($f, $t[$i + 3], $first + ($i + 3) * $stride, $s3, b, c, d, a);
            )*};
        }
        round!(f, T[0], 0, 1, 7, 12, 17, 22);
        round!(g, T[1], 1, 5, 5, 9, 14, 20);
        round!(h, T[2], 5, 3, 4, 11, 16, 23);
        round!(i, T[3], 0, 7, 6, 10, 15, 21);

        for (sum, word) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.add(word);
        }
    }
}

#[inline(always)]
fn f<V: WordLanes<u32>>(b: V, c: V, d: V) -> V {
    b.choose(c, d)
}

#[inline(always)]
fn g<V: WordLanes<u32>>(b: V, c: V, d: V) -> V {
    d.choose(b, c)
}

#[inline(always)]
fn h<V: WordLanes<u32>>(b: V, c: V, d: V) -> V {
    b.xor3(c, d)
}

#[inline(always)]
fn i<V: WordLanes<u32>>(b: V, c: V, d: V) -> V {
    b.xor_or_not(c, d)
}
