//! The one bit about secrets that opening a packet makes public.

/// Whether a tag was right, computed in constant time: from here on it may be
/// branched on, since everybody learns it anyway. Memcheck, which follows
/// secrets through the program, is told so; see [`crate::memcheck`].
#[inline]
pub(crate) fn publish(agrees: bool) -> bool {
    publish_lanes(u8::from(agrees)) != 0
}

/// The same of several tags, a bit each.
#[inline]
pub(crate) fn publish_lanes(agree: u8) -> u8 {
    #[cfg(feature = "memcheck")]
    {
        let mut byte = [agree];
        crate::memcheck::publish(&mut byte);
        let [agree] = byte;
        agree
    }
    #[cfg(not(feature = "memcheck"))]
    agree
}
