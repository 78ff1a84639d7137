//! AVX2: 32 bytes of a text per step, grams of every fourth place by one load.

use std::arch::x86_64::*;

use super::super::buckets::Buckets;
use super::super::candidates::{Candidates, Progress, Survivors, Verify};
use super::super::classes::{CLASSES, Set, WINDOW_BYTES};
use super::super::filter::{Filter, Passed};
use super::super::gram::{FOLD, MULTIPLIER};
use super::super::report::Report;
use super::super::single::{ByteSet, find_in_set_scalar};
use super::blocks;
use super::words::Words;
use crate::Haystack;

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8], start: usize) -> __m256i {
    let bytes = &bytes[start..start + 32];
    // SAFETY: 32 bytes are readable; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// [`Filter::look_scalar`] for four-byte grams.
#[target_feature(enable = "avx2")]
pub(super) fn look_four(filter: &Filter, text: &[u8], from: usize, passed: &mut Passed) {
    let words = Words::new(&filter.words, filter.shift);
    blocks::look_four(
        text,
        from,
        passed,
        |around| equal_pairs(around),
        |around| passing(words, around) | passing(words, &around[32..]) << 32,
    );
}

/// [`Filter::look_scalar`] for two-byte grams.
#[target_feature(enable = "avx2")]
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
        |around| passing_pairs(words, around) | passing_pairs(words, &around[32..]) << 32,
    );
}

/// [`Classes::look_scalar`](super::super::classes::Classes::look_scalar) with `EIGHTS` times eight
/// sets.
#[target_feature(enable = "avx2")]
pub(super) fn look_classes<const EIGHTS: usize>(
    sets: &[Set; EIGHTS],
    text: &[u8],
    from: usize,
    notes_runs: bool,
    passed: &mut Passed,
) {
    let tables = sets
        .each_ref()
        .map(|set| set.each_ref().map(|position| steps(position)));
    blocks::look_classes(
        text,
        from,
        notes_runs,
        passed,
        |around| equal_pairs(around),
        |windows| fitting(&tables, windows) | fitting(&tables, &windows[32..]) << 32,
    );
}

/// A table of 64 bytes as four of 16, which add up to it: each but the first is its part of the
/// table, exclusive or the part before it.
#[inline]
#[target_feature(enable = "avx2")]
fn steps(table: &[u8; 64]) -> [__m256i; 4] {
    let part = |index: usize| _mm256_broadcastsi128_si256(load_16(table, 16 * index));
    [
        part(0),
        _mm256_xor_si256(part(1), part(0)),
        _mm256_xor_si256(part(2), part(1)),
        _mm256_xor_si256(part(3), part(2)),
    ]
}

/// At which of 32 places a set has the classes of all eight bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn fitting<const EIGHTS: usize>(
    tables: &[[[__m256i; 4]; WINDOW_BYTES]; EIGHTS],
    windows: &[u8],
) -> u64 {
    let mut fitting = [_mm256_set1_epi8(-1); EIGHTS];
    for index in 0..WINDOW_BYTES {
        let class = _mm256_and_si256(load(windows, index), _mm256_set1_epi8(CLASSES as i8 - 1));
        // A shuffle gives zero where its index is negative, and else goes by the low four bits.
        let of_step = |step: i8| _mm256_sub_epi8(class, _mm256_set1_epi8(16 * step));
        let steps = [class, of_step(1), of_step(2), of_step(3)];
        for (fitting, tables) in fitting.iter_mut().zip(tables) {
            let [one, two, three, four] = tables[index];
            let low = _mm256_xor_si256(
                _mm256_shuffle_epi8(one, steps[0]),
                _mm256_shuffle_epi8(two, steps[1]),
            );
            let high = _mm256_xor_si256(
                _mm256_shuffle_epi8(three, steps[2]),
                _mm256_shuffle_epi8(four, steps[3]),
            );
            *fitting = _mm256_and_si256(*fitting, _mm256_xor_si256(low, high));
        }
    }
    let any = fitting.into_iter().reduce(|a, b| _mm256_or_si256(a, b));
    let none = _mm256_cmpeq_epi8(
        any.unwrap_or(_mm256_setzero_si256()),
        _mm256_setzero_si256(),
    );
    u64::from(!_mm256_movemask_epi8(none) as u32)
}

