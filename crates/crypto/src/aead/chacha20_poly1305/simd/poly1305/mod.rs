//! Poly1305 (RFC 8439 section 2.5) of several messages side by side, two blocks a step: a message
//! in each lane of 64 bits.
//!
//! Numbers modulo 2¹³⁰ - 5 are in limbs of as many bits as a [`Field`] says:
//!
//! ```text
//! x = Σ 2ᵇⁱ·xᵢ          2ᵇⁿ ≡ f modulo 2¹³⁰ - 5 for n limbs
//! (x·y)ᵢ = Σ xⱼ·yᵢ₋ⱼ for j ≤ i, and f·Σ xⱼ·yₙ₊ᵢ₋ⱼ for j > i
//! ```
//!
//! so that a multiplier holds f·y too.

mod limbs_26;
mod limbs_44;

pub(super) use limbs_26::Limbs26;
pub(super) use limbs_44::Limbs44;

use super::parts::{MOST_MESSAGES, Parts};
use crate::cipher::Block;
use crate::simd::vector::{Isa, Vector, transpose_double_words};

/// Bytes of a block.
const BLOCK_BYTES: usize = 16;

/// How numbers are held and multiplied.
pub(super) trait Field<const LIMBS: usize>: Copy {
    type Isa: Isa<Vector = Self::Vector>;
    type Vector: Vector<Isa = Self::Isa>;
    /// A sum of products of limbs.
    type Sum: Copy;

    /// Bits of each limb but the last, which has what is left of 130.
    const BITS: i32;

    fn no_products(isa: Self::Isa) -> Self::Sum;
    fn add_product(sum: Self::Sum, x: Self::Vector, y: Self::Vector) -> Self::Sum;
    /// The number, in limbs that may be a bit too long.
    fn reduce(sums: [Self::Sum; LIMBS]) -> [Self::Vector; LIMBS];
}

/// Bits of the last limb.
const fn top_bits(bits: i32, limbs: usize) -> i32 {
    130 - bits * (limbs as i32 - 1)
}

/// The lowest bits of all lanes.
#[inline(always)]
fn low_bits<I: Isa>(isa: I, bits: i32) -> I::Vector {
    isa.all_64((1 << bits) - 1)
}

/// 5·x.
#[inline(always)]
fn five_times<V: Vector>(x: V) -> V {
    x.add_64(x.shift_left_64(2))
}

/// The messages' hashes as far as they have come.
pub(super) struct Hashes<F: Field<LIMBS>, const LIMBS: usize> {
    h: [F::Vector; LIMBS],
    r: Multiplier<F::Vector, LIMBS>,
    r_squared: Multiplier<F::Vector, LIMBS>,
    /// s, as two words.
    s: [F::Vector; 2],
}

/// y and f·y.
#[derive(Clone, Copy)]
struct Multiplier<V, const LIMBS: usize> {
    y: [V; LIMBS],
    folded: [V; LIMBS],
}

/// Hashes a part of each message, of which there is one for each of the hashes. Two hashes are
/// interleaved, so that the steps of one run while the other's wait.
///
/// # Safety
/// The bytes of the parts are readable.
#[inline(always)]
pub(super) unsafe fn absorb<F: Field<LIMBS>, const LIMBS: usize>(
    hashes: &mut [Hashes<F, LIMBS>],
    parts: &[Parts],
) {
    let vector_bytes = 16 * F::Vector::QUADS;
    let (least, most) = match parts {
        [low, high] => (low.least.min(high.least), low.most.max(high.most)),
        [one] => (one.least, one.most),
        _ => return,
    };
    let mut offset = 0;
    while offset + vector_bytes <= least {
        // SAFETY: as much is left of each.
        unsafe {
            match (&mut *hashes, parts) {
                ([low, high], [low_parts, high_parts]) => {
                    let low_words = low.load(low_parts, offset);
                    low.two_blocks(&low_words, 0);
                    let high_words = high.load(high_parts, offset);
                    high.two_blocks(&high_words, 0);
                    if F::Vector::QUADS > 2 {
                        low.two_blocks(&low_words, 1);
                        high.two_blocks(&high_words, 1);
                    }
                }
                ([one], [parts]) => {
                    let words = one.load(parts, offset);
                    for pair in 0..F::Vector::QUADS / 2 {
                        one.two_blocks(&words, pair);
                    }
                }
                _ => return,
            }
        }
        offset += vector_bytes;
    }
    while offset < most {
        for (hashes, parts) in hashes.iter_mut().zip(parts) {
            // SAFETY: the caller's.
            unsafe {
                match offset + BLOCK_BYTES < most {
                    true => hashes.up_to_a_vector(parts, offset, most),
                    false => hashes.up_to_a_block(parts, offset),
                }
            }
        }
        offset += vector_bytes;
    }
}

