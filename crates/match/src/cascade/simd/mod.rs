//! Kernels of the cascade. The scalar reference of each is in the module that calls it.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod blocks;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod words;

use weir_simd::Tier;

use super::buckets::Buckets;
use super::candidates::{Candidates, Progress, Survivors, Verify};
use super::classes::{Classes, Set};
use super::filter::{Filter, Passed};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::gram::Grams;
use super::report::Report;
use super::single::ByteSet;
use crate::Haystack;

/// [`Filter::look_scalar`]; false where `tier` has no kernel.
#[inline]
pub(super) fn look(
    tier: Tier,
    filter: &Filter,
    text: &[u8],
    from: usize,
    carried: usize,
    passed: &mut Passed,
) -> bool {
    passed.make_room();
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        // SAFETY: the tier, and with it NEON, is there.
        unsafe {
            match filter.grams {
                Grams::Four => neon::look_four(filter, text, from, passed),
                Grams::Two => neon::look_two(filter, text, from, carried, passed),
            }
        }
        return true;
    }
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match (tier, filter.grams) {
            // SAFETY: the tier, and with it all that the kernel uses, is there.
            (Tier::Avx512, Grams::Four) => unsafe {
                avx512::look_four(filter, text, from, passed);
            },
            // SAFETY: the tier, and with it all that the kernel uses, is there.
            (Tier::Avx512, Grams::Two) => unsafe {
                avx512::look_two(filter, text, from, carried, passed);
            },
            // SAFETY: the tier, and with it AVX2, is there.
            (Tier::Aesni, Grams::Four) => unsafe {
                avx2::look_four(filter, text, from, passed);
            },
            // SAFETY: the tier, and with it AVX2, is there.
            (Tier::Aesni, Grams::Two) => unsafe {
                avx2::look_two(filter, text, from, carried, passed);
            },
            _ => return false,
        }
        return true;
    }
    let _ = (tier, filter, text, from, carried);
    false
}

/// [`Classes::look_scalar`]; false where `tier` has no kernel.
#[inline]
pub(super) fn look_classes(
    tier: Tier,
    classes: &Classes,
    text: &[u8],
    from: usize,
    passed: &mut Passed,
) -> bool {
    passed.make_room();
    match classes.eights.len() {
        1 => look_eights::<1>(tier, classes, text, from, passed),
        2 => look_eights::<2>(tier, classes, text, from, passed),
        _ => false,
    }
}

fn look_eights<const EIGHTS: usize>(
    tier: Tier,
    classes: &Classes,
    text: &[u8],
    from: usize,
    passed: &mut Passed,
) -> bool {
    let Ok(eights) = <&[Set; EIGHTS]>::try_from(&classes.eights[..]) else {
        return false;
    };
    if !tier.is_available() {
        return false;
    }
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => {
            // SAFETY: the tier, and with it all that the kernels use, is there.
            unsafe {
                avx512::look_classes(eights, text, from, passed);
                if classes.notes_runs {
                    avx512::note_runs(text, from, passed);
                }
            }
        }
        #[cfg(target_arch = "x86_64")]
        Tier::Aesni => {
            // SAFETY: the tier, and with it AVX2, is there.
            unsafe { avx2::look_classes(eights, text, from, classes.notes_runs, passed) };
        }
        #[cfg(target_arch = "aarch64")]
        Tier::NeonAes => {
            // SAFETY: the tier, and with it NEON, is there.
            unsafe { neon::look_classes(eights, text, from, classes.notes_runs, passed) };
        }
        _ => return false,
    }
    true
}

/// Prefetches the line of the cache where a value begins.
#[inline(always)]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program can see, and every
    // x86-64 processor has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    let _ = value;
}

/// [`Candidates::compare_scalar`]; false where `tier` has no kernel.
#[inline]
pub(super) fn compare(
    tier: Tier,
    buckets: &Buckets,
    texts: &[Haystack<'_>],
    candidates: &mut Candidates,
    progress: &mut Progress,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it all that the kernel uses, is there.
            Tier::Avx512 => unsafe { avx512::compare(buckets, texts, candidates, progress) },
            // SAFETY: the tier, and with it AVX2, is there.
            Tier::Aesni => unsafe { avx2::compare(buckets, texts, candidates, progress) },
            Tier::Scalar | Tier::NeonAes => return false,
        }
        return true;
    }
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        // SAFETY: the tier, and with it NEON, is there.
        unsafe { neon::compare(buckets, texts, candidates, progress) };
        return true;
    }
    let _ = (tier, buckets, texts, candidates, progress);
    false
}

/// [`Verify::all`]; false where `tier` has no kernel.
#[inline]
pub(super) fn verify(
    tier: Tier,
    verify: &mut Verify<'_>,
    survivors: &Survivors,
    report: &mut impl Report,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it all that the kernel uses, is there.
            Tier::Avx512 => unsafe { avx512::verify(verify, survivors, report) },
            // SAFETY: the tier, and with it AVX2, is there.
            Tier::Aesni => unsafe { avx2::verify(verify, survivors, report) },
            Tier::Scalar | Tier::NeonAes => return false,
        }
        return true;
    }
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        // SAFETY: the tier, and with it NEON, is there.
        unsafe { neon::verify(verify, survivors, report) };
        return true;
    }
    let _ = (tier, verify, survivors, report);
    false
}

/// Place of the first byte that is one of a set, if there is one; `None` where
/// `tier` has no kernel.
#[inline]
pub(super) fn find_in_set(tier: Tier, text: &[u8], set: &ByteSet) -> Option<Option<usize>> {
    #[cfg(target_arch = "x86_64")]
    if tier.is_available() {
        match tier {
            // SAFETY: the tier, and with it all that the kernel uses, is there.
            Tier::Avx512 => return Some(unsafe { avx512::find_in_set(text, set) }),
            // SAFETY: the tier, and with it AVX2, is there.
            Tier::Aesni => return Some(unsafe { avx2::find_in_set(text, set) }),
            Tier::Scalar | Tier::NeonAes => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        // SAFETY: the tier, and with it NEON, is there.
        return Some(unsafe { neon::find_in_set(text, set) });
    }
    let _ = (tier, text, set);
    None
}
