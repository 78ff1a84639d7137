//! AES in constant time without AES instructions: four blocks at once, one bit
//! of all their bytes per 64-bit word.
//!
//! ```text
//! word 0..8   bit plane b: bit b of each of the 64 state bytes
//! in a word   byte i (0..8)    row i mod 4, column c with c mod 2 = i div 4
//!             bit j (0..8)     block j div 2, column c with c div 2 = j mod 2
//! ```
//!
//! So a row of four blocks is two bytes of a word, 32 bits apart (columns 0, 2
//! and columns 1, 3), ShiftRows moves bits within rows, and MixColumns rotates
//! each half of a word by whole bytes. No look-up, no branch and no address
//! depends on a secret.

mod inverse;

use zeroize::Zeroize;

use super::Block;

pub(crate) use inverse::invert;

/// Blocks that are encrypted at once.
pub(crate) const BLOCKS: usize = 4;

const MOST_ROUND_KEYS: usize = 15;

/// The round keys of one key as bit planes. Wiped when dropped.
pub(crate) struct PlaneKeys {
    planes: [Planes; MOST_ROUND_KEYS],
    rounds: usize,
}

type Planes = [u64; 8];

impl PlaneKeys {
    /// From the round keys as FIPS 197 writes them; those beyond the
    /// fifteenth, which no key size has, do not count.
    pub(crate) fn new(round_keys: &[Block]) -> PlaneKeys {
        let mut planes = [[0; 8]; MOST_ROUND_KEYS];
        for (planes, key) in planes.iter_mut().zip(round_keys) {
            *planes = slice(&[*key; BLOCKS]);
        }
        let rounds = round_keys.len().min(MOST_ROUND_KEYS).saturating_sub(1);
        PlaneKeys { planes, rounds }
    }

    /// Encrypts four blocks: FIPS 197 section 5.1.
    pub(crate) fn encrypt(&self, blocks: &mut [Block; BLOCKS]) {
        let mut state = slice(blocks);
        add(&mut state, &self.planes[0]);
        for key in &self.planes[1..self.rounds] {
            substitute(&mut state);
            shift_rows(&mut state);
            mix_columns(&mut state);
            add(&mut state, key);
        }
        substitute(&mut state);
        shift_rows(&mut state);
        add(&mut state, &self.planes[self.rounds]);
        *blocks = unslice(state);
        state.zeroize();
    }

    /// Encrypts one block.
    pub(crate) fn encrypt_one(&self, block: Block) -> Block {
        let mut blocks = [block; BLOCKS];
        self.encrypt(&mut blocks);
        blocks[0]
    }
}

impl Drop for PlaneKeys {
    fn drop(&mut self) {
        self.planes.zeroize();
    }
}

/// SubWord of FIPS 197 section 5.2: the S-box applied to each byte.
pub(crate) fn substitute_word(word: u32) -> u32 {
    let mut planes = [u64::from(word), 0, 0, 0, 0, 0, 0, 0];
    transpose(&mut planes);
    substitute(&mut planes);
    transpose(&mut planes);
    planes[0] as u32
}

fn slice(blocks: &[Block; BLOCKS]) -> Planes {
    let mut planes = [0; 8];
    let (halves, _) = blocks.as_flattened().as_chunks::<8>();
    for (plane, half) in planes.iter_mut().zip(halves) {
        *plane = u64::from_le_bytes(*half);
    }
    transpose(&mut planes);
    planes
}

fn unslice(mut planes: Planes) -> [Block; BLOCKS] {
    transpose(&mut planes);
    let mut blocks = [[0; 16]; BLOCKS];
    let (halves, _) = blocks.as_flattened_mut().as_chunks_mut::<8>();
    for (half, plane) in halves.iter_mut().zip(planes) {
        *half = plane.to_le_bytes();
    }
    blocks
}

/// Exchanges bit b of byte i of word j with bit j of byte i of word b, by three
/// rounds of exchanges between words 1, 2 and 4 apart.
fn transpose(words: &mut Planes) {
    for (distance, mask) in [
        (1, 0x5555_5555_5555_5555),
        (2, 0x3333_3333_3333_3333),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
    ] {
        for low in (0..8).filter(|low| low & distance == 0) {
            let exchanged = ((words[low] >> distance) ^ words[low + distance]) & mask;
            words[low + distance] ^= exchanged;
            words[low] ^= exchanged << distance;
        }
    }
}

