//! Sequence numbers of 32 and of 64 bits (RFC 4303, sections 2.2 and 2.2.1).

/// The full number that the sender meant, from the low half on the wire
/// (RFC 4303, appendix A2.1).
///
/// The receiver knows the `highest` number that it has verified and the size
/// of its window in numbers. A low half that lies in the window belongs to
/// the window's own high half (or halves, where it spans a boundary); any
/// other one is taken to be ahead. A wrong guess fails verification, since the
/// high half is authenticated. `None` where the guess would lie before zero
/// or past 2^64: nobody has sent such a packet.
#[inline]
pub fn extended(low: u32, highest: u64, window: u64) -> Option<u64> {
    let highest_high = high_half(highest);
    let highest_low = low_half(highest);
    let window = window as u32;
    let window_left = highest_low.wrapping_sub(window.wrapping_sub(1));
    let high = if highest_low >= window.wrapping_sub(1) {
        // Case A: the window lies in one subspace of 2^32.
        if low >= window_left {
            highest_high
        } else {
            highest_high.checked_add(1)?
        }
    } else if low >= window_left {
        // Case B: it spans two, and this is the older one.
        highest_high.checked_sub(1)?
    } else {
        highest_high
    };
    Some(u64::from(high) << 32 | u64::from(low))
}

/// The half that is sent.
#[inline]
pub fn low_half(sequence: u64) -> u32 {
    sequence as u32
}

/// The half that is only authenticated, and only with extended sequence
/// numbers.
#[inline]
pub fn high_half(sequence: u64) -> u32 {
    (sequence >> 32) as u32
}

/// The last number that an association may use: RFC 4303, section 3.3.3,
/// forbids to cycle.
pub fn last(esn: bool) -> u64 {
    if esn { u64::MAX } else { u64::from(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SUBSPACE: u64 = 1 << 32;

    #[test]
    fn cases_of_rfc_4303_appendix_a() {
        for (low, highest, expected) in [
            // Case A: in the window, left of it (so ahead), and plainly ahead.
            (1000, 1000, Some(1000)),
            (937, 1000, Some(937)),
            (936, 1000, Some(SUBSPACE + 936)),
            (2000, 1000, Some(2000)),
            (u32::MAX, SUBSPACE + 1000, Some(SUBSPACE + (SUBSPACE - 1))),
            (0, SUBSPACE - 1, Some(SUBSPACE)),
            (5, SUBSPACE - 10, Some(SUBSPACE + 5)),
            // Case B: the window spans a boundary.
            (u32::MAX, SUBSPACE + 3, Some(SUBSPACE - 1)),
            (3, SUBSPACE + 3, Some(SUBSPACE + 3)),
            (4, SUBSPACE + 3, Some(SUBSPACE + 4)),
            // Before anything was received, and at the end of all numbers.
            (1, 0, Some(1)),
            (u32::MAX, 0, None),
            (0, u64::MAX, None),
        ] {
            assert_eq!(extended(low, highest, 64), expected, "{low} at {highest}");
        }
    }

    proptest! {
        /// Whatever lies in the window, or less than 2^32 less the window
        /// ahead of it, is recognised.
        #[test]
        fn numbers_near_the_window_are_recognised(
            highest in prop_oneof![0u64..10_000, (SUBSPACE - 5000)..(SUBSPACE + 5000), any::<u64>()],
            window in 64u64..=4096,
            offset in prop_oneof![-4096i64..5000, 0..(SUBSPACE as i64 - 4097)],
        ) {
            let Some(sequence) = highest.checked_add_signed(offset) else { return Ok(()) };
            prop_assume!(offset > -(window as i64) && sequence > 0);
            prop_assert_eq!(extended(low_half(sequence), highest, window), Some(sequence));
        }
    }
}
