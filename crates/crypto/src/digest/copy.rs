//! Copies too short for a call.

/// What [`copy_short`] takes at most.
pub(super) const SHORT_BYTES: usize = 128;

/// Copies at most [`SHORT_BYTES`], as many as either slice has, as two pieces of
/// a fixed length that may overlap.
#[inline(always)]
pub(super) fn copy_short(to: &mut [u8], from: &[u8]) {
    /// The first and the last `N` bytes.
    #[inline(always)]
    fn ends<const N: usize>(to: &mut [u8], from: &[u8]) -> bool {
        let (Some(head), Some(tail)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
            return false;
        };
        // Read before anything is written, so that both stay in registers.
        let (head, tail) = (*head, *tail);
        if let Some(to) = to.first_chunk_mut() {
            *to = head;
        }
        if let Some(to) = to.last_chunk_mut() {
            *to = tail;
        }
        true
    }
    let copied = ends::<64>(to, from)
        || ends::<32>(to, from)
        || ends::<16>(to, from)
        || ends::<8>(to, from)
        || ends::<4>(to, from)
        || ends::<2>(to, from);
    if !copied {
        ends::<1>(to, from);
    }
}
