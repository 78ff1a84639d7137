//! Packets cut from the buffer of their batch.

use super::descriptor::Place;
use crate::impossible::{Impossible, happens};

/// A packet's parts.
pub(super) struct Cut<'b> {
    pub(super) aad: &'b [u8],
    pub(super) iv: &'b mut [u8],
    pub(super) payload: &'b mut [u8],
    pub(super) tag: &'b mut [u8],
}

/// The bytes of a buffer from which no packet was cut yet: cuts ascend.
pub(super) struct Remainder<'b> {
    bytes: &'b mut [u8],
    /// Where in the buffer they begin.
    offset: usize,
}

impl<'b> Remainder<'b> {
    #[inline]
    pub(super) fn of(buffer: &'b mut [u8]) -> Remainder<'b> {
        Remainder {
            bytes: buffer,
            offset: 0,
        }
    }

    /// The packet at `place`; `None` where the checks of the batch would have refused it.
    #[inline(always)]
    pub(super) fn cut(&mut self, place: Place) -> Option<Cut<'b>> {
        let bytes = self.cut_whole(place)?;
        let (aad, bytes) = bytes.split_at_mut_checked(place.iv().start - place.offset())?;
        let (iv, bytes) = bytes.split_at_mut_checked(place.iv_bytes())?;
        let (payload, tag) = bytes.split_at_mut_checked(place.payload_bytes())?;
        Some(Cut {
            aad: aad.get(..place.aad_bytes())?,
            iv,
            payload,
            tag,
        })
    }

    /// The same in one piece.
    #[inline(always)]
    pub(super) fn cut_whole(&mut self, place: Place) -> Option<&'b mut [u8]> {
        let start = self.offset;
        let bytes = self
            .bytes
            .split_off_mut(..place.end().checked_sub(start)?)?;
        self.offset = place.end();
        if happens(Impossible::NotCut) {
            return None;
        }
        bytes.get_mut(place.offset().checked_sub(start)?..)
    }
}
