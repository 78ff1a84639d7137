//! Masks over headers: RFC 9001, section 5.4.1.

/// Five bytes: the first for bits of the first byte, the others for the packet number.
pub type Mask = [u8; 5];

/// Set in the first byte of packets with a long header.
const LONG_HEADER: u8 = 0x80;

/// The bits of a first byte that tell how long the packet number is: its bytes less one.
const NUMBER_LENGTH: u8 = 0x03;

/// Masks the header of a packet that is sent, whose packet number has one to four bytes.
#[inline]
pub fn apply_mask(first_byte: &mut u8, packet_number: &mut [u8], mask: &Mask) {
    *first_byte ^= mask[0] & masked_bits(*first_byte);
    for (byte, mask) in packet_number.iter_mut().zip(&mask[1..]) {
        *byte ^= mask;
    }
}

/// Removes the mask of a packet that is received and returns the bytes of its packet number.
/// `packet_number` begins where the packet number does; at most four bytes of it are changed.
/// Which of them are is decided without a branch: timing must not show the length (RFC 9001,
/// section 9.5).
#[inline]
pub fn remove_mask(first_byte: &mut u8, packet_number: &mut [u8], mask: &Mask) -> usize {
    let [for_first, for_number @ ..] = *mask;
    *first_byte ^= for_first & masked_bits(*first_byte);
    let last = *first_byte & NUMBER_LENGTH;
    // By a shift: of comparisons byte by byte the compiler makes branches.
    let used = u32::MAX << (8 * u32::from(NUMBER_LENGTH - last));
    let for_number = (u32::from_be_bytes(for_number) & used).to_be_bytes();
    for (byte, mask) in packet_number.iter_mut().zip(for_number) {
        *byte ^= mask;
    }
    usize::from(last) + 1
}

/// Four bits of a long header, five of a short one, which has the key phase among them.
#[inline]
fn masked_bits(first_byte: u8) -> u8 {
    match first_byte & LONG_HEADER {
        0 => 0x1f,
        _ => 0x0f,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_removed_from_headers_of_every_form_and_number_length() {
        for first in 0..=255u8 {
            let bytes = usize::from(first & NUMBER_LENGTH) + 1;
            let mask = [first.wrapping_mul(37), 0x81, 0x42, 0x24, 0x18];
            let mut header = (first, [1, 2, 3, 4, 5]);
            apply_mask(&mut header.0, &mut header.1[..bytes], &mask);
            assert_eq!(header.0 & LONG_HEADER, first & LONG_HEADER);
            assert_eq!(header.1[bytes..], [1, 2, 3, 4, 5][bytes..]);
            assert!(header.1[..bytes].iter().zip(1..).all(|(a, b)| *a != b));
            assert_eq!(remove_mask(&mut header.0, &mut header.1, &mask), bytes);
            assert_eq!(header, (first, [1, 2, 3, 4, 5]));
        }
    }
}
