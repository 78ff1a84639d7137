//! Poly1305 (RFC 8439 section 2.5) of eight messages side by side, two blocks a step.
//!
//! Numbers are in limbs of 44, 44 and 42 bits, a message in each lane of 64 bits:
//!
//! ```text
//! x = x₀ + 2⁴⁴·x₁ + 2⁸⁸·x₂          2¹³² ≡ 20 modulo 2¹³⁰ - 5
//! (x·y)₀ = x₀y₀ + 20·(x₁y₂ + x₂y₁)
//! (x·y)₁ = x₀y₁ + x₁y₀ + 20·x₂y₂
//! (x·y)₂ = x₀y₂ + x₁y₁ + x₂y₀
//! ```
//!
//! A multiplier holds 20·y₁ and 20·y₂ too. The instructions return the low 52 bits of a
//! product or those above, which weigh 2⁵² = 2⁸·2⁴⁴: they go to the next limb, eight bits
//! up. Limbs are below 2⁴⁶ and those of multipliers below 2⁴⁹, so that six low halves are
//! below 2⁵⁵, six high ones below 2⁴⁶, and 20·2⁸ times that below 2⁵⁹.

use std::arch::x86_64::*;

use super::super::parts;
use super::transpose;
use crate::cipher::Block;

/// Messages side by side.
pub(super) const MESSAGES: usize = 8;

/// Bytes of a message that are loaded at once: four blocks.
const CHUNK_BYTES: usize = 64;

/// Bytes of a block.
const BLOCK_BYTES: usize = 16;

const LOW_44: i64 = (1 << 44) - 1;
const LOW_42: i64 = (1 << 42) - 1;

/// The bit behind a block of 16 bytes, in its last limb.
const PAD: i64 = 1 << 40;

/// Numbers in limbs.
type Limbs = [__m512i; 3];

/// One-time keys as ChaCha20 makes them: four words of 64 bits.
pub(super) type OneTimeKeys = [__m512i; 4];

/// The messages' hashes as far as they have come.
pub(super) struct Hashes {
    h: Limbs,
    r: Multiplier,
    r_squared: Multiplier,
    /// s, as two words.
    s: [__m512i; 2],
}

/// y₀, y₁, y₂, 20·y₁ and 20·y₂.
#[derive(Clone, Copy)]
struct Multiplier {
    y: Limbs,
    y_20: [__m512i; 2],
}

/// A part of each message.
pub(super) type Parts = parts::Parts<MESSAGES>;

/// How many bytes each part has from `offset` on.
#[inline]
#[target_feature(enable = "avx512f")]
fn bytes_left(parts: &Parts, offset: usize) -> __m512i {
    let left = parts.bytes.map(|bytes| bytes.saturating_sub(offset));
    // SAFETY: 64 bytes are readable.
    unsafe { _mm512_loadu_si512(left.as_ptr().cast()) }
}

/// The words of the chunk at `offset` of each message.
///
/// # Safety
/// The parts have it.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn words(parts: &Parts, offset: usize) -> [__m512i; 8] {
    // SAFETY: the caller's.
    let load = |at: *const u8| unsafe { _mm512_loadu_si512(at.wrapping_add(offset).cast()) };
    transpose::eight(parts.at.map(load))
}

/// Hashes a part of each message. Two hashes are interleaved, two blocks at a time, so that the
/// steps of one run while the other's wait.
///
/// # Safety
/// The bytes of the parts are readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512ifma,bmi2")]
pub(super) unsafe fn absorb(hashes: &mut [Hashes], parts: &[Parts]) {
    let (mut least, mut most) = (usize::MAX, 0);
    for bytes in parts.iter().flat_map(|parts| &parts.bytes) {
        (least, most) = (least.min(*bytes), most.max(*bytes));
    }
    let mut offset = 0;
    if let ([low, high], [low_parts, high_parts]) = (&mut *hashes, parts) {
        while offset + CHUNK_BYTES <= least {
            // SAFETY: as much is left of each.
            unsafe {
                let [a, b, c, d, low_rest @ ..] = words(low_parts, offset);
                low.two_blocks([a, b], [c, d]);
                let [a, b, c, d, high_rest @ ..] = words(high_parts, offset);
                high.two_blocks([a, b], [c, d]);
                let [a, b, c, d] = low_rest;
                low.two_blocks([a, b], [c, d]);
                let [a, b, c, d] = high_rest;
                high.two_blocks([a, b], [c, d]);
            }
            offset += CHUNK_BYTES;
        }
    }
    while offset + BLOCK_BYTES < most {
        for (hashes, parts) in hashes.iter_mut().zip(parts) {
            // SAFETY: the caller's.
            unsafe { hashes.up_to_a_chunk(parts, offset, most) };
        }
        offset += CHUNK_BYTES;
    }
    if offset < most {
        for (hashes, parts) in hashes.iter_mut().zip(parts) {
            // SAFETY: the caller's.
            unsafe { hashes.up_to_a_block(parts, offset) };
        }
    }
}