impl<F: Field<LIMBS>, const LIMBS: usize> Hashes<F, LIMBS> {
    /// The bit behind a block of 16 bytes, in its last limb.
    const PAD: u64 = 1 << (128 - F::BITS * (LIMBS as i32 - 1));

    /// Of nothing, under one-time keys as ChaCha20 makes them: four words of 64 bits.
    #[inline(always)]
    pub(super) fn new([r_low, r_high, s_low, s_high]: [F::Vector; 4]) -> Self {
        let isa = r_low.isa();
        let r_low = r_low.and(isa.all_64(0x0fff_fffc_0fff_ffff));
        let r_high = r_high.and(isa.all_64(0x0fff_fffc_0fff_fffc));
        let r = Self::multiplier(Self::limbs([r_low, r_high], isa.zero()));
        let squared = F::reduce(Self::add_products([F::no_products(isa); LIMBS], &r.y, &r));
        Hashes {
            h: [isa.zero(); LIMBS],
            r,
            r_squared: Self::multiplier(squared),
            s: [s_low, s_high],
        }
    }

    #[inline(always)]
    fn isa(&self) -> F::Isa {
        self.s[0].isa()
    }

    /// The words of a vector of each message at `offset`, those of a block next to each other.
    ///
    /// # Safety
    /// The parts have it.
    #[inline(always)]
    unsafe fn load(&self, parts: &Parts, offset: usize) -> [F::Vector; MOST_MESSAGES] {
        let mut rows = [self.isa().zero(); MOST_MESSAGES];
        for (row, at) in rows[..2 * F::Vector::QUADS].iter_mut().zip(parts.at) {
            // SAFETY: the caller's.
            *row = unsafe { self.isa().load_at(at.wrapping_add(offset)) };
        }
        transpose_double_words(rows)
    }

    /// Hashes the vector at `offset` of each message, or what there is of it; the longest has
    /// `most` bytes.
    ///
    /// # Safety
    /// The bytes of the parts are readable.
    #[inline(always)]
    unsafe fn up_to_a_vector(&mut self, parts: &Parts, offset: usize, most: usize) {
        let mut rows = [self.isa().zero(); MOST_MESSAGES];
        for (lane, row) in rows[..2 * F::Vector::QUADS].iter_mut().enumerate() {
            let left = parts.bytes[lane].saturating_sub(offset);
            // SAFETY: the caller's.
            *row = unsafe {
                let at = parts.at[lane].wrapping_add(offset);
                self.isa().load_first(at, left.min(16 * F::Vector::QUADS))
            };
        }
        let words = transpose_double_words(rows);
        for pair in 0..F::Vector::QUADS / 2 {
            let at = offset + 2 * BLOCK_BYTES * pair;
            if at < most {
                self.up_to_two_blocks(&words, pair, &parts.left(at));
            }
        }
    }

    /// Hashes the block at `offset` of each message, or what there is of it.
    ///
    /// # Safety
    /// The bytes of the parts are readable.
    #[inline(always)]
    unsafe fn up_to_a_block(&mut self, parts: &Parts, offset: usize) {
        let left = parts.left(offset);
        let mut rows = [self.isa().zero(); 2];
        for (first, row) in rows.iter_mut().enumerate() {
            let (mut at, mut bytes) = ([std::ptr::null(); 4], [0; 4]);
            for quad in 0..F::Vector::QUADS {
                let lane = 2 * quad + first;
                at[quad] = parts.at[lane].wrapping_add(offset);
                bytes[quad] = (left[lane] as usize).min(BLOCK_BYTES);
            }
            // SAFETY: the caller's.
            *row = unsafe { self.isa().load_first_of_quads(at, bytes) };
        }
        let [even, odd] = rows;
        let block = [even.unpack_low_64(odd), even.unpack_high_64(odd)];
        let has_one = self.isa().load(&left).greater_64(self.isa().zero());
        let h = self.with_block(block);
        self.set(has_one, h);
    }

    /// Hashes a block of each message, of two words.
    #[inline(always)]
    pub(super) fn block(&mut self, words: &[[u64; MOST_MESSAGES]; 2]) {
        let [low, high] = words;
        self.h = self.with_block([self.isa().load(low), self.isa().load(high)]);
    }