fn add(state: &mut Planes, key: &Planes) {
    for (state, key) in state.iter_mut().zip(key) {
        *state ^= key;
    }
}

const ROW_0: u64 = 0x0000_00ff_0000_00ff;
const ROW_1: u64 = ROW_0 << 8;
const ROW_2: u64 = ROW_0 << 16;
const ROW_3: u64 = ROW_0 << 24;

/// Row r moves r columns to the left.
fn shift_rows(state: &mut Planes) {
    shift_columns(state, [ROW_1, ROW_2, ROW_3]);
}

/// The rows of each mask move one, two and three columns to the left. The
/// module's diagram shows why columns an odd number apart exchange halves, and
/// why a step past column 3 exchanges neighbouring bits.
fn shift_columns(state: &mut Planes, [by_one, by_two, by_three]: [u64; 3]) {
    const EVEN_COLUMNS: u64 = 0x0000_0000_ffff_ffff;
    for x in state {
        let swapped = ((*x & 0x5555_5555_5555_5555) << 1) | ((*x >> 1) & 0x5555_5555_5555_5555);
        *x = (*x & ROW_0)
            | (((*x >> 32) & EVEN_COLUMNS | swapped << 32) & by_one)
            | (swapped & by_two)
            | (((swapped >> 32) & EVEN_COLUMNS | *x << 32) & by_three);
    }
}

/// With a′ the next row and t = a ⊕ a′: 2a ⊕ 3a′ ⊕ a″ ⊕ a‴ = 2t ⊕ a′ ⊕ t″.
fn mix_columns(state: &mut Planes) {
    let a = *state;
    let next = a.map(|plane| rows_up(plane, 1));
    let mut t = [0; 8];
    for (t, (a, next)) in t.iter_mut().zip(a.iter().zip(next)) {
        *t = a ^ next;
    }
    let doubled = double(t);
    for (bit, plane) in state.iter_mut().enumerate() {
        *plane = doubled[bit] ^ next[bit] ^ rows_up(t[bit], 2);
    }
}

/// Each byte times x, modulo x⁸ + x⁴ + x³ + x + 1.
fn double(t: Planes) -> Planes {
    let top = t[7];
    [
        top,
        t[0] ^ top,
        t[1],
        t[2] ^ top,
        t[3] ^ top,
        t[4],
        t[5],
        t[6],
    ]
}

/// Each row becomes the one `rows` below it, in every column.
fn rows_up(plane: u64, rows: u32) -> u64 {
    let even = (plane as u32).rotate_right(8 * rows);
    let odd = ((plane >> 32) as u32).rotate_right(8 * rows);
    u64::from(even) | u64::from(odd) << 32
}

