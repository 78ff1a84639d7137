//! The Internet checksum (RFC 1071).

/// A sum in ones' complement that is not folded yet, of words in the byte order of the machine:
/// the result only has to be written in that order too (RFC 1071, section 2 B).
#[derive(Clone, Copy, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes that begin at an even place of what is summed. 4 GiB at most are summed.
    pub fn add(self, bytes: &[u8]) -> Sum {
        let mut chunks = bytes.chunks_exact(4);
        let words = chunks.by_ref();
        let words = words.map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        let sum: u64 = words.map(u64::from).sum();
        let mut rest = [0; 4];
        let left = chunks.remainder();
        rest[..left.len()].copy_from_slice(left);
        Sum(self.0 + sum + u64::from(u32::from_ne_bytes(rest)))
    }

    /// The sum in 16 bits, as bytes.
    pub fn folded(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        (sum as u16).to_ne_bytes()
    }

    /// The checksum: the complement of the sum.
    pub fn checksum(self) -> [u8; 2] {
        self.folded().map(|byte| !byte)
    }
}

/// Computes a checksum that was left to the interface: that of all bytes from `start` on, one of
/// which is the field itself, `offset` bytes behind, with a part of the sum in it. Returns
/// whether there is such a field.
pub fn finish_at(packet: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(summed) = packet
        .get(start..)
        .filter(|bytes| offset + 2 <= bytes.len())
    else {
        return false;
    };
    let checksum = not_zero(Sum::default().add(summed).checksum());
    packet[start + offset..start + offset + 2].copy_from_slice(&checksum);
    true
}

/// Zero says that there is no checksum (RFC 768); its other form is the same number.
pub fn not_zero(checksum: [u8; 2]) -> [u8; 2] {
    match checksum {
        [0, 0] => [0xff, 0xff],
        checksum => checksum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, word by word.
    fn reference(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |byte| u32::from(*byte));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn sums_are_those_of_the_rfc() {
        // RFC 1071, section 3.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().add(&bytes).folded(), [0xdd, 0xf2]);
        let random: Vec<u8> = (0_u32..70_000)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        for length in (0..200).chain([1499, 1500, 65_535, 70_000]) {
            let bytes = &random[..length];
            let sum = Sum::default().add(bytes);
            assert_eq!(u16::from_be_bytes(sum.checksum()), reference(bytes));
            // In parts, the first of even length.
            let middle = (length / 2) & !1;
            let parts = Sum::default().add(&bytes[..middle]).add(&bytes[middle..]);
            assert_eq!(parts.checksum(), sum.checksum());
        }
        let all_ones = vec![0xff; 65_536];
        assert_eq!(Sum::default().add(&all_ones).checksum(), [0, 0]);
        assert_eq!(reference(&all_ones), 0);
    }

    #[test]
    fn a_field_that_is_outside_is_left_alone() {
        let mut packet = [1; 20];
        for (start, offset) in [(21, 0), (19, 0), (0, 19), (20, 0)] {
            assert!(!finish_at(&mut packet, start, offset));
        }
        assert_eq!(packet, [1; 20]);
        assert!(finish_at(&mut packet, 10, 8));
    }
}