    /// The hashes with one block more.
    #[inline(always)]
    fn with_block(&self, block: [F::Vector; 2]) -> [F::Vector; LIMBS] {
        let none = [F::no_products(self.isa()); LIMBS];
        let sum = self.plus(block, self.isa().all_64(Self::PAD));
        F::reduce(Self::add_products(none, &sum, &self.r))
    }

    /// Hashes a pair of blocks.
    #[inline(always)]
    fn two_blocks(&mut self, words: &[F::Vector; MOST_MESSAGES], pair: usize) {
        let pad = self.isa().all_64(Self::PAD);
        let none = [F::no_products(self.isa()); LIMBS];
        let second = Self::limbs([words[4 * pair + 2], words[4 * pair + 3]], pad);
        let products = Self::add_products(none, &second, &self.r);
        let sum = self.plus([words[4 * pair], words[4 * pair + 1]], pad);
        self.h = F::reduce(Self::add_products(products, &sum, &self.r_squared));
    }

    /// Hashes two blocks, one or none of each message, as bytes are left of it.
    #[inline(always)]
    fn up_to_two_blocks(
        &mut self,
        words: &[F::Vector; MOST_MESSAGES],
        pair: usize,
        left: &[u64; MOST_MESSAGES],
    ) {
        let isa = self.isa();
        let left = isa.load(left);
        let has_one = left.greater_64(isa.zero());
        let has_two = left.greater_64(isa.all_64(BLOCK_BYTES as u64));
        let pad = isa.all_64(Self::PAD);
        let none = [F::no_products(isa); LIMBS];
        let second = [words[4 * pair + 2], words[4 * pair + 3]];
        let second = Self::limbs(second, pad.and(has_two));
        let products = Self::add_products(none, &second, &self.r);
        let sum = self.plus([words[4 * pair], words[4 * pair + 1]], pad.and(has_one));
        let mut multiplier = self.r;
        for limb in 0..LIMBS {
            let (r, squared) = (&self.r, &self.r_squared);
            multiplier.y[limb] = has_two.choose(squared.y[limb], r.y[limb]);
            multiplier.folded[limb] = has_two.choose(squared.folded[limb], r.folded[limb]);
        }
        let h = F::reduce(Self::add_products(products, &sum, &multiplier));
        self.set(has_one, h);
    }

    /// Sets the hashes of some lanes.
    #[inline(always)]
    fn set(&mut self, lanes: F::Vector, h: [F::Vector; LIMBS]) {
        for (old, new) in self.h.iter_mut().zip(h) {
            *old = lanes.choose(new, *old);
        }
    }

    /// The hashes plus a block each.
    #[inline(always)]
    fn plus(&self, block: [F::Vector; 2], pad: F::Vector) -> [F::Vector; LIMBS] {
        let mut sum = Self::limbs(block, pad);
        for (sum, h) in sum.iter_mut().zip(self.h) {
            *sum = sum.add_64(h);
        }
        sum
    }

    /// Numbers of two words in limbs, with `pad` above.
    #[inline(always)]
    fn limbs([low, high]: [F::Vector; 2], pad: F::Vector) -> [F::Vector; LIMBS] {
        let mask = low_bits(low.isa(), F::BITS);
        let mut limbs = [pad; LIMBS];
        for (index, limb) in limbs.iter_mut().enumerate() {
            let bit = F::BITS * index as i32;
            let bits = match bit {
                0 => low,
                _ if bit + F::BITS <= 64 => low.shift_right_64(bit),
                1..64 => low.funnel_right_64(high, bit),
                _ => high.shift_right_64(bit - 64),
            };
            *limb = match index + 1 == LIMBS {
                true => bits.or(pad),
                false => bits.and(mask),
            };
        }
        limbs
    }

    #[inline(always)]
    fn multiplier(y: [F::Vector; LIMBS]) -> Multiplier<F::Vector, LIMBS> {
        // 5·2ᵏ, where limbs have k bits more than the modulus.
        let more = F::BITS * LIMBS as i32 - 130;
        let mut folded = y;
        for folded in &mut folded {
            *folded = match more {
                0 => five_times(*folded),
                _ => folded
                    .shift_left_64(more)
                    .add_64(folded.shift_left_64(more + 2)),
            };
        }
        Multiplier { y, folded }
    }

    /// x·y and what there is already.
    #[inline(always)]
    fn add_products(
        mut sums: [F::Sum; LIMBS],
        x: &[F::Vector; LIMBS],
        y: &Multiplier<F::Vector, LIMBS>,
    ) -> [F::Sum; LIMBS] {
        for (j, x) in x.iter().enumerate() {
            for (i, sum) in sums.iter_mut().enumerate() {
                let y = if j <= i {
                    y.y[i - j]
                } else {
                    y.folded[LIMBS + i - j]
                };
                *sum = F::add_product(*sum, *x, y);
            }
        }
        sums
    }

