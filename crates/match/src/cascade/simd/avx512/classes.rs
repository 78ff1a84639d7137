//! The first stage by sets of byte classes: a table of 64 classes is one
//! register, so a position of the window costs a load, and one VPERMB for eight
//! sets.

use std::arch::x86_64::*;

use super::super::super::classes::{BEFORE, Set, WINDOW_BYTES};
use super::super::super::filter::{BLOCK_BYTES, Block, Passed, RunFinder, SPAN_BYTES};
use super::{constant, equal_pairs, load_masked};

/// Adds the places of a span that fit one of `EIGHTS` times eight sets.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,popcnt")]
pub(in super::super) fn look_classes<const EIGHTS: usize>(
    sets: &[Set; EIGHTS],
    text: &[u8],
    from: usize,
    passed: &mut Passed,
) {
    let end = text.len().min(from + SPAN_BYTES);
    let mut count = passed.count;
    let (places, blocks) = passed.room();
    // Blocks that hold a place are few: which ones nobody can predict, so they
    // are listed first.
    let mut listed = 0;
    for at in (from..end).step_by(BLOCK_BYTES) {
        let bytes = bytes_around(text, at);
        let start = at as isize - BEFORE as isize;
        // The bytes at each position of the windows.
        let mut window = [_mm512_setzero_si512(); WINDOW_BYTES];
        if bytes == ALL_AROUND {
            for (index, bytes) in window.iter_mut().enumerate() {
                *bytes = load_masked(text, start + index as isize, u64::MAX);
            }
        } else {
            for (index, window) in window.iter_mut().enumerate() {
                *window = load_masked(text, start + index as isize, (bytes >> index) as u64);
            }
        }
        let mut fitting = [_mm512_set1_epi8(-1); EIGHTS];
        for index in (0..WINDOW_BYTES).step_by(2) {
            for (fitting, set) in fitting.iter_mut().zip(sets) {
                let one = _mm512_permutexvar_epi8(window[index], constant(&set[index]));
                let other = _mm512_permutexvar_epi8(window[index + 1], constant(&set[index + 1]));
                *fitting = _mm512_ternarylogic_epi32::<0x80>(*fitting, one, other);
            }
        }
        let any = fitting.into_iter().reduce(|a, b| _mm512_or_si512(a, b));
        let any = any.unwrap_or(_mm512_setzero_si512());
        // A gram of four bytes must lie in the text.
        let mask = _mm512_test_epi8_mask(any, any) & (bytes >> (BEFORE + 3)) as u64;
        blocks[listed] = Block {
            start: at as u32,
            mask,
        };
        listed += usize::from(mask != 0);
    }
    for Block { start, mask } in &blocks[..listed] {
        let at = *start as usize;
        let equal = equal_pairs_of_block(text, at);
        let mut mask = mask & !RunFinder::new(0).next(equal).inside;
        if equal == u64::MAX && equal_pairs_of_block(text, at + BLOCK_BYTES) == u64::MAX {
            mask = 0;
        }
        while mask != 0 {
            places[count] = (at - from) as u16 + mask.trailing_zeros() as u16;
            count += 1;
            mask &= mask - 1;
        }
    }
    passed.count = count;
}

/// Notes the runs of a span.
#[target_feature(enable = "avx512f,avx512bw")]
pub(in super::super) fn note_runs(text: &[u8], from: usize, passed: &mut Passed) {
    let end = text.len().min(from + SPAN_BYTES);
    let (_, runs) = passed.room();
    let mut run_count = 0;
    let mut run_finder = RunFinder::new(match from {
        0 => 0,
        _ => equal_pairs_of_block(text, from - BLOCK_BYTES),
    });
    for at in (from..end).step_by(BLOCK_BYTES) {
        let ends = run_finder.next(equal_pairs_of_block(text, at)).ends;
        runs[run_count] = Block {
            start: at as u32,
            mask: ends,
        };
        run_count += usize::from(ends != 0);
    }
    passed.run_count = run_count;
}

/// All bytes of [`bytes_around`].
const ALL_AROUND: u128 = (1 << (BLOCK_BYTES + WINDOW_BYTES)) - 1;

/// Which bytes there are of those that windows of a block look at: bit b is the
/// byte at `at - BEFORE + b`.
#[inline(always)]
fn bytes_around(text: &[u8], at: usize) -> u128 {
    let left = (text.len() - at).min(BLOCK_BYTES + WINDOW_BYTES - BEFORE);
    let bytes = (1 << (left + BEFORE)) - 1;
    if at == 0 {
        bytes & u128::MAX << BEFORE
    } else {
        bytes
    }
}

/// Which bytes of the block at `at` equal those before them, when folded; none
/// where there is no such block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn equal_pairs_of_block(text: &[u8], at: usize) -> u64 {
    if at >= text.len() {
        return 0;
    }
    let bytes = bytes_around(text, at);
    let both = (bytes >> (BEFORE - 1) & bytes >> BEFORE) as u64;
    let (one, other) = (at as isize - 1, at as isize);
    equal_pairs(load_masked(text, one, both), load_masked(text, other, both)) & both
}
