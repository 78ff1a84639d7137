//! What kernels of several MACs share.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod pads;
#[cfg(target_arch = "x86_64")]
pub(in crate::mac) mod sums;

/// The body of a function that calls a kernel of AVX-512 and returns true, or returns
/// false where `tier` is another or the processor lacks it.
macro_rules! by_avx512 {
    ($tier:ident, $kernel:ident($($argument:ident),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if $tier == Tier::Avx512 && $tier.is_available() {
            // SAFETY: the tier, and with it every feature that the kernel enables,
            // is there.
            unsafe { avx512::$kernel($($argument),*) };
            return true;
        }
        let _ = ($tier, $($argument),*);
        false
    }};
}
pub(in crate::mac) use by_avx512;
