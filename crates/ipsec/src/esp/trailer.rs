//! Padding, pad length and next header (RFC 4303, sections 2.4 to 2.6).

use super::{ALIGNMENT_BYTES, TRAILER_BYTES};

/// The longest padding: 1, 2, 3, ….
const PADDING: [u8; 255] = {
    let mut padding = [0; 255];
    let mut count = 0;
    while count < padding.len() {
        padding[count] = count as u8 + 1;
        count += 1;
    }
    padding
};

/// Padding and pad length by the bytes of padding, in little-endian words.
const SHORT: [u64; ALIGNMENT_BYTES] = [0, 0x01_01, 0x02_02_01, 0x03_03_02_01];

/// What stands at the end of a plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Bytes in front of the padding.
    pub payload_bytes: usize,
    /// The protocol of the payload.
    pub next_header: u8,
}

/// A verified plaintext whose end is not ESP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrailerError {
    /// The pad length is more than the plaintext holds.
    Length,
    /// The padding is not 1, 2, 3, ….
    Contents,
}

impl Trailer {
    /// Reads the trailer of a verified plaintext and checks its padding.
    ///
    /// # Errors
    /// Which of the sender's rules is broken.
    #[inline]
    pub fn read(plaintext: &[u8]) -> Result<Trailer, TrailerError> {
        let (rest, &[pad_bytes, next_header]) =
            plaintext.split_last_chunk().ok_or(TrailerError::Length)?;
        let payload_bytes = rest
            .len()
            .checked_sub(usize::from(pad_bytes))
            .ok_or(TrailerError::Length)?;
        // Up to three bytes, as under stream ciphers, are compared without a call.
        let is_counted = match rest[payload_bytes..] {
            [] => true,
            [a] => a == 1,
            [a, b] => [a, b] == [1, 2],
            [a, b, c] => [a, b, c] == [1, 2, 3],
            ref padding => *padding == PADDING[..usize::from(pad_bytes)],
        };
        if !is_counted {
            return Err(TrailerError::Contents);
        }
        Ok(Trailer {
            payload_bytes,
            next_header,
        })
    }

    /// Writes `pad_bytes` of padding and the trailer into the bytes behind the payload. The bytes
    /// of an ICV behind them are overwritten. There is nothing to write where `behind` is too
    /// short or there are more than 255 bytes of padding.
    #[inline]
    pub fn write(next_header: u8, pad_bytes: usize, behind: &mut [u8]) {
        // Up to three bytes, as under stream ciphers, are written as one word.
        if let (Some(padding), Some(end)) = (SHORT.get(pad_bytes), behind.first_chunk_mut()) {
            let next_header = u64::from(next_header) << (8 * (pad_bytes + 1));
            *end = (padding | next_header).to_le_bytes();
            return;
        }
        let Some(end) = behind.get_mut(..pad_bytes + TRAILER_BYTES) else {
            return;
        };
        let (padding, trailer) = end.split_at_mut(pad_bytes);
        if let Some(counted) = PADDING.get(..pad_bytes) {
            padding.copy_from_slice(counted);
            trailer.copy_from_slice(&[pad_bytes as u8, next_header]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_padded_and_read_back() {
        for pad_bytes in 0..=255 {
            for (payload_bytes, icv_bytes) in [(0, 0), (1, 8), (2, 16), (3, 12), (64, 16)] {
                let bytes = payload_bytes + pad_bytes + TRAILER_BYTES;
                let mut text = vec![0xee; bytes + icv_bytes];
                let trailer = Trailer {
                    payload_bytes,
                    next_header: 41,
                };
                Trailer::write(41, pad_bytes, &mut text[payload_bytes..]);
                text.truncate(bytes);
                let padding: Vec<u8> = (1..=255).take(pad_bytes).collect();
                assert_eq!(text[payload_bytes..][..pad_bytes], padding);
                assert_eq!(Trailer::read(&text), Ok(trailer));
            }
        }
    }

    #[test]
    fn padding_is_checked() {
        for (text, expected) in [
            (&[][..], Err(TrailerError::Length)),
            (&[4], Err(TrailerError::Length)),
            (&[1, 4], Err(TrailerError::Length)),
            (&[1, 2, 3, 4, 4], Err(TrailerError::Length)),
            (&[9, 1, 2, 2, 4], Ok((1, 4))),
            (&[9, 0, 4], Ok((1, 4))),
            (&[9, 2, 2, 2, 4], Err(TrailerError::Contents)),
            (&[9, 1, 3, 2, 4], Err(TrailerError::Contents)),
            (&[9, 0, 0, 2, 4], Err(TrailerError::Contents)),
        ] {
            let read = Trailer::read(text).map(|t| (t.payload_bytes, t.next_header));
            assert_eq!(read, expected, "{text:?}");
        }
        let mut long: Vec<u8> = (1..=255).collect();
        long.extend([255, 59]);
        assert_eq!(
            Trailer::read(&long),
            Ok(Trailer {
                payload_bytes: 0,
                next_header: 59
            })
        );
    }
}
