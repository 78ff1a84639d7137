//! Arrays that start on a cache line.

use std::ops::{Deref, DerefMut};

/// `N` values of `T` aligned to 64 bytes: one or more full vectors of any
/// tier, which never straddle a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Lanes<T, const N: usize>(pub [T; N]);

impl<T: Copy + Default, const N: usize> Default for Lanes<T, N> {
    fn default() -> Self {
        Lanes([T::default(); N])
    }
}

impl<T, const N: usize> Deref for Lanes<T, N> {
    type Target = [T; N];
    fn deref(&self) -> &[T; N] {
        &self.0
    }
}

impl<T, const N: usize> DerefMut for Lanes<T, N> {
    fn deref_mut(&mut self) -> &mut [T; N] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_start_on_a_cache_line() {
        let lanes = [Lanes::<u32, 3>::default(); 4];
        for lane in &lanes {
            assert_eq!(std::ptr::from_ref(lane).addr() % 64, 0);
        }
    }
}
