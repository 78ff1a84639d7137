//! Poly1305 (RFC 8439 section 2.5) of four messages side by side, two blocks a step.
//!
//! Numbers are in five limbs of 26 bits, a message in each lane of 64 bits:
//!
//! ```text
//! x = Σ 2²⁶ⁱ·xᵢ          2¹³⁰ ≡ 5 modulo 2¹³⁰ - 5
//! (x·y)ᵢ = Σ xⱼ·yᵢ₋ⱼ for j ≤ i, and 5·Σ xⱼ·y₅₊ᵢ₋ⱼ for j > i
//! ```
//!
//! A multiplier holds 5·y too. Limbs of x are below 2²⁸ and those of a multiplier below
//! 2³⁰, so that the ten products of a limb are below 2⁶².

use std::arch::x86_64::*;

use super::super::parts;
use super::transpose;
use crate::cipher::Block;

/// Messages side by side.
pub(super) const MESSAGES: usize = 4;

/// Bytes of a block.
const BLOCK_BYTES: usize = 16;

/// Bytes of a step: two blocks.
const STEP_BYTES: usize = 2 * BLOCK_BYTES;

const LOW_26: i64 = (1 << 26) - 1;

/// The bit behind a block of 16 bytes, in its last limb.
const PAD: i64 = 1 << 24;

/// Numbers in limbs.
type Limbs = [__m256i; 5];

/// The messages' hashes as far as they have come.
pub(super) struct Hashes {
    h: Limbs,
    r: Multiplier,
    r_squared: Multiplier,
    /// s of each, as two words.
    s: [[u64; MESSAGES]; 2],
}

/// y and 5·y.
#[derive(Clone, Copy)]
struct Multiplier {
    y: Limbs,
    y_5: Limbs,
}

/// A part of each message.
pub(super) type Parts = parts::Parts<MESSAGES>;

impl Hashes {
    /// Of nothing, under one-time keys as ChaCha20 makes them: four words of 64 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new([r_low, r_high, s_low, s_high]: [__m256i; 4]) -> Hashes {
        let r_low = _mm256_and_si256(r_low, _mm256_set1_epi64x(0x0fff_fffc_0fff_ffff));
        let r_high = _mm256_and_si256(r_high, _mm256_set1_epi64x(0x0fff_fffc_0fff_fffc));
        let zero = _mm256_setzero_si256();
        let r = Multiplier::new(limbs([r_low, r_high], zero));
        let squared = carry(multiply_add(&r.y, &r, [zero; 5]));
        let mut s = [[0; MESSAGES]; 2];
        for (words, vector) in s.iter_mut().zip([s_low, s_high]) {
            store(words, vector);
        }
        Hashes {
            h: [zero; 5],
            r,
            r_squared: Multiplier::new(squared),
            s,
        }
    }

    /// Hashes a part of each message.
    ///
    /// # Safety
    /// The bytes of the parts are readable.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn absorb(&mut self, parts: &Parts) {
        let (mut least, mut most) = (usize::MAX, 0);
        for bytes in parts.bytes {
            (least, most) = (least.min(bytes), most.max(bytes));
        }
        let mut offset = 0;
        while offset + STEP_BYTES <= least {
            let rows = parts.at.map(|at| {
                // SAFETY: as much is left of each.
                unsafe { _mm256_loadu_si256(at.wrapping_add(offset).cast()) }
            });
            self.two_blocks(transpose::double_words(rows));
            offset += STEP_BYTES;
        }
        while offset < most {
            let left = parts.bytes.map(|bytes| bytes.saturating_sub(offset));
            let mut rows = [_mm256_setzero_si256(); MESSAGES];
            for (row, (at, left)) in rows.iter_mut().zip(parts.at.iter().zip(left)) {
                let mut bytes = [0u8; STEP_BYTES];
                // SAFETY: `left` bytes are readable, and a step fits.
                *row = unsafe {
                    let from = at.wrapping_add(offset);
                    std::ptr::copy(from, bytes.as_mut_ptr(), left.min(STEP_BYTES));
                    _mm256_loadu_si256(bytes.as_ptr().cast())
                };
            }
            self.up_to_two_blocks(transpose::double_words(rows), left);
            offset += STEP_BYTES;
        }
    }

    /// Hashes a block of each message, of two words.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn block(&mut self, words: [[u64; MESSAGES]; 2]) {
        let sum = self.plus(words.map(|word| load(&word)), _mm256_set1_epi64x(PAD));
        self.h = carry(multiply_add(&sum, &self.r, [_mm256_setzero_si256(); 5]));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn two_blocks(&mut self, [a, b, c, d]: [__m256i; 4]) {
        let pad = _mm256_set1_epi64x(PAD);
        let zero = _mm256_setzero_si256();
        let products = multiply_add(&limbs([c, d], pad), &self.r, [zero; 5]);
        let sum = self.plus([a, b], pad);
        self.h = carry(multiply_add(&sum, &self.r_squared, products));
    }

    /// Hashes two blocks, one or none of each message, as bytes are left of it.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn up_to_two_blocks(&mut self, [a, b, c, d]: [__m256i; 4], left: [usize; MESSAGES]) {
        let lanes = |bytes| load(&left.map(|left| if left > bytes { u64::MAX } else { 0 }));
        let (has_one, has_two) = (lanes(0), lanes(BLOCK_BYTES));
        let pad = _mm256_set1_epi64x(PAD);
        let zero = _mm256_setzero_si256();
        let second = limbs([c, d], _mm256_and_si256(pad, has_two));
        let products = multiply_add(&second, &self.r, [zero; 5]);
        let sum = self.plus([a, b], _mm256_and_si256(pad, has_one));
        let multiplier = self.r.or(has_two, &self.r_squared);
        let h = carry(multiply_add(&sum, &multiplier, products));
        self.h = blend(&self.h, &h, has_one);
    }

    /// The hashes plus a block each.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn plus(&self, block: [__m256i; 2], pad: __m256i) -> Limbs {
        let m = limbs(block, pad);
        std::array::from_fn(|limb| _mm256_add_epi64(self.h[limb], m[limb]))
    }

    /// The tags.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn tags(&self) -> [Block; MESSAGES] {
        let mut h = [[0; MESSAGES]; 5];
        for (limbs, vector) in h.iter_mut().zip(self.h) {
            store(limbs, vector);
        }
        std::array::from_fn(|lane| {
            let limbs = h.map(|limbs| limbs[lane]);
            let [s_low, s_high] = self.s.map(|words| words[lane]);
            let s = u128::from(s_high) << 64 | u128::from(s_low);
            low_128(limbs).wrapping_add(s).to_le_bytes()
        })
    }
}

