//! What kernels leave on the stack: round keys and hash keys in variables and in spilled
//! registers, which a kernel must not go to memory to wipe by itself.
//!
//! Kernels that leave any are run by [`cleared`], which clears their frames when they
//! return. Tables of keys that outlive a call of a kernel are wiped where they lie.

use crate::simd::wipe;

/// Runs `work`, and clears the part of the stack where its frames were: more than kernels have,
/// and what lies between them and here.
#[inline(always)]
pub(crate) fn cleared<R>(work: impl FnOnce() -> R) -> R {
    cleared_of::<{ 12 * 1024 }, R>(work)
}

/// As [`cleared`], but clears `BYTES` bytes of the stack.
#[inline(always)]
pub(crate) fn cleared_of<const BYTES: usize, R>(work: impl FnOnce() -> R) -> R {
    let result = framed(work);
    clear::<BYTES>();
    result
}

/// It is not inlined, so that all frames of `work` lie where [`clear`] has its own.
#[inline(never)]
fn framed<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[inline(never)]
fn clear<const BYTES: usize>() {
    let mut frames = [0u8; BYTES];
    wipe(&mut frames);
}
