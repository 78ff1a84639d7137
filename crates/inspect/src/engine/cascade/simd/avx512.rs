//! AVX-512: 64 bytes of a text per step.
//!
//! ```text
//!  byte         0 1 2 3 4 5 6 7 8 …            of the block
//!  gram 0      [0 1 2 3]                       VPERMB brings the grams of even
//!  gram 1          [2 3 4 5]                   places into lanes of 32 bits
//!  neighbours  -1       4                      and VPSHUFBITQMB tests in each
//!               1             6                word the bits they choose
//! ```

use std::arch::x86_64::*;

use weir_simd::Lanes;

use super::super::ByteSet;
use super::super::buckets::{Buckets, GROUP};
use super::super::candidates::{Candidates, Progress, Survivors, Verify};
use super::super::filter::{BLOCK_BYTES, Filter, Passed, RunEnds, SPAN_BYTES};
use super::super::gram::{FOLD, MULTIPLIER, eight_bytes};
use super::words::Words;
use crate::engine::Text;

/// For each lane of 32 bits and each of its bytes, the byte of the source: that
/// many bytes from place 2·lane on.
const fn grams_from(first: usize) -> Lanes<u8, 64> {
    let mut index = [0; 64];
    let mut byte = 0;
    while byte < 64 {
        index[byte] = (first + byte / 4 * 2 + byte % 4) as u8;
        byte += 1;
    }
    Lanes(index)
}

/// The same, with the byte before the gram and the byte behind it in turn.
const fn neighbours_from(first: usize) -> Lanes<u8, 64> {
    let mut index = [0; 64];
    let mut byte = 0;
    while byte < 64 {
        index[byte] = (first + byte / 4 * 2 + byte % 2 * 5) as u8;
        byte += 1;
    }
    Lanes(index)
}

/// Which half of a word, and which word of two, a neighbour's bit is in.
const fn halves() -> Lanes<u8, 64> {
    let mut select = [0; 64];
    let mut byte = 0;
    while byte < 64 {
        select[byte] = (byte / 4 % 2 * 32 + byte % 2 * 16) as u8;
        byte += 1;
    }
    Lanes(select)
}

const fn multiples(of: u16) -> Lanes<u16, 32> {
    let mut places = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        places[lane] = lane as u16 * of;
        lane += 1;
    }
    Lanes(places)
}

static GRAMS: [Lanes<u8, 64>; 2] = [grams_from(1), grams_from(29)];
static NEIGHBOURS: [Lanes<u8, 64>; 2] = [neighbours_from(0), neighbours_from(28)];
static HALVES: Lanes<u8, 64> = halves();
static EVEN_PLACES: Lanes<u16, 32> = multiples(2);
static ALL_PLACES: Lanes<u16, 32> = multiples(1);

/// Bits 0, 4, 8, …
const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;
const EVERY_SECOND: u64 = 0x5555_5555_5555_5555;

/// Bytes before and behind a block that its places look at.
const BEHIND: usize = 3;

#[inline]
#[target_feature(enable = "avx512f")]
fn constant<T, const N: usize>(lanes: &Lanes<T, N>) -> __m512i {
    const { assert!(size_of::<Lanes<T, N>>() == 64) };
    // SAFETY: 64 bytes are readable.
    unsafe { _mm512_loadu_si512(std::ptr::from_ref(lanes).cast()) }
}

/// The bytes of a text from `start` on, as far as it goes; zeros for the rest.
/// `start` may be -1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn load(text: &[u8], start: isize) -> __m512i {
    let left = text.len() as isize - start;
    let behind = _bzhi_u64(u64::MAX, left.clamp(0, 64) as u32);
    let mask = if start < 0 { behind & !1 } else { behind };
    // SAFETY: the mask has bits for bytes of the text only; others are not read.
    unsafe { _mm512_maskz_loadu_epi8(mask, text.as_ptr().wrapping_offset(start).cast()) }
}

/// The same where all of the 64 bytes are there, but for the one at -1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_whole(text: &[u8], start: isize, mask: u64) -> __m512i {
    debug_assert!(start + 64 <= text.len() as isize);
    // SAFETY: the caller's block lies in the text; `mask` leaves out byte -1.
    unsafe { _mm512_maskz_loadu_epi8(mask, text.as_ptr().wrapping_offset(start).cast()) }
}

