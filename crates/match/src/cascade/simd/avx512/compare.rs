//! The later stages.

use std::arch::x86_64::*;

use super::super::super::buckets::{Buckets, GROUP};
use super::super::super::candidates::{Candidates, Progress, Survivors, Verify};
use super::super::super::gram::{FOLD, eight_bytes};
use super::super::super::report::Report;
use crate::Haystack;

/// [`Candidates::compare_scalar`], eight entries at once.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,bmi1,bmi2,popcnt")]
pub(in super::super) fn compare(
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
    let words = &buckets.words[..];
    for (index, span) in spans.iter().enumerate().skip(progress.span) {
        let text = texts[span.haystack as usize].bytes();
        let own = progress.candidate..span.end;
        for (place, head) in passed.places[own.clone()].iter().zip(&heads[own]) {
            if survivors.are_many() {
                return;
            }
            let place = span.from as usize + usize::from(*place);
            let (mut start, mut left) = buckets.bucket(*head);
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
pub(in super::super) fn verify(
    verify: &mut Verify<'_>,
    survivors: &Survivors,
    report: &mut impl Report,
) {
    verify.all(
        survivors,
        |text, pattern, is_nocase| equal(text, pattern, is_nocase),
        report,
    );
}

/// [`equal`](super::super::super::candidates::equal) for a text as long as the
/// pattern.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn equal(text: &[u8], pattern: &[u8], is_nocase: bool) -> bool {
    let (a, letters, fold) = (
        _mm512_set1_epi8(b'A' as i8),
        _mm512_set1_epi8(26),
        _mm512_set1_epi8(FOLD as i8),
    );
    let any_case = if is_nocase { u64::MAX } else { 0 };
    let bytes = pattern.len().min(text.len());
    let mut at = 0;
    while at < bytes {
        let mask = _bzhi_u64(u64::MAX, (bytes - at).min(64) as u32);
        // SAFETY: the mask has bits for bytes of both slices only.
        let (text, pattern) = unsafe {
            (
                _mm512_maskz_loadu_epi8(mask, text.as_ptr().add(at).cast()),
                _mm512_maskz_loadu_epi8(mask, pattern.as_ptr().add(at).cast()),
            )
        };
        let upper = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(text, a), letters) & any_case;
        let text = _mm512_mask_add_epi8(text, upper, text, fold);
        if _mm512_cmpneq_epi8_mask(text, pattern) != 0 {
            return false;
        }
        at += 64;
    }
    true
}
