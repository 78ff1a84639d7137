//! What the kernels of several families share.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;

/// The body of a function that fills buckets by a family's kernel: `avx512::buckets_to`,
/// which hands them out row by row, or `avx2::buckets`. Returns true; or false where `tier`
/// has no kernel or the processor no `tier`.
macro_rules! buckets_by_kernel {
    ($tier:ident, $family:ident, $keys:ident, $out:ident, $sink:ident) => {{
        #[cfg(target_arch = "x86_64")]
        if $tier.is_available() {
            match $tier {
                // SAFETY: the tier, and with it AVX-512 F, VL and IFMA, is there.
                Tier::Avx512 => unsafe { avx512::buckets_to($family, $keys, $out, $sink) },
                Tier::Aesni => {
                    // SAFETY: the tier, and with it AVX2, is there.
                    unsafe { avx2::buckets($family, $keys, $out) };
                    $out.hand_to($sink);
                }
                Tier::Scalar | Tier::NeonAes => return false,
            }
            return true;
        }
        let _ = ($tier, $family, $keys, $out, $sink);
        false
    }};
}
pub(crate) use buckets_by_kernel;