/// [`Filter::look_scalar`] for four-byte grams.
#[target_feature(
    enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2,popcnt"
)]
pub(super) fn look_four(filter: &Filter, text: &[u8], from: usize, passed: &mut Passed) {
    let words = Words::new(&filter.words, filter.shift);
    let end = text.len().min(from + SPAN_BYTES);
    let (mut count, mut run_count) = (passed.count, 0);
    let (places, runs) = passed.room();
    let fold = _mm512_set1_epi8(FOLD as i8);
    let multiplier = _mm512_set1_epi32(MULTIPLIER as i32);
    let (grams_0, grams_1) = (constant(&GRAMS[0]), constant(&GRAMS[1]));
    let (neighbours_0, neighbours_1) = (constant(&NEIGHBOURS[0]), constant(&NEIGHBOURS[1]));
    let (low_bits, halves) = (_mm512_set1_epi8(15), constant(&HALVES));
    let even_places = constant(&EVEN_PLACES);

    // Bit j: byte j of the block before equals the one before it.
    let mut equal_before = match from {
        0 => 0,
        _ => {
            let at = from as isize - BLOCK_BYTES as isize;
            let (one, other) = (load(text, at - 1), load(text, at));
            _mm512_cmpeq_epi8_mask(_mm512_or_si512(one, fold), _mm512_or_si512(other, fold))
        }
    };
    // There is no byte before the text's first.
    let mut not_first = if from == 0 { !1 } else { u64::MAX };
    let mut at = from;
    while at < end {
        let start = at as isize;
        let is_whole = at + BLOCK_BYTES + BEHIND <= text.len();
        let (before, block, behind);
        if is_whole {
            before = load_whole(text, start - 1, not_first);
            block = load_whole(text, start, u64::MAX);
            behind = load_whole(text, start + BEHIND as isize, u64::MAX);
        } else {
            before = load(text, start - 1);
            block = load(text, start);
            behind = load(text, start + BEHIND as isize);
        }
        let folded = _mm512_or_si512(before, fold);
        let mut equal = _mm512_cmpeq_epi8_mask(folded, _mm512_or_si512(block, fold)) & not_first;
        let mut valid = u32::MAX;
        if !is_whole {
            let left = text.len() - at;
            equal &= _bzhi_u64(u64::MAX, left as u32);
            valid = _bzhi_u32(u32::MAX, (left.saturating_sub(2) / 2) as u32);
        }

        let hashes = _mm512_mullo_epi32(_mm512_permutexvar_epi8(grams_0, folded), multiplier);
        let chosen = _mm512_permutexvar_epi8(neighbours_0, before);
        // (neighbour & 15) | half
        let chosen = _mm512_ternarylogic_epi32::<0xea>(chosen, low_bits, halves);
        let bits = _mm512_bitshuffle_epi64_mask(words.of_16(hashes), chosen);
        let mut passing = _pext_u64(bits & bits >> 1, EVERY_FOURTH) as u32;
        if valid > 0xffff {
            let folded = _mm512_or_si512(behind, fold);
            let hashes = _mm512_mullo_epi32(_mm512_permutexvar_epi8(grams_1, folded), multiplier);
            let chosen = _mm512_permutexvar_epi8(neighbours_1, behind);
            let chosen = _mm512_ternarylogic_epi32::<0xea>(chosen, low_bits, halves);
            let bits = _mm512_bitshuffle_epi64_mask(words.of_16(hashes), chosen);
            passing |= (_pext_u64(bits & bits >> 1, EVERY_FOURTH) as u32) << 16;
        }
        let inside = equal & equal >> 1 & equal >> 2 & equal >> 3 & equal >> 4;
        passing &= valid & !(_pext_u64(inside, EVERY_SECOND) as u32);

        // Four bytes each of which equals the one before it end a run of five.
        let pairs = equal & (equal << 1 | equal_before >> 63);
        let pairs_before = equal_before & equal_before << 1;
        let ends = pairs & (pairs << 2 | pairs_before >> 62);
        equal_before = equal;
        not_first = u64::MAX;

        let offset = _mm512_set1_epi16((at - from) as i16);
        let found = _mm512_add_epi16(even_places, offset);
        store(
            &mut places[count..],
            _mm512_maskz_compress_epi16(passing, found),
        );
        count += passing.count_ones() as usize;
        runs[run_count] = RunEnds {
            start: at as u32,
            ends,
        };
        run_count += usize::from(ends != 0);
        at += BLOCK_BYTES;
    }
    passed.count = count;
    passed.run_count = run_count;
}

