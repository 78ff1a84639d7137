//! The one bit about secrets that opening a packet makes public.

/// Whether a tag was right, computed in constant time: from here on it may be
/// branched on, since everybody learns it anyway. Memcheck, which follows
/// secrets through the program, is told so; see [`crate::memcheck`].
#[inline]
pub(crate) fn publish(agrees: bool) -> bool {
    #[cfg(feature = "memcheck")]
    {
        let mut byte = [u8::from(agrees)];
        crate::memcheck::publish(&mut byte);
        byte != [0]
    }
    #[cfg(not(feature = "memcheck"))]
    agrees
}
