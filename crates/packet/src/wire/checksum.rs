//! The Internet checksum (RFC 1071).

/// A running one's complement sum over 16-bit words.
///
/// ```
/// use weir_packet::wire::Checksum;
/// // RFC 1071, section 3.
/// let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
/// assert_eq!(Checksum::new().add(&bytes).finish(), !0xddf2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// A sum of nothing.
    pub fn new() -> Checksum {
        Checksum(0)
    }

    /// Adds bytes. All slices but the last must have an even length.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "a checksum is not a number, so `+` would say less"
    )]
    pub fn add(mut self, bytes: &[u8]) -> Checksum {
        // Sums of 16-bit words may be taken 32 bits at a time and folded at
        // the end (RFC 1071, section 2 C).
        let (words, rest) = bytes.as_chunks::<4>();
        for word in words {
            self.0 += u64::from(u32::from_be_bytes(*word));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        self.0 += u64::from(u32::from_be_bytes(last));
        self
    }

    /// Adds the pseudo-header of TCP, UDP and ICMPv6 (RFC 9293 section 3.1,
    /// RFC 8200 section 8.1). `addresses` are source and destination as on
    /// the wire, one after the other: 8 bytes for IPv4, 32 for IPv6.
    #[must_use]
    pub fn add_pseudo_header(
        self,
        addresses: &[u8],
        protocol: u8,
        transport_bytes: u32,
    ) -> Checksum {
        let mut sum = self.add(addresses);
        sum.0 += u64::from(protocol) + u64::from(transport_bytes);
        sum
    }

    /// The checksum as it stands in a header; over a header that contains a
    /// right checksum it is 0.
    pub fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }
}

/// The checksum of one slice, as of an IPv4 header.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    Checksum::new().add(bytes).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn header_with_its_checksum_sums_to_zero() {
        // Worked example of RFC 1624's kind: a header from a real capture.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(internet_checksum(&header), 0);
        let mut without = header;
        without[10..12].fill(0);
        assert_eq!(internet_checksum(&without), 0xb861);
    }

    proptest! {
        #[test]
        fn equals_the_sum_word_by_word(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut sum = 0u32;
            for pair in bytes.chunks(2) {
                sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
                sum = (sum >> 16) + (sum & 0xffff);
            }
            prop_assert_eq!(internet_checksum(&bytes), !(sum as u16));
        }
    }
}