impl Hashes {
    /// Of nothing.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2,avx512ifma")]
    pub(super) fn new([r_low, r_high, s_low, s_high]: OneTimeKeys) -> Hashes {
        let r_low = _mm512_and_si512(r_low, _mm512_set1_epi64(0x0fff_fffc_0fff_ffff));
        let r_high = _mm512_and_si512(r_high, _mm512_set1_epi64(0x0fff_fffc_0fff_fffc));
        let r = Multiplier::new(limbs(r_low, r_high));
        let squared = Products::new().add(&r.y, &r).reduce();
        Hashes {
            h: [_mm512_setzero_si512(); 3],
            r,
            r_squared: Multiplier::new(squared),
            s: [s_low, s_high],
        }
    }

    /// Hashes the chunk at `offset` of each message, or what there is of it; the longest has
    /// `most` bytes.
    ///
    /// # Safety
    /// The bytes of the parts are readable.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512ifma,bmi2")]
    unsafe fn up_to_a_chunk(&mut self, parts: &Parts, offset: usize, most: usize) {
        let mut rows = [_mm512_setzero_si512(); MESSAGES];
        for (row, (at, bytes)) in rows.iter_mut().zip(parts.at.iter().zip(parts.bytes)) {
            let left = bytes.saturating_sub(offset).min(CHUNK_BYTES);
            let mask = _bzhi_u64(u64::MAX, left as u32);
            // SAFETY: the caller's; the mask covers what is left.
            *row = unsafe { _mm512_maskz_loadu_epi8(mask, at.wrapping_add(offset).cast()) };
        }
        let [a, b, c, d, e, f, g, h] = transpose::eight(rows);
        let left = bytes_left(parts, offset);
        self.up_to_two_blocks([a, b], [c, d], left);
        let half = offset + CHUNK_BYTES / 2;
        if half < most {
            self.up_to_two_blocks([e, f], [g, h], bytes_left(parts, half));
        }
    }

    /// Hashes the block at `offset` of each message, or what there is of it.
    ///
    /// # Safety
    /// The bytes of the parts are readable.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512ifma,bmi2")]
    unsafe fn up_to_a_block(&mut self, parts: &Parts, offset: usize) {
        let load = |lane: usize| {
            let left = parts.bytes[lane].saturating_sub(offset).min(BLOCK_BYTES);
            let mask = _bzhi_u32(u32::MAX, left as u32);
            // SAFETY: the caller's; the mask covers what is left.
            unsafe { _mm_maskz_loadu_epi8(mask as u16, parts.at[lane].wrapping_add(offset).cast()) }
        };
        let four = |lane: usize| {
            let low = _mm256_set_m128i(load(lane + 2), load(lane));
            let high = _mm256_set_m128i(load(lane + 6), load(lane + 4));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        };
        let (even, odd) = (four(0), four(1));
        let block = [
            _mm512_unpacklo_epi64(even, odd),
            _mm512_unpackhi_epi64(even, odd),
        ];
        let left = bytes_left(parts, offset);
        self.one_block(block, _mm512_test_epi64_mask(left, left));
    }

