//! What the kernels of several families share.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod mersenne61;

/// The body of a function that fills buckets by a family's kernels: the one for AVX-512
/// hands them out row by row, the one for AVX2, if there is any, leaves that to be done at
/// its end. Returns true; or false where `tier` has no kernel or the processor no `tier`.
macro_rules! buckets_by_kernel {
    (
        [$avx512:path $(, $avx2:path)?],
        $tier:ident, $family:ident, $keys:ident, $out:ident, $sink:ident
    ) => {{
        #[cfg(target_arch = "x86_64")]
        if $tier.is_available() {
            match $tier {
                // SAFETY: the tier, and with it AVX-512 F, BW, VL and IFMA, is there.
                Tier::Avx512 => unsafe { $avx512($family, $keys, $out, $sink) },
                $(Tier::Aesni => {
                    // SAFETY: the tier, and with it AVX2, is there.
                    unsafe { $avx2($family, $keys, $out) };
                    $out.hand_to($sink);
                })?
                _ => return false,
            }
            return true;
        }
        let _ = ($tier, $family, $keys, $out, $sink);
        false
    }};
}
pub(crate) use buckets_by_kernel;

/// The body of a function that fills the buckets of one key by a family's kernel for
/// AVX-512. Returns true; or false where `tier` has no kernel or the processor no `tier`.
macro_rules! buckets_across_by_kernel {
    ($avx512:path, $tier:ident, $family:ident, $key:ident, $out:ident) => {{
        #[cfg(target_arch = "x86_64")]
        if $tier == Tier::Avx512 && $tier.is_available() {
            // SAFETY: the tier, and with it AVX-512 F, VL and IFMA, is there.
            unsafe { $avx512($family, $key, $out) };
            return true;
        }
        let _ = ($tier, $family, $key, $out);
        false
    }};
}
pub(crate) use buckets_across_by_kernel;

/// Calls `$kernel::<W>` for the number of words W, so that a key's words stay in
/// registers.
#[cfg(target_arch = "x86_64")]
macro_rules! for_words {
    ($words:expr, $kernel:ident, $($argument:expr),*) => {
        match $words {
            1 => $kernel::<1>($($argument),*),
            2 => $kernel::<2>($($argument),*),
            3 => $kernel::<3>($($argument),*),
            4 => $kernel::<4>($($argument),*),
            5 => $kernel::<5>($($argument),*),
            6 => $kernel::<6>($($argument),*),
            7 => $kernel::<7>($($argument),*),
            8 => $kernel::<8>($($argument),*),
            9 => $kernel::<9>($($argument),*),
            _ => $kernel::<10>($($argument),*),
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use for_words;

/// Words that a kernel has to read: those that the family counts and the keys have.
#[cfg(target_arch = "x86_64")]
pub(crate) fn words_to_read(
    family: &impl crate::Family,
    keys: &crate::columns::KeyColumns,
) -> usize {
    family.words().min(keys.words())
}
