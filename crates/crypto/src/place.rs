//! Where the packets of a batch lie in one buffer.

use crate::fault::{JobError, JobFault};
use crate::impossible::{Impossible, happens};

/// Where a packet lies in the buffer of its batch. Its parts follow one another
/// as on the wire:
///
/// ```text
/// offset
/// │ prefix │ gap │ IV │ text │ tag │
/// ```
///
/// IV and tag are as long as the suite's. The gap is left alone: ESP with
/// extended sequence numbers authenticates twelve bytes that are not sent
/// (RFC 4106 section 5) and keeps them in front of the eight that are.
///
/// The packets of a batch follow one another, too: each begins where the one
/// before it ends, or behind that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Where in the buffer the prefix begins.
    pub offset: u32,
    /// Bytes that are authenticated and not encrypted: [`crate::SealJob::prefix`].
    pub prefix_bytes: u16,
    /// Bytes between the prefix and the IV.
    pub gap_bytes: u16,
    /// Bytes of text: [`crate::SealJob::text`].
    pub text_bytes: u32,
}

/// How long the parts are that a suite prescribes.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) iv_bytes: usize,
    pub(crate) tag_bytes: usize,
}

/// A packet's parts in the buffer.
pub(crate) struct PlacedParts<'b> {
    pub(crate) prefix: &'b [u8],
    pub(crate) iv: &'b mut [u8],
    pub(crate) text: &'b mut [u8],
    pub(crate) tag: &'b mut [u8],
}

impl Place {
    #[inline]
    fn iv_offset(self) -> u64 {
        u64::from(self.offset) + u64::from(self.prefix_bytes) + u64::from(self.gap_bytes)
    }

    /// The text's place in a buffer that the packet lies in.
    #[inline]
    pub(crate) fn text(self, ends: Ends) -> std::ops::Range<usize> {
        let begin = self.iv_offset() as usize + ends.iv_bytes;
        begin..begin + self.text_bytes as usize
    }

    /// The tag's.
    #[inline]
    pub(crate) fn tag(self, ends: Ends) -> std::ops::Range<usize> {
        let begin = self.text(ends).end;
        begin..begin + ends.tag_bytes
    }

    /// Where the packet ends.
    #[inline]
    fn end(self, ends: Ends) -> u64 {
        let suites = ends.iv_bytes + ends.tag_bytes;
        self.iv_offset() + u64::from(self.text_bytes) + suites as u64
    }
}

/// Holds places against their buffer, in order.
pub(crate) struct Row {
    buffer_bytes: u64,
    /// Where the packet before ends.
    free_from: u64,
}

impl Row {
    #[inline]
    pub(crate) fn of(buffer: &[u8]) -> Row {
        Row {
            buffer_bytes: buffer.len() as u64,
            free_from: 0,
        }
    }

    /// The next packet's.
    ///
    /// # Errors
    /// It begins before the one before it ends, or ends behind the buffer.
    #[inline]
    pub(crate) fn check(&mut self, place: Place, ends: Ends) -> Result<(), JobFault> {
        let end = place.end(ends);
        let free_from = std::mem::replace(&mut self.free_from, end);
        if u64::from(place.offset) < free_from {
            return Err(JobFault::Overlap {
                offset: place.offset,
                free_from,
            });
        }
        if end > self.buffer_bytes {
            return Err(JobFault::OutOfBuffer {
                end,
                buffer_bytes: self.buffer_bytes,
            });
        }
        Ok(())
    }

    /// As [`Row::check`], for all packets of a batch of one suite.
    pub(crate) fn check_all(buffer: &[u8], places: &[Place], ends: Ends) -> Result<(), JobError> {
        let mut row = Row::of(buffer);
        places.iter().enumerate().try_for_each(|(job, place)| {
            row.check(*place, ends)
                .map_err(|fault| JobError { job, fault })
        })
    }
}

/// A buffer, from which packets are cut one after the other.
pub(crate) struct Rest<'b> {
    bytes: &'b mut [u8],
    /// Where in the buffer these begin.
    offset: usize,
}

impl<'b> Rest<'b> {
    #[inline]
    pub(crate) fn of(buffer: &'b mut [u8]) -> Rest<'b> {
        Rest {
            bytes: buffer,
            offset: 0,
        }
    }

    /// The next packet; `None` where a [`Row`] would have refused it.
    #[inline(always)]
    pub(crate) fn cut(&mut self, place: Place, ends: Ends) -> Option<PlacedParts<'b>> {
        let end = place.tag(ends).end;
        let skipped = (place.offset as usize).checked_sub(self.offset)?;
        let bytes = self.bytes.split_off_mut(..end.checked_sub(self.offset)?)?;
        self.offset = end;
        if happens(Impossible::NotCut) {
            return None;
        }
        let (prefix, bytes) = bytes
            .get_mut(skipped..)?
            .split_at_mut_checked(place.prefix_bytes.into())?;
        let (iv, bytes) = bytes
            .get_mut(place.gap_bytes.into()..)?
            .split_at_mut_checked(ends.iv_bytes)?;
        let (text, tag) = bytes.split_at_mut_checked(place.text_bytes as usize)?;
        Some(PlacedParts {
            prefix,
            iv,
            text,
            tag,
        })
    }
}
