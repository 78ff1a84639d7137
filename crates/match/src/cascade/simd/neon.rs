//! NEON: 16 bytes of a text per vector. A look-up of 64 bytes is one instruction.

use std::arch::aarch64::*;

use weir_simd::Lanes;

use super::super::buckets::{Buckets, GROUP};
use super::super::candidates::{Candidates, Progress, Survivors, Verify};
use super::super::classes::{CLASSES, Set, WINDOW_BYTES};
use super::super::filter::{BLOCK_BYTES, Filter, Passed};
use super::super::gram::{FOLD, MULTIPLIER};
use super::super::report::Report;
use super::super::single::{ByteSet, find_in_set_scalar};
use super::blocks;
use super::words::Words;
use crate::Haystack;

const VECTOR_BYTES: usize = 16;
const VECTORS: usize = BLOCK_BYTES / VECTOR_BYTES;

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8], start: usize) -> uint8x16_t {
    let bytes = &bytes[start..start + VECTOR_BYTES];
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_u32(lanes: [u32; 4]) -> uint32x4_t {
    // SAFETY: four words are readable.
    unsafe { vld1q_u32(lanes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_64(table: &Lanes<u8, 64>) -> uint8x16x4_t {
    // SAFETY: 64 bytes are readable.
    unsafe { vld1q_u8_x4(table.as_ptr()) }
}

/// Bit j: whether byte j of 64 is all ones; it is that or zero.
#[inline]
#[target_feature(enable = "neon")]
fn mask_of(bytes: [uint8x16_t; VECTORS]) -> u64 {
    let bits = vreinterpretq_u8_u64(vdupq_n_u64(u64::from_le_bytes([
        1, 2, 4, 8, 16, 32, 64, 128,
    ])));
    let [a, b, c, d] = bytes.map(|bytes| vandq_u8(bytes, bits));
    let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    let sums = vpaddq_u8(sums, sums);
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(sums))
}

/// [`Filter::look_scalar`] for four-byte grams.
#[target_feature(enable = "neon")]
pub(super) fn look_four(filter: &Filter, text: &[u8], from: usize, passed: &mut Passed) {
    let words = Words::new(&filter.words, filter.shift);
    blocks::look_four(
        text,
        from,
        passed,
        |around| equal_pairs(around),
        |around| in_vectors(|start| passing(words, &around[start..])),
    );
}

/// [`Filter::look_scalar`] for two-byte grams.
#[target_feature(enable = "neon")]
pub(super) fn look_two(
    filter: &Filter,
    text: &[u8],
    from: usize,
    carried: usize,
    passed: &mut Passed,
) {
    let words = Words::new(&filter.words, filter.shift);
    blocks::look_two(
        text,
        from,
        carried,
        passed,
        |around| equal_bytes(around),
        |around| in_vectors(|start| passing_pairs(words, &around[start..])),
    );
}

/// [`Classes::look_scalar`](super::super::classes::Classes::look_scalar) with `EIGHTS` times eight
/// sets.
#[target_feature(enable = "neon")]
pub(super) fn look_classes<const EIGHTS: usize>(
    sets: &[Set; EIGHTS],
    text: &[u8],
    from: usize,
    notes_runs: bool,
    passed: &mut Passed,
) {
    blocks::look_classes(
        text,
        from,
        notes_runs,
        passed,
        |around| equal_pairs(around),
        |windows| fitting(sets, windows),
    );
}

/// Bits of 16 places each, side by side.
#[inline(always)]
fn in_vectors(bits: impl Fn(usize) -> u32) -> u64 {
    (0..VECTORS).fold(0, |all, index| {
        let start = index * VECTOR_BYTES;
        all | u64::from(bits(start)) << start
    })
}

/// Bit j: byte j behind the first equals the one before it.
#[inline]
#[target_feature(enable = "neon")]
fn equal_bytes(around: &[u8]) -> u64 {
    mask_of(std::array::from_fn(|index| {
        let at = index * VECTOR_BYTES;
        vceqq_u8(load(around, at), load(around, at + 1))
    }))
}

/// Bit j: byte j behind the first equals the one before it, when folded.
#[inline]
#[target_feature(enable = "neon")]
fn equal_pairs(around: &[u8]) -> u64 {
    let fold = vdupq_n_u8(FOLD);
    mask_of(std::array::from_fn(|index| {
        let at = index * VECTOR_BYTES;
        let folded = |at| vorrq_u8(load(around, at), fold);
        vceqq_u8(folded(at), folded(at + 1))
    }))
}

/// Which even places among 16 pass, of a text whose first byte is the one before them.
#[inline]
#[target_feature(enable = "neon")]
fn passing(words: Words<'_>, around: &[u8]) -> u32 {
    // Lane k: place 4k, then place 4k + 2; `bits` are theirs among 16.
    let lanes = |place: usize, bits: [u32; 4]| {
        let low_bits = vdupq_n_u32(15);
        let word = |start: usize| vreinterpretq_u32_u8(load(around, start));
        let grams = vorrq_u32(word(place + 1), vdupq_n_u32(u32::from_le_bytes([FOLD; 4])));
        let before = vandq_u32(word(place), low_bits);
        let behind = vandq_u32(word(place + 5), low_bits);
        let chosen = vorrq_u32(
            shifted(vdupq_n_u32(1), before),
            shifted(vdupq_n_u32(1 << 16), behind),
        );
        let words = words.of_4(vmulq_n_u32(grams, MULTIPLIER));
        let is_set = vceqq_u32(vandq_u32(words, chosen), chosen);
        vandq_u32(is_set, load_u32(bits))
    };
    vaddvq_u32(vorrq_u32(
        lanes(0, [1, 1 << 4, 1 << 8, 1 << 12]),
        lanes(2, [1 << 2, 1 << 6, 1 << 10, 1 << 14]),
    ))
}

/// Which of 16 places pass, of a text whose first byte is the one before them: those at even places
/// by the byte before the gram at the next place, those at odd ones by the byte behind their own.
#[inline]
#[target_feature(enable = "neon")]
fn passing_pairs(words: Words<'_>, around: &[u8]) -> u32 {
    let pairs = |start: usize| vreinterpretq_u16_u8(load(around, start));
    let low_bits = vdupq_n_u16(15);
    let before = vandq_u16(pairs(1), low_bits);
    let grams = pairs(2);
    let behind = vandq_u16(vshrq_n_u16::<8>(pairs(3)), low_bits);
    // Lane k: the gram at the odd place 2k + 1 of eight places; `even` are the bits of their even
    // ones.
    let lanes = |before: uint16x4_t, grams: uint16x4_t, behind: uint16x4_t, even: [u32; 4]| {
        let words = words.of_4(vmulq_n_u32(vmovl_u16(grams), MULTIPLIER));
        let set =
            |bit: u32, by: uint16x4_t| vtstq_u32(words, shifted(vdupq_n_u32(bit), vmovl_u16(by)));
        vorrq_u32(
            vandq_u32(set(1, before), load_u32(even)),
            vandq_u32(set(1 << 16, behind), load_u32(even.map(|bit| bit << 1))),
        )
    };
    vaddvq_u32(vorrq_u32(
        lanes(
            vget_low_u16(before),
            vget_low_u16(grams),
            vget_low_u16(behind),
            [1, 1 << 2, 1 << 4, 1 << 6],
        ),
        lanes(
            vget_high_u16(before),
            vget_high_u16(grams),
            vget_high_u16(behind),
            [1 << 8, 1 << 10, 1 << 12, 1 << 14],
        ),
    ))
}

#[inline]
#[target_feature(enable = "neon")]
fn shifted(bit: uint32x4_t, by: uint32x4_t) -> uint32x4_t {
    vshlq_u32(bit, vreinterpretq_s32_u32(by))
}

/// At which of 64 places a set has the classes of all eight bytes.
#[inline]
#[target_feature(enable = "neon")]
fn fitting<const EIGHTS: usize>(sets: &[Set; EIGHTS], windows: &[u8]) -> u64 {
    let mut fitting = [[vdupq_n_u8(u8::MAX); VECTORS]; EIGHTS];
    for index in 0..WINDOW_BYTES {
        for (fitting, set) in fitting.iter_mut().zip(sets) {
            let table = load_64(&set[index]);
            for (vector, fitting) in fitting.iter_mut().enumerate() {
                let bytes = load(windows, index + vector * VECTOR_BYTES);
                let class = vandq_u8(bytes, vdupq_n_u8(CLASSES as u8 - 1));
                *fitting = vandq_u8(*fitting, vqtbl4q_u8(table, class));
            }
        }
    }
    mask_of(std::array::from_fn(|vector| {
        let any = fitting
            .iter()
            .fold(vdupq_n_u8(0), |any, fitting| vorrq_u8(any, fitting[vector]));
        vtstq_u8(any, any)
    }))
}

/// [`Candidates::compare_scalar`], two entries at once.
#[target_feature(enable = "neon")]
pub(super) fn compare(
    buckets: &Buckets,
    texts: &[Haystack<'_>],
    candidates: &mut Candidates,
    progress: &mut Progress,
) {
    candidates.for_each_group(buckets, texts, progress, |group, survivors| {
        let eight = vdupq_n_u64(group.eight);
        let alike = (0..GROUP).step_by(2).fold(0, |all, entry| {
            all | compare_two(&group.words[entry..], group.width, eight) << entry
        });
        survivors.push_alike(&group, alike);
    });
}

/// Which of two entries are like the text: their values begin `group`, their masks lie `width` words
/// behind.
#[inline]
#[target_feature(enable = "neon")]
fn compare_two(group: &[u64], width: usize, eight: uint64x2_t) -> u32 {
    let (values, masks) = (&group[..2], &group[width..width + 2]);
    // SAFETY: two words each are readable.
    let (values, masks) = unsafe { (vld1q_u64(values.as_ptr()), vld1q_u64(masks.as_ptr())) };
    let alike = vceqq_u64(vandq_u64(eight, masks), values);
    vgetq_lane_u64::<0>(alike) as u32 & 1 | vgetq_lane_u64::<1>(alike) as u32 & 2
}

/// [`Verify::all`], 16 bytes at once.
#[target_feature(enable = "neon")]
pub(super) fn verify(verify: &mut Verify<'_>, survivors: &Survivors, report: &mut impl Report) {
    verify.all(
        survivors,
        |text, pattern, is_nocase| equal(text, pattern, is_nocase),
        report,
    );
}

/// [`equal`](super::super::candidates::equal) for a text as long as the pattern. What is left behind
/// whole vectors is compared with the bytes before it once more.
#[inline]
#[target_feature(enable = "neon")]
fn equal(text: &[u8], pattern: &[u8], is_nocase: bool) -> bool {
    let bytes = pattern.len();
    if bytes < VECTOR_BYTES || text.len() != bytes {
        return super::super::candidates::equal(text, pattern, is_nocase);
    }
    let equal_at = |at| equal_vectors(load(text, at), load(pattern, at), is_nocase);
    (0..=bytes - VECTOR_BYTES)
        .step_by(VECTOR_BYTES)
        .all(equal_at)
        && equal_at(bytes - VECTOR_BYTES)
}

#[inline]
#[target_feature(enable = "neon")]
fn equal_vectors(text: uint8x16_t, pattern: uint8x16_t, is_nocase: bool) -> bool {
    let letter = vsubq_u8(text, vdupq_n_u8(b'A'));
    let is_upper = vcltq_u8(letter, vdupq_n_u8(26));
    let fold = vdupq_n_u8(if is_nocase { FOLD } else { 0 });
    let text = vaddq_u8(text, vandq_u8(is_upper, fold));
    vminvq_u8(vceqq_u8(text, pattern)) == u8::MAX
}

/// The first byte that is one of a set: of 64 bytes at once, and then one by one.
#[target_feature(enable = "neon")]
pub(super) fn find_in_set(text: &[u8], set: &ByteSet) -> Option<usize> {
    // Byte v of the set has the bits of the bytes 8v to 8v + 7.
    // SAFETY: the set has 32 bytes.
    let set_bytes = unsafe { vld1q_u8_x2(set.as_ptr().cast()) };
    let bits = vreinterpretq_u8_u64(vdupq_n_u64(u64::from_le_bytes([
        1, 2, 4, 8, 16, 32, 64, 128,
    ])));
    let whole = text.len() - text.len() % BLOCK_BYTES;
    for at in (0..whole).step_by(BLOCK_BYTES) {
        let found = mask_of(std::array::from_fn(|vector| {
            let block = load(text, at + vector * VECTOR_BYTES);
            let byte = vqtbl2q_u8(set_bytes, vshrq_n_u8::<3>(block));
            let bit = vqtbl1q_u8(bits, vandq_u8(block, vdupq_n_u8(7)));
            vtstq_u8(byte, bit)
        }));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
    }
    let rest = find_in_set_scalar(&text[whole..], set)?;
    Some(whole + rest)
}
