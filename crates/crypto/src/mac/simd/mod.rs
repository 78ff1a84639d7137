//! What kernels of several MACs share.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod pads;
#[cfg(target_arch = "x86_64")]
pub(in crate::mac) mod sums;