/// Which of 32 places pass, of a text whose first byte is the one before them:
/// those at even places by the byte before the gram at the next place, those at
/// odd ones by the byte behind their own.
#[inline]
#[target_feature(enable = "avx2")]
fn passing_pairs(words: Words<'_>, around: &[u8]) -> u64 {
    let (pairs, grams, behind) = (load(around, 1), load(around, 2), load(around, 3));
    // Lane k of 32 bits: the gram at the odd place 2k + 1.
    let lanes = |pairs: __m128i, grams: __m128i, behind: __m128i| {
        let (low, one) = (_mm256_set1_epi32(15), _mm256_set1_epi32(1));
        let multiplier = _mm256_set1_epi32(MULTIPLIER as i32);
        let hashes = _mm256_mullo_epi32(_mm256_cvtepu16_epi32(grams), multiplier);
        let words = words.of_8(hashes);
        let before = _mm256_and_si256(_mm256_cvtepu16_epi32(pairs), low);
        let behind = _mm256_srli_epi32::<8>(_mm256_cvtepu16_epi32(behind));
        let behind = _mm256_and_si256(behind, low);
        let even = _mm256_sllv_epi32(one, before);
        let odd = _mm256_sllv_epi32(_mm256_set1_epi32(1 << 16), behind);
        let set = |bits: __m256i| {
            let set = _mm256_cmpeq_epi32(_mm256_and_si256(words, bits), bits);
            spread_2(_mm256_movemask_ps(_mm256_castsi256_ps(set)) as u8)
        };
        set(even) | set(odd) << 1
    };
    let low = lanes(
        _mm256_castsi256_si128(pairs),
        _mm256_castsi256_si128(grams),
        _mm256_castsi256_si128(behind),
    );
    let high = lanes(
        _mm256_extracti128_si256::<1>(pairs),
        _mm256_extracti128_si256::<1>(grams),
        _mm256_extracti128_si256::<1>(behind),
    );
    low | high << 16
}

/// Bit k becomes bit 2k.
#[inline(always)]
fn spread_2(bits: u8) -> u64 {
    let bits = u64::from(bits);
    let bits = (bits | bits << 4) & 0x0f0f;
    let bits = (bits | bits << 2) & 0x3333;
    (bits | bits << 1) & 0x5555
}

/// Bit j: byte j behind the first equals the one before it.
#[inline]
#[target_feature(enable = "avx2")]
fn equal_bytes(around: &[u8]) -> u64 {
    let half = |at: usize| {
        let equal = _mm256_cmpeq_epi8(load(around, at), load(around, at + 1));
        u64::from(_mm256_movemask_epi8(equal) as u32)
    };
    half(0) | half(32) << 32
}

/// Bit j: byte j behind the first equals the one before it, when folded.
#[inline]
#[target_feature(enable = "avx2")]
fn equal_pairs(around: &[u8]) -> u64 {
    let fold = _mm256_set1_epi8(FOLD as i8);
    let half = |at: usize| {
        let one = _mm256_or_si256(load(around, at), fold);
        let other = _mm256_or_si256(load(around, at + 1), fold);
        u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(one, other)) as u32)
    };
    half(0) | half(32) << 32
}

/// Which even places among 32 pass, of a text whose first byte is the one
/// before them.
#[inline]
#[target_feature(enable = "avx2")]
fn passing(words: Words<'_>, around: &[u8]) -> u64 {
    // Lane k: place 4k, then place 4k + 2.
    let lanes = |place: usize| {
        let fold = _mm256_set1_epi8(FOLD as i8);
        let low_bits = _mm256_set1_epi32(15);
        let grams = _mm256_or_si256(load(around, place + 1), fold);
        let hashes = _mm256_mullo_epi32(grams, _mm256_set1_epi32(MULTIPLIER as i32));
        let before = _mm256_and_si256(load(around, place), low_bits);
        let behind = _mm256_and_si256(load(around, place + 5), low_bits);
        let bits = _mm256_or_si256(
            _mm256_sllv_epi32(_mm256_set1_epi32(1), before),
            _mm256_sllv_epi32(_mm256_set1_epi32(1 << 16), behind),
        );
        let set = _mm256_and_si256(words.of_8(hashes), bits);
        let lanes = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bits)));
        spread(lanes as u8)
    };
    lanes(0) | lanes(2) << 2
}

/// Bit k becomes bit 4k.
#[inline(always)]
fn spread(bits: u8) -> u64 {
    let bits = u64::from(bits);
    let bits = (bits | bits << 12) & 0x000f_000f;
    let bits = (bits | bits << 6) & 0x0303_0303;
    (bits | bits << 3) & 0x1111_1111
}

