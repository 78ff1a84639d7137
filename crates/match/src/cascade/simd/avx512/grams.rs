//! The first stage by the words of a filter.
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

use super::super::super::filter::{BLOCK_BYTES, Block, Filter, Passed, RunFinder, SPAN_BYTES};
use super::super::super::gram::{FOLD, MULTIPLIER};
use super::super::words::Words;
use super::{
    ALL_PLACES, constant, equal_pairs, equal_pairs_at, load, load_masked, multiples, store,
};

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

static GRAMS: [Lanes<u8, 64>; 2] = [grams_from(1), grams_from(29)];
static NEIGHBOURS: [Lanes<u8, 64>; 2] = [neighbours_from(0), neighbours_from(28)];
static HALVES: Lanes<u8, 64> = halves();
/// For the grams at odd places of half a block that begins at byte `first`: for
/// each lane of 32 bits the byte before the gram and the byte behind it in turn.
const fn sides_from(first: usize) -> Lanes<u8, 64> {
    let mut index = [0; 64];
    let mut byte = 0;
    while byte < 64 {
        index[byte] = (first + byte / 4 * 2 + byte % 2 * 3) as u8;
        byte += 1;
    }
    Lanes(index)
}

/// Of the block, and of the 64 bytes two further.
static SIDES: [Lanes<u8, 64>; 2] = [sides_from(0), sides_from(30)];
static EVEN_PLACES: Lanes<u16, 32> = multiples(2);

/// Bits 0, 4, 8, …
const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;
const EVERY_SECOND: u64 = 0x5555_5555_5555_5555;

/// Bytes before and behind a block that its places look at.
const BEHIND: usize = 3;

/// [`Filter::look_scalar`] for four-byte grams.
#[target_feature(
    enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2,popcnt"
)]
pub(in super::super) fn look_four(filter: &Filter, text: &[u8], from: usize, passed: &mut Passed) {
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

    let mut run_finder = RunFinder::new(match from {
        0 => 0,
        _ => equal_pairs_at(text, from - BLOCK_BYTES),
    });
    // There is no byte before the text's first.
    let mut not_first = if from == 0 { !1 } else { u64::MAX };
    let mut at = from;
    while at < end {
        let start = at as isize;
        let is_whole = at + BLOCK_BYTES + BEHIND <= text.len();
        let (before, block, behind);
        if is_whole {
            before = load_masked(text, start - 1, not_first);
            block = load_masked(text, start, u64::MAX);
            behind = load_masked(text, start + BEHIND as isize, u64::MAX);
        } else {
            before = load(text, start - 1);
            block = load(text, start);
            behind = load(text, start + BEHIND as isize);
        }
        let mut equal = equal_pairs(before, block) & not_first;
        not_first = u64::MAX;
        let mut valid = u32::MAX;
        if !is_whole {
            let left = text.len() - at;
            equal &= _bzhi_u64(u64::MAX, left as u32);
            valid = _bzhi_u32(u32::MAX, (left.saturating_sub(2) / 2) as u32);
        }

        let run = run_finder.next(equal);
        runs[run_count] = Block {
            start: at as u32,
            mask: run.ends,
        };
        run_count += usize::from(run.ends != 0);
        if equal == u64::MAX && equal_pairs_at(text, at + BLOCK_BYTES) == u64::MAX {
            at += BLOCK_BYTES;
            continue;
        }

        let folded = _mm512_or_si512(before, fold);
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
        passing &= valid & !(_pext_u64(run.inside, EVERY_SECOND) as u32);

        let offset = _mm512_set1_epi16((at - from) as i16);
        let found = _mm512_add_epi16(even_places, offset);
        store(
            &mut places[count..],
            _mm512_maskz_compress_epi16(passing, found),
        );
        count += passing.count_ones() as usize;
        at += BLOCK_BYTES;
    }
    passed.count = count;
    passed.run_count = run_count;
}

