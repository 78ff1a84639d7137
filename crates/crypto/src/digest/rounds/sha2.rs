//! SHA-2: FIPS 180-4 sections 6.2.2 (32-bit words: SHA-224, SHA-256) and
//! 6.4.2 (64-bit words: SHA-384, SHA-512), which differ in their constants, the
//! number of steps and the four functions called sigma.

use super::sha2_constants::{SHA256, SHA512};
use super::{Rounds, WordLanes};

#[derive(Clone, Copy)]
pub(in super::super) struct Sha256;
#[derive(Clone, Copy)]
pub(in super::super) struct Sha512;

/// What SHA-256 and SHA-512 do not share.
trait Sha2<W: 'static> {
    /// 16 steps a row.
    const K: &'static [[W; 16]];

    fn upper_sigma_0<V: WordLanes<W>>(x: V) -> V;
    fn upper_sigma_1<V: WordLanes<W>>(x: V) -> V;
    fn lower_sigma_0<V: WordLanes<W>>(x: V) -> V;
    fn lower_sigma_1<V: WordLanes<W>>(x: V) -> V;

    /// The word of the message schedule that follows `w[t - 1]`; `w` holds the
    /// last 16.
    #[inline(always)]
    fn next_word<V: WordLanes<W>>(w: &[V; 16], t: usize) -> V {
        w[t].add(w[(t + 9) % 16])
            .add(Self::lower_sigma_0(w[(t + 1) % 16]))
            .add(Self::lower_sigma_1(w[(t + 14) % 16]))
    }

    #[inline(always)]
    fn compress<V: WordLanes<W>>(state: &mut [V; 8], mut w: [V; 16])
    where
        W: Copy,
    {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;

        /// One step; instead of the words, their names move on.
        macro_rules! step {
            ($k:ident, $t:expr, $a:ident, $b:ident, $c:ident, $d:ident,
             $e:ident, $f:ident, $g:ident, $h:ident) => {
                let t1 = $h.add_word($k[$t]).add(w[$t]).add($e.choose($f, $g));
                let t1 = t1.add(Self::upper_sigma_1($e));
                $d = $d.add(t1);
                $h = t1.add($a.majority($b, $c)).add(Self::upper_sigma_0($a));
            };
        }
        /// Eight steps bring every name back to its word.
        macro_rules! eight_steps {
            ($k:ident, $prepare:ident, $($t:expr),*) => {$(
                $prepare!($t);
                step!($k, $t, a, b, c, d, e, f, g, h);
                $prepare!($t + 1);
                step!($k, $t + 1, h, a, b, c, d, e, f, g);
                $prepare!($t + 2);
                step!($k, $t + 2, g, h, a, b, c, d, e, f);
                $prepare!($t + 3);
                step!($k, $t + 3, f, g, h, a, b, c, d, e);
                $prepare!($t + 4);
                step!($k, $t + 4, e, f, g, h, a, b, c, d);
                $prepare!($t + 5);
                step!($k, $t + 5, d, e, f, g, h, a, b, c);
                $prepare!($t + 6);
                step!($k, $t + 6, c, d, e, f, g, h, a, b);
                $prepare!($t + 7);
                step!($k, $t + 7, b, c, d, e, f, g, h, a);
            )*};
        }
        macro_rules! given {
            ($t:expr) => {};
        }
        macro_rules! schedule {
            ($t:expr) => {
                w[$t] = Self::next_word(&w, $t);
            };
        }
        let first = &Self::K[0];
        eight_steps!(first, given, 0, 8);
        for k in &Self::K[1..] {
            eight_steps!(k, schedule, 0, 8);
        }

        for (sum, word) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.add(word);
        }
    }
}

impl Rounds<u32> for Sha256 {
    const BIG_ENDIAN: bool = true;
    const STATE_WORDS: usize = 8;

    #[inline(always)]
    fn compress<V: WordLanes<u32>>(state: &mut [V; 8], words: [V; 16]) {
        <Sha256 as Sha2<u32>>::compress(state, words);
    }
}

impl Sha2<u32> for Sha256 {
    const K: &'static [[u32; 16]] = &SHA256;

    #[inline(always)]
    fn upper_sigma_0<V: WordLanes<u32>>(x: V) -> V {
        x.rotate_right::<2>()
            .xor3(x.rotate_right::<13>(), x.rotate_right::<22>())
    }

    #[inline(always)]
    fn upper_sigma_1<V: WordLanes<u32>>(x: V) -> V {
        x.rotate_right::<6>()
            .xor3(x.rotate_right::<11>(), x.rotate_right::<25>())
    }

    #[inline(always)]
    fn lower_sigma_0<V: WordLanes<u32>>(x: V) -> V {
        x.rotate_right::<7>()
            .xor3(x.rotate_right::<18>(), x.shift_right::<3>())
    }

    #[inline(always)]
    fn lower_sigma_1<V: WordLanes<u32>>(x: V) -> V {
        x.rotate_right::<17>()
            .xor3(x.rotate_right::<19>(), x.shift_right::<10>())
    }
}

impl Rounds<u64> for Sha512 {
    const BIG_ENDIAN: bool = true;
    const STATE_WORDS: usize = 8;

    #[inline(always)]
    fn compress<V: WordLanes<u64>>(state: &mut [V; 8], words: [V; 16]) {
        <Sha512 as Sha2<u64>>::compress(state, words);
    }
}

impl Sha2<u64> for Sha512 {
    const K: &'static [[u64; 16]] = &SHA512;

    #[inline(always)]
    fn upper_sigma_0<V: WordLanes<u64>>(x: V) -> V {
        x.rotate_right::<28>()
            .xor3(x.rotate_right::<34>(), x.rotate_right::<39>())
    }

    #[inline(always)]
    fn upper_sigma_1<V: WordLanes<u64>>(x: V) -> V {
        x.rotate_right::<14>()
            .xor3(x.rotate_right::<18>(), x.rotate_right::<41>())
    }

    #[inline(always)]
    fn lower_sigma_0<V: WordLanes<u64>>(x: V) -> V {
        x.rotate_right::<1>()
            .xor3(x.rotate_right::<8>(), x.shift_right::<7>())
    }

    #[inline(always)]
    fn lower_sigma_1<V: WordLanes<u64>>(x: V) -> V {
        x.rotate_right::<19>()
            .xor3(x.rotate_right::<61>(), x.shift_right::<6>())
    }
}