/// The low 128 bits of a number modulo 2¹³⁰ - 5.
#[inline]
fn low_128(mut h: [u64; 5]) -> u128 {
    const LOW_26: u64 = self::LOW_26 as u64;
    // What the last limb passes on may go around once more, and then leaves little in it.
    for _ in 0..2 {
        for limb in 0..4 {
            h[limb + 1] += h[limb] >> 26;
            h[limb] &= LOW_26;
        }
        h[0] += 5 * (h[4] >> 26);
        h[4] &= LOW_26;
    }
    // h - p, where that is not negative.
    let mut g = h;
    g[0] += 5;
    for limb in 0..4 {
        g[limb + 1] += g[limb] >> 26;
        g[limb] &= LOW_26;
    }
    let beyond = (g[4] >> 26).wrapping_neg();
    let bits =
        (0..5).map(|limb| u128::from((h[limb] & !beyond) | (g[limb] & beyond)) << (26 * limb));
    bits.fold(0, |sum, bits| sum | bits)
}

impl Multiplier {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(y: Limbs) -> Multiplier {
        Multiplier {
            y,
            y_5: y.map(|y| _mm256_add_epi64(y, _mm256_slli_epi64::<2>(y))),
        }
    }

    /// The other in some lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn or(&self, lanes: __m256i, other: &Multiplier) -> Multiplier {
        Multiplier {
            y: blend(&self.y, &other.y, lanes),
            y_5: blend(&self.y_5, &other.y_5, lanes),
        }
    }
}

/// x·y + z, not carried.
#[inline]
#[target_feature(enable = "avx2")]
fn multiply_add(x: &Limbs, y: &Multiplier, mut z: Limbs) -> Limbs {
    for (j, x) in x.iter().enumerate() {
        for (i, z) in z.iter_mut().enumerate() {
            let y = if j <= i { y.y[i - j] } else { y.y_5[5 + i - j] };
            *z = _mm256_add_epi64(*z, _mm256_mul_epu32(*x, y));
        }
    }
    z
}

/// The same number in limbs below 2²⁷.
///
/// ```text
/// 0 → 1, 3 → 4;  1 → 2, 4 → 0 (times 5);  2 → 3, 0 → 1;  3 → 4
/// ```
#[inline]
#[target_feature(enable = "avx2")]
fn carry([mut a, mut b, mut c, mut d, mut e]: Limbs) -> Limbs {
    let low = _mm256_set1_epi64x(LOW_26);
    let add_high = |to, from| _mm256_add_epi64(to, _mm256_srli_epi64::<26>(from));
    b = add_high(b, a);
    a = _mm256_and_si256(a, low);
    e = add_high(e, d);
    d = _mm256_and_si256(d, low);
    c = add_high(c, b);
    b = _mm256_and_si256(b, low);
    let around = _mm256_srli_epi64::<26>(e);
    let around = _mm256_add_epi64(around, _mm256_slli_epi64::<2>(around));
    a = _mm256_add_epi64(a, around);
    e = _mm256_and_si256(e, low);
    d = add_high(d, c);
    c = _mm256_and_si256(c, low);
    b = add_high(b, a);
    a = _mm256_and_si256(a, low);
    e = add_high(e, d);
    d = _mm256_and_si256(d, low);
    [a, b, c, d, e]
}

/// Numbers of two words in limbs, with `pad` above.
#[inline]
#[target_feature(enable = "avx2")]
fn limbs([low, high]: [__m256i; 2], pad: __m256i) -> Limbs {
    let mask = |x| _mm256_and_si256(x, _mm256_set1_epi64x(LOW_26));
    let middle = _mm256_or_si256(_mm256_srli_epi64::<52>(low), _mm256_slli_epi64::<12>(high));
    [
        mask(low),
        mask(_mm256_srli_epi64::<26>(low)),
        mask(middle),
        mask(_mm256_srli_epi64::<14>(high)),
        _mm256_or_si256(_mm256_srli_epi64::<40>(high), pad),
    ]
}

/// The others in some lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn blend(x: &Limbs, other: &Limbs, lanes: __m256i) -> Limbs {
    std::array::from_fn(|limb| _mm256_blendv_epi8(x[limb], other[limb], lanes))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[u64; MESSAGES]) -> __m256i {
    // SAFETY: 32 bytes are readable.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(words: &mut [u64; MESSAGES], vector: __m256i) {
    // SAFETY: 32 bytes are writable.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
}