/// Writes 32 places.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(out: &mut [u16], places: __m512i) {
    let out = &mut out[..32];
    // SAFETY: 64 bytes are writable.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), places) };
}

/// [`Filter::look_scalar`] for two-byte grams.
#[target_feature(
    enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
)]
pub(super) fn look_two(
    filter: &Filter,
    text: &[u8],
    from: usize,
    carried: usize,
    passed: &mut Passed,
) {
    const STEP: usize = 32;
    let words = Words::new(&filter.words, filter.shift);
    let end = text.len().min(from + SPAN_BYTES);
    let mut count = passed.count;
    let (places, _) = passed.room();
    let grams = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(constant(&ALL_PLACES)));
    // Lane k: words k and k + 1 of 16 bits.
    let grams = _mm512_or_si512(
        grams,
        _mm512_slli_epi32::<16>(_mm512_add_epi32(grams, _mm512_set1_epi32(1))),
    );
    let fold = _mm512_set1_epi16(i16::from_le_bytes([FOLD; 2]));
    let low_half = _mm512_set1_epi32(0xffff);
    let multiplier = _mm512_set1_epi32(MULTIPLIER as i32);
    let all_places = constant(&ALL_PLACES);
    let one = _mm512_set1_epi32(1);
    for at in (from..end).step_by(STEP) {
        let left = text.len() - at;
        if left < 2 {
            break;
        }
        let block = load(text, at as isize);
        let before = load(text, at as isize - 1);
        let mut equal =
            _mm512_cmpeq_epi8_mask(block, before) & _bzhi_u64(u64::MAX, left.min(64) as u32);
        if at == 0 {
            equal &= !1;
        }
        let mut inside = equal & equal >> 1 & equal >> 2 & equal >> 3 & equal >> 4;
        if at <= carried {
            inside &= !_bzhi_u64(u64::MAX, (carried + 1 - at).min(64) as u32);
        }

        let four = _mm512_permutexvar_epi16(grams, block);
        let folded = _mm512_or_si512(four, fold);
        let even = _mm512_and_si512(folded, low_half);
        let odd = _mm512_and_si512(_mm512_srli_epi32::<8>(folded), low_half);
        let even = words.of_16(_mm512_mullo_epi32(even, multiplier));
        let odd = words.of_16(_mm512_mullo_epi32(odd, multiplier));
        // The byte behind is the third or the fourth; its low five bits count.
        let even = _mm512_rorv_epi32(even, _mm512_srli_epi32::<16>(four));
        let odd = _mm512_rorv_epi32(odd, _mm512_srli_epi32::<24>(four));
        let even = u32::from(_mm512_test_epi32_mask(even, one));
        let odd = u32::from(_mm512_test_epi32_mask(odd, one));
        let passing = _pdep_u32(even, EVERY_SECOND as u32) | _pdep_u32(odd, !EVERY_SECOND as u32);
        let valid = _bzhi_u32(u32::MAX, (left - 1).min(32) as u32);
        let passing = passing & valid & !(inside as u32);

        let offset = _mm512_set1_epi16((at - from) as i16);
        let found = _mm512_add_epi16(all_places, offset);
        store(
            &mut places[count..],
            _mm512_maskz_compress_epi16(passing, found),
        );
        count += passing.count_ones() as usize;
    }
    passed.count = count;
}