/// The S-box of 64 bytes as the circuit of Boyar and Peralta (*A depth-16
/// circuit for the AES S-box*, IACR ePrint 2011/332): a linear layer, the
/// inversion in GF(2⁸) through its subfields, a linear layer. They number bits
/// from the most significant one.
fn substitute(planes: &mut Planes) {
    let [x7, x6, x5, x4, x3, x2, x1, x0] = *planes;

    let y14 = x3 ^ x5;
    let y13 = x0 ^ x6;
    let y9 = x0 ^ x3;
    let y8 = x0 ^ x5;
    let t0 = x1 ^ x2;
    let y1 = t0 ^ x7;
    let y4 = y1 ^ x3;
    let y12 = y13 ^ y14;
    let y2 = y1 ^ x0;
    let y5 = y1 ^ x6;
    let y3 = y5 ^ y8;
    let t1 = x4 ^ y12;
    let y15 = t1 ^ x5;
    let y20 = t1 ^ x1;
    let y6 = y15 ^ x7;
    let y10 = y15 ^ t0;
    let y11 = y20 ^ y9;
    let y7 = x7 ^ y11;
    let y17 = y10 ^ y11;
    let y19 = y10 ^ y8;
    let y16 = t0 ^ y11;
    let y21 = y13 ^ y16;
    let y18 = x0 ^ y16;

    let t2 = y12 & y15;
    let t4 = (y3 & y6) ^ t2;
    let t6 = (y4 & x7) ^ t2;
    let t7 = y13 & y16;
    let t9 = (y5 & y1) ^ t7;
    let t11 = (y2 & y7) ^ t7;
    let t12 = y9 & y11;
    let t14 = (y14 & y17) ^ t12;
    let t16 = (y8 & y10) ^ t12;
    let t21 = t4 ^ t14 ^ y20;
    let t22 = t6 ^ t16 ^ y19;
    let t23 = t9 ^ t14 ^ y21;
    let t24 = t11 ^ t16 ^ y18;

    let t25 = t21 ^ t22;
    let t26 = t21 & t23;
    let t27 = t24 ^ t26;
    let t29 = (t25 & t27) ^ t22;
    let t30 = t23 ^ t24;
    let t31 = t22 ^ t26;
    let t33 = (t31 & t30) ^ t24;
    let t34 = t23 ^ t33;
    let t35 = t27 ^ t33;
    let t36 = t24 & t35;
    let t37 = t36 ^ t34;
    let t38 = t27 ^ t36;
    let t40 = t25 ^ (t29 & t38);
    let t41 = t40 ^ t37;
    let t42 = t29 ^ t33;
    let t43 = t29 ^ t40;
    let t44 = t33 ^ t37;
    let t45 = t42 ^ t41;

    let z0 = t44 & y15;
    let z1 = t37 & y6;
    let z2 = t33 & x7;
    let z3 = t43 & y16;
    let z4 = t40 & y1;
    let z5 = t29 & y7;
    let z6 = t42 & y11;
    let z7 = t45 & y17;
    let z8 = t41 & y10;
    let z9 = t44 & y12;
    let z10 = t37 & y3;
    let z11 = t33 & y4;
    let z12 = t43 & y13;
    let z13 = t40 & y5;
    let z14 = t29 & y2;
    let z15 = t42 & y9;
    let z16 = t45 & y14;
    let z17 = t41 & y8;

    let t46 = z15 ^ z16;
    let t47 = z10 ^ z11;
    let t48 = z5 ^ z13;
    let t49 = z9 ^ z10;
    let t50 = z2 ^ z12;
    let t51 = z2 ^ z5;
    let t52 = z7 ^ z8;
    let t53 = z0 ^ z3;
    let t54 = z6 ^ z7;
    let t55 = z16 ^ z17;
    let t56 = z12 ^ t48;
    let t57 = t50 ^ t53;
    let t58 = z4 ^ t46;
    let t59 = z3 ^ t54;
    let t60 = t46 ^ t57;
    let t61 = z14 ^ t57;
    let t62 = t52 ^ t58;
    let t63 = t49 ^ t58;
    let t64 = z4 ^ t59;
    let t65 = t61 ^ t62;
    let t66 = z1 ^ t63;
    let t67 = t64 ^ t65;

    let s0 = t59 ^ t63;
    let s3 = t53 ^ t66;
    let s1 = t64 ^ !s3;
    let s2 = t55 ^ !t67;
    let s4 = t51 ^ t66;
    let s5 = t47 ^ t65;
    let s6 = t56 ^ !t62;
    let s7 = t48 ^ !t60;
    *planes = [s7, s6, s5, s4, s3, s2, s1, s0];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The S-box by its definition (FIPS 197 section 5.1.1): the inverse in
    /// GF(2⁸), then an affine map.
    fn s_box(x: u8) -> u8 {
        let product = |mut a: u8, mut b: u8| {
            let mut sum = 0;
            while b != 0 {
                sum ^= a * (b & 1);
                a = (a << 1) ^ (0x1b * (a >> 7));
                b >>= 1;
            }
            sum
        };
        let inverse = (0..=255).find(|&y| product(x, y) == 1).unwrap_or(0);
        (0..5).fold(0x63, |sum, turns| sum ^ inverse.rotate_left(turns))
    }

    #[test]
    fn the_circuit_is_the_s_box() {
        for x in 0..=255u8 {
            let word = u32::from_le_bytes([x, 0, !x, x ^ 0x5a]);
            let bytes = substitute_word(word).to_le_bytes();
            assert_eq!(bytes, [x, 0, !x, x ^ 0x5a].map(s_box), "{x:#04x}");
        }
    }

    #[test]
    fn slicing_is_undone() {
        let blocks: [Block; BLOCKS] =
            std::array::from_fn(|b| std::array::from_fn(|i| (37 * (16 * b + i) + 11) as u8));
        assert_eq!(unslice(slice(&blocks)), blocks);
    }
}
