//! MD5, RFC 1321 section 3.4.

use super::{Rounds, Vector};

pub(in super::super) struct Md5;

/// ⌊2³² |sin(i + 1)|⌋, by round.
const T: [[u32; 16]; 4] = [
    [
        0xd76a_a478,
        0xe8c7_b756,
        0x2420_70db,
        0xc1bd_ceee,
        0xf57c_0faf,
        0x4787_c62a,
        0xa830_4613,
        0xfd46_9501,
        0x6980_98d8,
        0x8b44_f7af,
        0xffff_5bb1,
        0x895c_d7be,
        0x6b90_1122,
        0xfd98_7193,
        0xa679_438e,
        0x49b4_0821,
    ],
    [
        0xf61e_2562,
        0xc040_b340,
        0x265e_5a51,
        0xe9b6_c7aa,
        0xd62f_105d,
        0x0244_1453,
        0xd8a1_e681,
        0xe7d3_fbc8,
        0x21e1_cde6,
        0xc337_07d6,
        0xf4d5_0d87,
        0x455a_14ed,
        0xa9e3_e905,
        0xfcef_a3f8,
        0x676f_02d9,
        0x8d2a_4c8a,
    ],
    [
        0xfffa_3942,
        0x8771_f681,
        0x6d9d_6122,
        0xfde5_380c,
        0xa4be_ea44,
        0x4bde_cfa9,
        0xf6bb_4b60,
        0xbebf_bc70,
        0x289b_7ec6,
        0xeaa1_27fa,
        0xd4ef_3085,
        0x0488_1d05,
        0xd9d4_d039,
        0xe6db_99e5,
        0x1fa2_7cf8,
        0xc4ac_5665,
    ],
    [
        0xf429_2244,
        0x432a_ff97,
        0xab94_23a7,
        0xfc93_a039,
        0x655b_59c3,
        0x8f0c_cc92,
        0xffef_f47d,
        0x8584_5dd1,
        0x6fa8_7e4f,
        0xfe2c_e6e0,
        0xa301_4314,
        0x4e08_11a1,
        0xf753_7e82,
        0xbd3a_f235,
        0x2ad7_d2bb,
        0xeb86_d391,
    ],
];

impl Rounds<u32> for Md5 {
    const BIG_ENDIAN: bool = false;
    const STATE_WORDS: usize = 4;

    #[inline(always)]
    fn compress<V: Vector<u32>>(state: &mut [V; 8], w: [V; 16]) {
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
fn f<V: Vector<u32>>(b: V, c: V, d: V) -> V {
    b.choose(c, d)
}

#[inline(always)]
fn g<V: Vector<u32>>(b: V, c: V, d: V) -> V {
    d.choose(b, c)
}

#[inline(always)]
fn h<V: Vector<u32>>(b: V, c: V, d: V) -> V {
    b.xor3(c, d)
}

#[inline(always)]
fn i<V: Vector<u32>>(b: V, c: V, d: V) -> V {
    b.xor_or_not(c, d)
}
