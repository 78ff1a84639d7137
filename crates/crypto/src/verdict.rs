//! The one bit about secrets that opening a packet makes public.

/// Whether the received tag is the computed one, in constant time: the differences of all words
/// are joined and compared with zero once. Lengths are public.
#[inline(always)]
pub(crate) fn tags_agree(received: &[u8], computed: &[u8]) -> bool {
    if received.len() != computed.len() {
        return false;
    }
    let (received, computed) = (received.as_chunks(), computed.as_chunks());
    let blocks = received.0.iter().zip(computed.0);
    let mut difference = blocks.fold(0, |difference, (a, b)| {
        difference | (u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b))
    });
    let (received, computed) = (received.1.as_chunks(), computed.1.as_chunks());
    for (a, b) in received.0.iter().zip(computed.0) {
        difference |= u128::from(u32::from_ne_bytes(*a) ^ u32::from_ne_bytes(*b));
    }
    for (a, b) in received.1.iter().zip(computed.1) {
        difference |= u128::from(a ^ b);
    }
    publish(std::hint::black_box(difference) == 0)
}

/// Whether a tag was right, computed in constant time. From here on the program
/// may branch on it, since the result is public. Marks it as public for
/// Memcheck, which follows secrets through the program; see [`crate::memcheck`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_of_every_length_is_found() {
        let computed: Vec<u8> = (0..64u8).map(|i| i.wrapping_mul(37)).collect();
        for bytes in 0..=computed.len() {
            let computed = &computed[..bytes];
            assert!(tags_agree(computed, computed));
            for bit in 0..8 * bytes {
                let mut received = computed.to_vec();
                received[bit / 8] ^= 1 << (bit % 8);
                assert!(
                    !tags_agree(&received, computed),
                    "bit {bit} of {bytes} bytes"
                );
            }
        }
        assert!(!tags_agree(&computed[..12], &computed[..16]));
    }
}