    /// The tags.
    #[inline(always)]
    pub(super) fn tags(&self) -> [Block; MOST_MESSAGES] {
        let isa = self.isa();
        // What the last limb passes on may go around once more, and then leaves little in it.
        let h = carry_in_turn::<F, LIMBS>(carry_in_turn::<F, LIMBS>(self.h));
        // h - p, where that is not negative.
        let mut g = h;
        g[0] = g[0].add_64(isa.all_64(5));
        for limb in 1..LIMBS {
            g[limb] = g[limb].add_64(g[limb - 1].shift_right_64(F::BITS));
            g[limb - 1] = g[limb - 1].and(low_bits(isa, F::BITS));
        }
        let beyond = g[LIMBS - 1].greater_64(low_bits(isa, top_bits(F::BITS, LIMBS)));
        // Two words, of which the second drops what is above 2¹²⁸.
        let [mut low, mut high] = [isa.zero(); 2];
        for (index, (g, h)) in g.iter().zip(h).enumerate() {
            let (limb, bit) = (beyond.choose(*g, h), F::BITS * index as i32);
            match bit {
                64.. => high = high.or(limb.shift_left_64(bit - 64)),
                _ => {
                    low = low.or(limb.shift_left_64(bit));
                    if bit + F::BITS > 64 {
                        high = high.or(limb.shift_right_64(64 - bit));
                    }
                }
            }
        }
        let [s_low, s_high] = self.s;
        let low = low.add_64(s_low);
        // As signed numbers, to which comparisons are limited.
        let sign = isa.all_64(1 << 63);
        let carried = s_low.xor(sign).greater_64(low.xor(sign));
        let high = high.add_64(s_high).add_64(carried.and(isa.all_64(1)));
        let mut rows = [[[0; 16]; 4]; 2];
        low.unpack_low_64(high).store(&mut rows[0]);
        low.unpack_high_64(high).store(&mut rows[1]);
        std::array::from_fn(|lane| rows[lane % 2][lane / 2])
    }
}

/// The same number, each limb with what the one below passes on before it passes on something
/// itself.
#[inline(always)]
fn carry_in_turn<F: Field<LIMBS>, const LIMBS: usize>(
    mut h: [F::Vector; LIMBS],
) -> [F::Vector; LIMBS] {
    let isa = h[0].isa();
    for limb in 1..LIMBS {
        h[limb] = h[limb].add_64(h[limb - 1].shift_right_64(F::BITS));
        h[limb - 1] = h[limb - 1].and(low_bits(isa, F::BITS));
    }
    let top_bits = top_bits(F::BITS, LIMBS);
    let around = h[LIMBS - 1].shift_right_64(top_bits);
    h[0] = h[0].add_64(five_times(around));
    h[LIMBS - 1] = h[LIMBS - 1].and(low_bits(isa, top_bits));
    h
}

/// Poly1305 of eight messages, padded to whole blocks.
#[cfg(test)]
#[inline(always)]
pub(super) fn of_messages<F: Field<LIMBS>, const LIMBS: usize>(
    isa: F::Isa,
    keys: &[[u8; 32]; 8],
    messages: &[Vec<u8>; 8],
) -> [Block; 8] {
    let mut tags = [[0; 16]; 8];
    let together = 2 * F::Vector::QUADS;
    for first in (0..8).step_by(together) {
        let mut words = [isa.zero(); 4];
        for (at, word) in words.iter_mut().enumerate() {
            let mut lanes = [0; MOST_MESSAGES];
            for (lane, key) in lanes.iter_mut().zip(&keys[first..]) {
                *lane = u64::from_le_bytes(key.as_chunks().0[at]);
            }
            *word = isa.load(&lanes);
        }
        let mut hashes = [Hashes::<F, LIMBS>::new(words)];
        let mut parts = Parts::default();
        for (lane, message) in messages[first..][..together].iter().enumerate() {
            (parts.at[lane], parts.bytes[lane]) = (message.as_ptr(), message.len());
            parts.most = parts.most.max(message.len());
        }
        parts.least = parts.bytes[..together].iter().copied().min().unwrap_or(0);
        // SAFETY: these are the messages' bytes.
        unsafe { absorb(&mut hashes, &[parts]) };
        tags[first..][..together].copy_from_slice(&hashes[0].tags()[..together]);
    }
    tags
}
