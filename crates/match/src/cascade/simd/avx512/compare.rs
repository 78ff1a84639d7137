//! The later stages.

use std::arch::x86_64::*;

use super::super::super::buckets::{Buckets, GROUP};
use super::super::super::candidates::{Candidates, Progress, Survivors, Verify};
use super::super::super::gram::FOLD;
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
    candidates.for_each_group(buckets, texts, progress, |group, survivors| {
        let eight = _mm512_set1_epi64(group.eight as i64);
        let alike = compare_group(group.words, group.width, eight);
        let (metas, places) = survivors.room();
        // SAFETY: the group has eight words from its first meta on, and both slices have room for
        // as many.
        unsafe {
            let all = group.words[2 * group.width..][..GROUP].as_ptr().cast();
            let kept = _mm512_maskz_compress_epi64(alike, _mm512_loadu_si512(all));
            _mm512_storeu_si512(metas.as_mut_ptr().cast(), kept);
            let place = _mm512_set1_epi64(group.place as i64);
            _mm512_storeu_si512(places.as_mut_ptr().cast(), place);
        }
        survivors.count += alike.count_ones() as usize;
    });
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
