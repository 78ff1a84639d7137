//! What kernels leave on the stack: round keys and hash keys in variables and in spilled
//! registers, which a kernel must not go to memory to wipe by itself.
//!
//! Kernels that leave any are run by [`cleared`], which clears their frames when they
//! return. Tables of keys that outlive a call of a kernel are wiped where they lie.

use crate::simd::wipe;

/// More than the frames of any kernel, and of what lies between it and [`cleared`].
const FRAMES_BYTES: usize = 20 * 1024;

/// Runs `work`, and clears the part of the stack where its frames were.
#[inline(always)]
pub(crate) fn cleared<R>(work: impl FnOnce() -> R) -> R {
    let result = framed(work);
    clear();
    result
}

/// It is not inlined, so that all frames of `work` lie where [`clear`] has its own.
#[inline(never)]
fn framed<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[inline(never)]
fn clear() {
    let mut frames = [0u8; FRAMES_BYTES];
    wipe(&mut frames);
}