/// [`Filter::look_scalar`] for two-byte grams: those at odd places, each for the
/// place before it by the byte there, and for its own by the byte behind it.
#[target_feature(
    enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512bitalg,bmi1,bmi2,popcnt"
)]
pub(in super::super) fn look_two(
    filter: &Filter,
    text: &[u8],
    from: usize,
    carried: usize,
    passed: &mut Passed,
) {
    let words = Words::new(&filter.words, filter.shift);
    let end = text.len().min(from + SPAN_BYTES);
    let mut count = passed.count;
    let (places, _) = passed.room();
    let multiplier = _mm512_set1_epi32(MULTIPLIER as i32);
    let (sides_0, sides_1) = (constant(&SIDES[0]), constant(&SIDES[1]));
    let (low_bits, halves) = (_mm512_set1_epi8(15), constant(&HALVES));
    let all_places = constant(&ALL_PLACES);
    let half_block = _mm512_set1_epi16(BLOCK_BYTES as i16 / 2);
    // Bits 0, 4, 8, … of the result: whether the place before the gram passes;
    // bits 1, 5, 9, …: whether the gram's own does.
    let pass = |grams: __m256i, neighbours: __m512i| {
        let hashes = _mm512_mullo_epi32(_mm512_cvtepu16_epi32(grams), multiplier);
        let chosen = _mm512_ternarylogic_epi32::<0xea>(neighbours, low_bits, halves);
        _mm512_bitshuffle_epi64_mask(words.of_16(hashes), chosen)
    };
    for at in (from..end).step_by(BLOCK_BYTES) {
        let (start, left) = (at as isize, text.len() - at);
        let vectors = [start - 1, start, start + 1, start + 2, start + 3, start + 4];
        let [before, block, grams, second, third, fourth] = if at > 0 && left >= BLOCK_BYTES + 4 {
            vectors.map(|start| load_masked(text, start, u64::MAX))
        } else {
            vectors.map(|start| load(text, start))
        };
        // Bit j of the first: byte j of the block equals the byte before it; of
        // the second: byte j + 4 does.
        let mut equal = _mm512_cmpeq_epi8_mask(block, before);
        let mut equal_ahead = _mm512_cmpeq_epi8_mask(fourth, third);
        equal &= _bzhi_u64(u64::MAX, left.min(64) as u32) & !u64::from(at == 0);
        equal_ahead &= _bzhi_u64(u64::MAX, left.saturating_sub(4).min(64) as u32);
        let mut inside = equal & equal_ahead;
        inside &= (equal >> 1 | equal_ahead << 3) & (equal >> 2 | equal_ahead << 2);
        inside &= equal >> 3 | equal_ahead << 1;
        if at <= carried {
            inside &= !_bzhi_u64(u64::MAX, (carried + 1 - at).min(64) as u32);
        }

        let sides = _mm512_permutexvar_epi8(sides_0, block);
        let low = pass(_mm512_castsi512_si256(grams), sides);
        let mut passing = places_of(low);
        if left > BLOCK_BYTES / 2 {
            let sides = _mm512_permutexvar_epi8(sides_1, second);
            let high = pass(_mm512_extracti64x4_epi64::<1>(grams), sides);
            passing |= places_of(high) << 32;
        }
        passing &= _bzhi_u64(u64::MAX, (left - 1).min(64) as u32) & !inside;

        let mut found = _mm512_add_epi16(all_places, _mm512_set1_epi16((at - from) as i16));
        for half in [passing as u32, (passing >> 32) as u32] {
            store(
                &mut places[count..],
                _mm512_maskz_compress_epi16(half, found),
            );
            count += half.count_ones() as usize;
            found = _mm512_add_epi16(found, half_block);
        }
    }
    passed.count = count;
}

/// Of 16 grams at odd places, bits 4i and 4i + 1 of `bits`, as bits of the places
/// 2i and 2i + 1.
#[inline]
#[target_feature(enable = "bmi2")]
fn places_of(bits: u64) -> u64 {
    _pext_u64(bits, EVERY_FOURTH | EVERY_FOURTH << 1)
}