    /// Hashes a block of each message, of two words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2,avx512ifma")]
    pub(super) fn block(&mut self, words: [[u64; MESSAGES]; 2]) {
        // SAFETY: 64 bytes are readable.
        let load = |word: [u64; MESSAGES]| unsafe { _mm512_loadu_si512(word.as_ptr().cast()) };
        self.one_block(words.map(load), u8::MAX);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2,avx512ifma")]
    fn one_block(&mut self, block: [__m512i; 2], lanes: __mmask8) {
        let sum = self.plus(block, _mm512_set1_epi64(PAD));
        let h = Products::new().add(&sum, &self.r).reduce();
        for (old, new) in self.h.iter_mut().zip(h) {
            *old = _mm512_mask_mov_epi64(*old, lanes, new);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2,avx512ifma")]
    fn two_blocks(&mut self, first: [__m512i; 2], second: [__m512i; 2]) {
        let pad = _mm512_set1_epi64(PAD);
        let mut second = limbs(second[0], second[1]);
        second[2] = _mm512_or_si512(second[2], pad);
        let products = Products::new().add(&second, &self.r);
        let sum = self.plus(first, pad);
        self.h = products.add(&sum, &self.r_squared).reduce();
    }

    /// Hashes two blocks, one or none of each message, as `bytes` are left of it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2,avx512ifma")]
    fn up_to_two_blocks(&mut self, first: [__m512i; 2], second: [__m512i; 2], bytes: __m512i) {
        let has_one = _mm512_test_epi64_mask(bytes, bytes);
        let has_two = _mm512_cmpgt_epu64_mask(bytes, _mm512_set1_epi64(BLOCK_BYTES as i64));
        let mut second = limbs(second[0], second[1]);
        second[2] = _mm512_or_si512(second[2], _mm512_maskz_set1_epi64(has_two, PAD));
        let products = Products::new().add(&second, &self.r);
        let sum = self.plus(first, _mm512_maskz_set1_epi64(has_one, PAD));
        let multiplier = self.r.or(has_two, &self.r_squared);
        let h = products.add(&sum, &multiplier).reduce();
        for (old, new) in self.h.iter_mut().zip(h) {
            *old = _mm512_mask_mov_epi64(*old, has_one, new);
        }
    }

    /// The hashes plus a block each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    fn plus(&self, block: [__m512i; 2], pad: __m512i) -> Limbs {
        let m = limbs(block[0], block[1]);
        [
            _mm512_add_epi64(self.h[0], m[0]),
            _mm512_add_epi64(self.h[1], m[1]),
            _mm512_add_epi64(self.h[2], _mm512_or_si512(m[2], pad)),
        ]
    }

    /// The tags.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn tags(&self) -> [Block; MESSAGES] {
        // What the last limb passes on may go around once more, and then leaves little in it.
        let [h0, h1, h2] = carry_in_turn(carry_in_turn(self.h));
        // h - p, where that is not negative.
        let g0 = _mm512_add_epi64(h0, _mm512_set1_epi64(5));
        let g1 = _mm512_add_epi64(h1, _mm512_srli_epi64::<44>(g0));
        let g2 = _mm512_add_epi64(h2, _mm512_srli_epi64::<44>(g1));
        let beyond = _mm512_cmpgt_epu64_mask(g2, _mm512_set1_epi64(LOW_42));
        let low_44 = _mm512_set1_epi64(LOW_44);
        let h0 = _mm512_mask_and_epi64(h0, beyond, g0, low_44);
        let h1 = _mm512_mask_and_epi64(h1, beyond, g1, low_44);
        let h2 = _mm512_mask_mov_epi64(h2, beyond, g2);
        // Two words, of which the second drops what is above 2¹²⁸.
        let low = _mm512_or_si512(h0, _mm512_slli_epi64::<44>(h1));
        let high = _mm512_or_si512(_mm512_srli_epi64::<20>(h1), _mm512_slli_epi64::<24>(h2));
        let low = _mm512_add_epi64(low, self.s[0]);
        let carried = _mm512_cmplt_epu64_mask(low, self.s[0]);
        let high = _mm512_add_epi64(high, self.s[1]);
        let high = _mm512_mask_add_epi64(high, carried, high, _mm512_set1_epi64(1));
        let pairs = [
            _mm512_unpacklo_epi64(low, high),
            _mm512_unpackhi_epi64(low, high),
        ];
        let mut rows = [[[0; 16]; 4]; 2];
        for (row, pair) in rows.iter_mut().zip(pairs) {
            // SAFETY: 64 bytes are writable.
            unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), pair) };
        }
        std::array::from_fn(|lane| rows[lane % 2][lane / 2])
    }
}

