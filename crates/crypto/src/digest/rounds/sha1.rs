//! SHA-1, FIPS 180-4 section 6.1.2.

use super::{Rounds, WordLanes};

#[derive(Clone, Copy)]
pub(in super::super) struct Sha1;

/// FIPS 180-4 section 4.2.1.
const K: [u32; 4] = [0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xca62_c1d6];

impl Rounds<u32> for Sha1 {
    const BIG_ENDIAN: bool = true;
    const STATE_WORDS: usize = 5;

    #[inline(always)]
    fn compress<V: WordLanes<u32>>(state: &mut [V; 8], mut w: [V; 16]) {
        let [mut a, mut b, mut c, mut d, mut e, ..] = *state;

        /// One step; instead of the words, their names move on.
        macro_rules! step {
            ($f:ident, $t:expr, $a:ident, $b:ident, $c:ident, $d:ident, $e:ident) => {
                if $t >= 16 {
                    w[$t % 16] = next_word(&w, $t);
                }
                let sum = $e.add_word(K[$t / 20]).add(w[$t % 16]);
                $e = sum.add($b.$f($c, $d)).add($a.rotate_right::<27>());
                $b = $b.rotate_right::<2>();
            };
        }
        macro_rules! five_steps {
            ($f:ident, $($t:expr),*) => {$(
                step!($f, $t, a, b, c, d, e);
                step!($f, $t + 1, e, a, b, c, d);
                step!($f, $t + 2, d, e, a, b, c);
                step!($f, $t + 3, c, d, e, a, b);
                step!($f, $t + 4, b, c, d, e, a);
            )*};
        }
        five_steps!(choose, 0, 5, 10, 15);
        five_steps!(xor3, 20, 25, 30, 35);
        five_steps!(majority, 40, 45, 50, 55);
        five_steps!(xor3, 60, 65, 70, 75);

        for (sum, word) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.add(word);
        }
    }
}

/// Word `t` of the message schedule, of which `w` holds the last 16.
#[inline(always)]
fn next_word<V: WordLanes<u32>>(w: &[V; 16], t: usize) -> V {
    w[(t + 13) % 16]
        .xor3(w[(t + 8) % 16], w[(t + 2) % 16])
        .xor(w[t % 16])
        .rotate_right::<31>()
}
