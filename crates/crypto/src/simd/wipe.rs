//! Secrets are wiped a vector at a time. The crate `zeroize`, which wipes byte by byte
//! or word by word, would take as long to forget a key as its expansion takes.

use std::arch::asm;
use std::ops::{Deref, DerefMut};
use std::ptr;

/// Made of numbers alone.
///
/// # Safety
/// All bits are values, and there is no padding.
pub(crate) unsafe trait Numbers: Copy {}

// SAFETY: numbers.
unsafe impl Numbers for u8 {}
// SAFETY: numbers.
unsafe impl Numbers for u32 {}
// SAFETY: numbers.
unsafe impl Numbers for u64 {}
// SAFETY: numbers.
unsafe impl Numbers for u128 {}
// SAFETY: nothing lies between the elements of an array.
unsafe impl<T: Numbers, const N: usize> Numbers for [T; N] {}

/// Writes zeros, which the compiler may not leave out though nobody reads them.
#[inline]
pub(crate) fn wipe<T: Numbers>(values: &mut [T]) {
    let at = values.as_mut_ptr();
    // SAFETY: all of the values are writable, and zeros are values of their type. The
    // assembly has no instruction; the compiler must take it to read what lies there.
    unsafe {
        ptr::write_bytes(at, 0, values.len());
        asm!("/* {} */", in(reg) at, options(nostack, preserves_flags));
    }
}

/// Numbers that are wiped when dropped.
#[derive(Clone, Default)]
pub(crate) struct Wiped<T: Numbers>(pub(crate) T);

impl<T: Numbers> Deref for Wiped<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Numbers> DerefMut for Wiped<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Numbers> Drop for Wiped<T> {
    #[inline]
    fn drop(&mut self) {
        wipe(std::slice::from_mut(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_wiped_and_nothing_beside_it() {
        for bytes in 0..200 {
            let mut memory = [0xa5u8; 240];
            wipe(&mut memory[7..7 + bytes]);
            for (at, byte) in memory.iter().enumerate() {
                let is_wiped = (7..7 + bytes).contains(&at);
                assert_eq!(*byte == 0, is_wiped, "{bytes} bytes, byte {at}");
            }
        }
        let mut words = [[u32::MAX; 4]; 9];
        wipe(&mut words);
        assert_eq!(words, [[0; 4]; 9]);
    }
}
