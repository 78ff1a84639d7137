//! Padding, pad length and next header (RFC 4303, sections 2.4 to 2.6).

use super::TRAILER_BYTES;

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

/// What stands at the end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Bytes in front of the padding.
    pub payload_bytes: usize,
    /// The protocol of the payload.
    pub next_header: u8,
}

/// A verified text whose end is not ESP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrailerError {
    /// The pad length is more than the text holds.
    Length,
    /// The padding is not 1, 2, 3, ….
    Contents,
}

impl Trailer {
    /// Reads the trailer of a verified text and checks its padding.
    ///
    /// # Errors
    /// Which of the sender's rules is broken.
    #[inline]
    pub fn read(text: &[u8]) -> Result<Trailer, TrailerError> {
        let (rest, &[pad_bytes, next_header]) =
            text.split_last_chunk().ok_or(TrailerError::Length)?;
        let payload_bytes = rest
            .len()
            .checked_sub(usize::from(pad_bytes))
            .ok_or(TrailerError::Length)?;
        // What a stream cipher's texts end with, without a call for so little.
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

    /// Writes padding and trailer behind the payload, up to the end of `text`.
    /// There must be space for the trailer and at most 255 bytes of padding.
    #[inline]
    pub fn write(&self, text: &mut [u8]) {
        let Some(end) = text.get_mut(self.payload_bytes..) else {
            return;
        };
        let Some((padding, trailer)) = end.split_last_chunk_mut::<TRAILER_BYTES>() else {
            return;
        };
        match padding {
            [] => (),
            [a] => *a = 1,
            [a, b] => [*a, *b] = [1, 2],
            [a, b, c] => [*a, *b, *c] = [1, 2, 3],
            _ => {
                if let Some(counted) = PADDING.get(..padding.len()) {
                    padding.copy_from_slice(counted);
                }
            }
        }
        *trailer = [padding.len() as u8, self.next_header];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_padded_and_read_back() {
        for pad_bytes in 0..=255 {
            for payload_bytes in [0, 1, 2, 3, 64, 70] {
                let mut text = vec![0xee; payload_bytes + pad_bytes + TRAILER_BYTES];
                let trailer = Trailer {
                    payload_bytes,
                    next_header: 41,
                };
                trailer.write(&mut text);
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
