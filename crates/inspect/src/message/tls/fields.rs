//! The fields of handshake messages (RFC 8446, section 3): numbers, and texts
//! behind their length.

/// Bytes that are taken from the front; `None` where there are too few.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn number(&mut self) -> Option<u16> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*number))
    }

    /// A text behind its length in one byte.
    pub(super) fn behind_byte(&mut self) -> Option<&'a [u8]> {
        let length = self.take(1)?[0];
        self.take(usize::from(length))
    }

    /// A text behind its length in two bytes.
    pub(super) fn behind_number(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::from(length))
    }

    /// A text behind its length in three bytes.
    pub(super) fn behind_three(&mut self) -> Option<&'a [u8]> {
        let high = self.take(1)?[0];
        let length = usize::from(high) << 16 | usize::from(self.number()?);
        self.take(length)
    }
}
