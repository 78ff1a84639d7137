//! AVX2: 32 bytes of a text per step, grams of every fourth place by one load.

use std::arch::x86_64::*;

use super::super::buckets::{Buckets, GROUP};
use super::super::candidates::{Candidates, Progress};
use super::super::filter::{BLOCK_BYTES, Block, Filter, Passed, RunFinder, SPAN_BYTES};
use super::super::gram::{FOLD, MULTIPLIER, eight_bytes};
use super::words::Words;
use crate::Haystack;

/// Bytes from one before a block to three behind it, and what a load of the
/// last gram's bytes takes.
const AROUND: usize = 1 + BLOCK_BYTES + 32;

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
    let end = text.len().min(from + SPAN_BYTES);
    let (mut count, mut run_count) = (passed.count, 0);
    let (places, runs) = passed.room();
    let mut run_finder = RunFinder::new(match from {
        0 => 0,
        _ => equal_pairs(&text[from - BLOCK_BYTES - 1..]),
    });
    for at in (from..end).step_by(BLOCK_BYTES) {
        // A block with its neighbours: as it lies in the text, or copied with
        // zeros where there is none.
        let left = text.len() - at;
        let mut copy = [0; AROUND];
        let around = match at.checked_sub(1).and_then(|before| text.get(before..)) {
            Some(around) if around.len() >= AROUND => around,
            _ => {
                let before = usize::from(at > 0);
                let bytes = &text[at - before..text.len().min(at + AROUND - 1)];
                copy[1 - before..][..bytes.len()].copy_from_slice(bytes);
                &copy
            }
        };
        let mut equal = equal_pairs(around);
        if at == 0 {
            equal &= !1;
        }
        if left < BLOCK_BYTES {
            equal &= (1 << left) - 1;
        }
        let run = run_finder.next(equal);
        runs[run_count] = Block {
            start: at as u32,
            mask: run.ends,
        };
        run_count += usize::from(run.ends != 0);
        if equal == u64::MAX
            && left >= 2 * BLOCK_BYTES
            && equal_pairs(&text[at + BLOCK_BYTES - 1..]) == u64::MAX
        {
            continue;
        }
        let mut passing = passing(words, around) | passing(words, &around[32..]) << 32;
        passing &= !run.inside;
        if left < BLOCK_BYTES + 3 {
            passing &= (1u64 << left.saturating_sub(3)).wrapping_sub(1);
        }
        while passing != 0 {
            places[count] = (at - from) as u16 + passing.trailing_zeros() as u16;
            count += 1;
            passing &= passing - 1;
        }
    }
    passed.count = count;
    passed.run_count = run_count;
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
    let Candidates {
        passed,
        spans,
        heads,
        survivors,
    } = candidates;
    for (index, span) in spans.iter().enumerate().skip(progress.span) {
        let text = texts[span.haystack as usize].bytes();
        let own = progress.candidate..span.end;
        for (place, head) in passed.places[own.clone()].iter().zip(&heads[own]) {
            if survivors.are_many() {
                return;
            }
            let place = span.from as usize + usize::from(*place);
            let (mut start, mut left) = buckets.bucket(*head);
            let eight = _mm256_set1_epi64x(eight_bytes(text, place) as i64);
            let tag = (index as u64) << 32 | place as u64;
            while left > 0 {
                let width = left.min(GROUP);
                let group = &buckets.words[start..start + 2 * width + GROUP];
                let mut alike = compare_four(group, width, eight)
                    | compare_four(&group[4..], width, eight) << 4;
                alike &= (1 << width) - 1;
                while alike != 0 {
                    let entry = alike.trailing_zeros() as usize;
                    survivors.metas[survivors.count] = group[2 * width + entry];
                    survivors.places[survivors.count] = tag;
                    survivors.count += 1;
                    alike &= alike - 1;
                }
                start += 3 * width;
                left -= width;
            }
            progress.candidate += 1;
        }
        progress.span = index + 1;
    }
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
