//! Copies too short for a call.

/// What [`copy_short`] takes at most.
pub(super) const SHORT_BYTES: usize = 128;

/// Copies at most [`SHORT_BYTES`], as many as each slice has, as two pieces of
/// a fixed length that may overlap.
#[inline(always)]
pub(super) fn copy_short(to: &mut [u8], from: &[u8]) {
    copy_each(to.len(), std::iter::once((to, from)));
}

/// The same for several pairs of slices of `bytes` bytes.
#[inline(always)]
pub(super) fn copy_each<'a>(bytes: usize, pairs: impl Iterator<Item = (&'a mut [u8], &'a [u8])>) {
    match bytes {
        64.. => copy_ends::<64>(pairs),
        32.. => copy_ends::<32>(pairs),
        16.. => copy_ends::<16>(pairs),
        8.. => copy_ends::<8>(pairs),
        4.. => copy_ends::<4>(pairs),
        2.. => copy_ends::<2>(pairs),
        1 => copy_ends::<1>(pairs),
        0 => {}
    }
}

/// The first and the last `N` bytes of each.
#[inline(always)]
fn copy_ends<'a, const N: usize>(pairs: impl Iterator<Item = (&'a mut [u8], &'a [u8])>) {
    for (to, from) in pairs {
        let (Some(head), Some(tail)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
            continue;
        };
        // Read before anything is written, so that both stay in registers.
        let (head, tail) = (*head, *tail);
        if let Some(to) = to.first_chunk_mut() {
            *to = head;
        }
        if let Some(to) = to.last_chunk_mut() {
            *to = tail;
        }
    }
}
