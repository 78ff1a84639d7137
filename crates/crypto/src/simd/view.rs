//! Numbers seen as other numbers.

use super::Numbers;

/// The front of `from`.
#[inline]
pub(crate) fn front<A: Numbers, B: Numbers>(from: &A) -> &B {
    const { assert!(size_of::<B>() <= size_of::<A>() && align_of::<B>() <= align_of::<A>()) };
    // SAFETY: it lies within `from` at an alignment of its own, and any bits are numbers.
    unsafe { &*std::ptr::from_ref(from).cast() }
}

/// The front of `from`.
#[inline]
pub(crate) fn front_mut<A: Numbers, B: Numbers>(from: &mut A) -> &mut B {
    const { assert!(size_of::<B>() <= size_of::<A>() && align_of::<B>() <= align_of::<A>()) };
    // SAFETY: as in `front`; whatever is written are numbers of both types.
    unsafe { &mut *std::ptr::from_mut(from).cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_made_of_the_same_bytes() {
        let mut long = [u64::from_ne_bytes([1, 2, 3, 4, 5, 6, 7, 8]), 9];
        assert_eq!(
            *front::<_, [[u8; 4]; 2]>(&long),
            [[1, 2, 3, 4], [5, 6, 7, 8]]
        );
        front_mut::<_, [u8; 3]>(&mut long)[1] = 20;
        assert_eq!(long, [u64::from_ne_bytes([1, 20, 3, 4, 5, 6, 7, 8]), 9]);
    }
}