/// [`Candidates::compare_scalar`], four entries at once.
#[target_feature(enable = "avx2")]
pub(super) fn compare(
    buckets: &Buckets,
    texts: &[Haystack<'_>],
    candidates: &mut Candidates,
    progress: &mut Progress,
) {
    candidates.for_each_group(buckets, texts, progress, |group, survivors| {
        let eight = _mm256_set1_epi64x(group.eight as i64);
        let (low, high) = (group.words, &group.words[4..]);
        let alike =
            compare_four(low, group.width, eight) | compare_four(high, group.width, eight) << 4;
        survivors.push_alike(&group, alike);
    });
}

/// Which of four entries are like the text: their values begin `group`, their
/// masks lie `width` words behind.
#[inline]
#[target_feature(enable = "avx2")]
fn compare_four(group: &[u64], width: usize, eight: __m256i) -> u32 {
    let (values, masks) = (&group[..4], &group[width..width + 4]);
    // SAFETY: four words each are readable; the loads need no alignment.
    let (values, masks) = unsafe {
        (
            _mm256_loadu_si256(values.as_ptr().cast()),
            _mm256_loadu_si256(masks.as_ptr().cast()),
        )
    };
    let alike = _mm256_cmpeq_epi64(_mm256_and_si256(eight, masks), values);
    _mm256_movemask_pd(_mm256_castsi256_pd(alike)) as u32
}

/// [`Verify::all`], 32 bytes at once.
#[target_feature(enable = "avx2")]
pub(super) fn verify(verify: &mut Verify<'_>, survivors: &Survivors, report: &mut impl Report) {
    verify.all(
        survivors,
        |text, pattern, is_nocase| equal(text, pattern, is_nocase),
        report,
    );
}

/// [`equal`](super::super::candidates::equal) for a text as long as the pattern.
/// What is left behind whole vectors is compared with the bytes before it once
/// more.
#[inline]
#[target_feature(enable = "avx2")]
fn equal(text: &[u8], pattern: &[u8], is_nocase: bool) -> bool {
    let bytes = pattern.len();
    if bytes < 16 || text.len() != bytes {
        return super::super::candidates::equal(text, pattern, is_nocase);
    }
    if bytes < 32 {
        let text = _mm256_set_m128i(load_16(text, bytes - 16), load_16(text, 0));
        let pattern = _mm256_set_m128i(load_16(pattern, bytes - 16), load_16(pattern, 0));
        return equal_vectors(text, pattern, is_nocase);
    }
    let equal_at = |at| equal_vectors(load(text, at), load(pattern, at), is_nocase);
    (0..bytes - 31).step_by(32).all(equal_at) && equal_at(bytes - 32)
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal_vectors(text: __m256i, pattern: __m256i, is_nocase: bool) -> bool {
    let letter = _mm256_sub_epi8(text, _mm256_set1_epi8(b'A' as i8));
    let is_upper = _mm256_cmpeq_epi8(letter, _mm256_min_epu8(letter, _mm256_set1_epi8(25)));
    let fold = _mm256_set1_epi8(if is_nocase { FOLD as i8 } else { 0 });
    let text = _mm256_add_epi8(text, _mm256_and_si256(is_upper, fold));
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(text, pattern)) == -1
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_16(bytes: &[u8], start: usize) -> __m128i {
    let bytes = &bytes[start..start + 16];
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// The first byte that is one of a set: of 32 bytes at once, and then one by one.
#[target_feature(enable = "avx2")]
pub(super) fn find_in_set(text: &[u8], set: &ByteSet) -> Option<usize> {
    let [a, b, c, d] = set.map(|word| word as i64);
    // Byte v of the set, of which there are two registers' halves, has the bits
    // of the bytes 8v to 8v + 7.
    let (low, high) = (
        _mm256_setr_epi64x(a, b, a, b),
        _mm256_setr_epi64x(c, d, c, d),
    );
    let bits = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let whole = text.len() - text.len() % 32;
    for at in (0..whole).step_by(32) {
        let block = load(text, at);
        let index = _mm256_and_si256(_mm256_srli_epi16::<3>(block), _mm256_set1_epi8(31));
        // A shuffle gives zero where the top bit of its index is set: for the
        // low half of the set from 16 on, for the high half below 16.
        let of_low = _mm256_shuffle_epi8(low, _mm256_add_epi8(index, _mm256_set1_epi8(0x70)));
        let of_high = _mm256_shuffle_epi8(high, _mm256_sub_epi8(index, _mm256_set1_epi8(16)));
        let byte = _mm256_or_si256(of_low, of_high);
        let bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(block, _mm256_set1_epi8(7)));
        let is_in_set = _mm256_cmpeq_epi8(_mm256_and_si256(byte, bit), bit);
        let found = _mm256_movemask_epi8(is_in_set) as u32;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
    }
    let rest = find_in_set_scalar(&text[whole..], set)?;
    Some(whole + rest)
}