impl Multiplier {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(y: Limbs) -> Multiplier {
        Multiplier {
            y,
            y_20: [times_20(y[1]), times_20(y[2])],
        }
    }

    /// The other in some lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn or(&self, lanes: __mmask8, other: &Multiplier) -> Multiplier {
        let mut mixed = *self;
        for i in 0..3 {
            mixed.y[i] = _mm512_mask_mov_epi64(mixed.y[i], lanes, other.y[i]);
        }
        for i in 0..2 {
            mixed.y_20[i] = _mm512_mask_mov_epi64(mixed.y_20[i], lanes, other.y_20[i]);
        }
        mixed
    }
}

/// Sums of low and of high halves of products, for each limb.
struct Products {
    low: Limbs,
    high: Limbs,
}

impl Products {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Products {
        Products {
            low: [_mm512_setzero_si512(); 3],
            high: [_mm512_setzero_si512(); 3],
        }
    }

    /// Adds x·y.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add(mut self, x: &Limbs, Multiplier { y, y_20 }: &Multiplier) -> Products {
        let columns = [
            [y[0], y[1], y[2]],
            [y_20[1], y[0], y[1]],
            [y_20[0], y_20[1], y[0]],
        ];
        for (x, column) in x.iter().zip(columns) {
            for (limb, y) in column.into_iter().enumerate() {
                self.low[limb] = _mm512_madd52lo_epu64(self.low[limb], *x, y);
                self.high[limb] = _mm512_madd52hi_epu64(self.high[limb], *x, y);
            }
        }
        self
    }

    /// The sum in limbs that may be a bit too long.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn reduce(self) -> Limbs {
        let (up, around) = (_mm512_set1_epi64(1 << 8), _mm512_set1_epi64(20 << 8));
        carry([
            _mm512_madd52lo_epu64(self.low[0], self.high[2], around),
            _mm512_madd52lo_epu64(self.low[1], self.high[0], up),
            _mm512_madd52lo_epu64(self.low[2], self.high[1], up),
        ])
    }
}

/// The same number with limbs that are longer than their length by what the one below
/// passes on, and no more. No limb waits for another.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carry([a, b, c]: Limbs) -> Limbs {
    let low_44 = _mm512_set1_epi64(LOW_44);
    let to_b = _mm512_srli_epi64::<44>(a);
    let to_c = _mm512_srli_epi64::<44>(b);
    let to_a = _mm512_srli_epi64::<42>(c);
    let c = _mm512_and_si512(c, _mm512_set1_epi64(LOW_42));
    [
        _mm512_madd52lo_epu64(_mm512_and_si512(a, low_44), to_a, _mm512_set1_epi64(5)),
        _mm512_add_epi64(_mm512_and_si512(b, low_44), to_b),
        _mm512_add_epi64(c, to_c),
    ]
}

/// The same number, each limb with what the one below passes on before it passes on
/// something itself.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carry_in_turn([a, b, c]: Limbs) -> Limbs {
    let low_44 = _mm512_set1_epi64(LOW_44);
    let b = _mm512_add_epi64(b, _mm512_srli_epi64::<44>(a));
    let c = _mm512_add_epi64(c, _mm512_srli_epi64::<44>(b));
    let a = _mm512_and_si512(a, low_44);
    [
        _mm512_madd52lo_epu64(a, _mm512_srli_epi64::<42>(c), _mm512_set1_epi64(5)),
        _mm512_and_si512(b, low_44),
        _mm512_and_si512(c, _mm512_set1_epi64(LOW_42)),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn times_20(x: __m512i) -> __m512i {
    _mm512_add_epi64(_mm512_slli_epi64::<4>(x), _mm512_slli_epi64::<2>(x))
}

/// Numbers of two words in limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2")]
fn limbs(low: __m512i, high: __m512i) -> Limbs {
    let low_44 = _mm512_set1_epi64(LOW_44);
    [
        _mm512_and_si512(low, low_44),
        _mm512_and_si512(_mm512_shrdi_epi64::<44>(low, high), low_44),
        _mm512_srli_epi64::<24>(high),
    ]
}