/// [`Candidates::compare_scalar`], eight entries at once.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,bmi1,bmi2,popcnt")]
pub(super) fn compare(
    buckets: &Buckets,
    texts: &[Text<'_>],
    candidates: &mut Candidates,
    progress: &mut Progress,
) {
    let Candidates {
        passed,
        spans,
        survivors,
    } = candidates;
    let words = &buckets.words[..];
    for (index, span) in spans.iter().enumerate().skip(progress.span) {
        let text = texts[span.payload as usize].bytes();
        for place in &passed.places[progress.candidate..span.end] {
            if survivors.are_many() {
                return;
            }
            let place = span.from as usize + usize::from(*place);
            let (mut start, mut left) = buckets.find(buckets.grams.hash(&text[place..]));
            let eight = _mm512_set1_epi64(eight_bytes(text, place) as i64);
            let tag = _mm512_set1_epi64(((index as u64) << 32 | place as u64) as i64);
            while left > 0 {
                let width = left.min(GROUP);
                let group = &words[start..start + 2 * width + GROUP];
                let alike = compare_group(group, width, eight);
                let survivors_left = survivors.room();
                // SAFETY: both slices have room for eight words.
                unsafe {
                    let metas = group.as_ptr().add(2 * width).cast();
                    let metas = _mm512_maskz_compress_epi64(alike, _mm512_loadu_si512(metas));
                    _mm512_storeu_si512(survivors_left.0.as_mut_ptr().cast(), metas);
                    _mm512_storeu_si512(survivors_left.1.as_mut_ptr().cast(), tag);
                }
                survivors.count += alike.count_ones() as usize;
                start += 3 * width;
                left -= width;
            }
            progress.candidate += 1;
        }
        progress.span = index + 1;
    }
}

/// Which of the first `width` entries of a group are like the text.
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn compare_group(group: &[u64], width: usize, eight: __m512i) -> __mmask8 {
    assert!(width <= GROUP && group.len() >= 2 * width + GROUP);
    // SAFETY: eight words are readable at 0 and at `width`.
    let (values, masks) = unsafe {
        let values = group.as_ptr();
        (
            _mm512_loadu_si512(values.cast()),
            _mm512_loadu_si512(values.add(width).cast()),
        )
    };
    let entries = _bzhi_u32(0xff, width as u32) as __mmask8;
    _mm512_mask_cmpeq_epi64_mask(entries, _mm512_and_si512(eight, masks), values)
}

/// [`Verify::all`], 64 bytes at once.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
pub(super) fn verify(
    verify: &mut Verify<'_>,
    survivors: &Survivors,
    report: &mut impl FnMut(u32, u32),
) {
    verify.all(
        survivors,
        |text, content, is_nocase| equal(text, content, is_nocase),
        report,
    );
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn equal(text: &[u8], content: &[u8], is_nocase: bool) -> bool {
    let (a, letters, fold) = (
        _mm512_set1_epi8(b'A' as i8),
        _mm512_set1_epi8(26),
        _mm512_set1_epi8(FOLD as i8),
    );
    let any_case = if is_nocase { u64::MAX } else { 0 };
    let mut at = 0;
    while at < content.len() {
        let (text, content) = (load(text, at as isize), load(content, at as isize));
        let upper = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(text, a), letters) & any_case;
        let text = _mm512_mask_add_epi8(text, upper, text, fold);
        if _mm512_cmpneq_epi8_mask(text, content) != 0 {
            return false;
        }
        at += 64;
    }
    true
}

/// The first byte that is one of a set.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi2")]
pub(super) fn find_in_set(text: &[u8], set: &ByteSet) -> Option<usize> {
    let set = set.map(|word| word as i64);
    let set = _mm512_setr_epi64(
        set[0], set[1], set[2], set[3], set[0], set[1], set[2], set[3],
    );
    // Bit b of byte v of the set is that of byte 8v + b.
    let bits = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let (seven, thirty_one) = (_mm512_set1_epi8(7), _mm512_set1_epi8(31));
    for at in (0..text.len()).step_by(64) {
        let block = load(text, at as isize);
        let byte = _mm512_and_si512(_mm512_srli_epi16::<3>(block), thirty_one);
        let byte = _mm512_permutexvar_epi8(byte, set);
        let bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(block, seven));
        let valid = _bzhi_u64(u64::MAX, (text.len() - at).min(64) as u32);
        let found = _mm512_mask_test_epi8_mask(valid, byte, bit);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
    }
    None
}
