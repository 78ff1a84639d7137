//! Where a packet lies in the buffer of its batch, and which key is its own.

use std::ops::Range;

use crate::etm::EtmLayout;
use crate::keys::KeyId;

/// One packet of a batch, described by offsets into the batch's buffer. Its parts follow one
/// another as on the wire:
///
/// ```text
/// offset
/// │ AAD │ gap │ IV │ payload │ tag │
/// ```
///
/// The IV and the tag are as long as the key says ([`crate::SealingKey::iv_bytes`],
/// [`crate::Suite::tag_bytes`]). The IV is there only under [`crate::NonceRule::Explicit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Descriptor {
    /// The packet's key.
    pub key: KeyId,
    /// Which of the key's contexts counts the packet: the SSRC in SRTP, 0 in protocols that
    /// have one sequence of numbers per key.
    pub context: u32,
    /// Where in the buffer the AAD begin.
    pub offset: u32,
    /// Lengths of the parts.
    pub layout: Layout,
}

/// Lengths of a packet's parts. Packets of one layout in a row are processed fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Bytes that are encrypted in place; under a MAC alone, the message.
    pub payload_bytes: u32,
    /// Associated data: bytes that are authenticated and not encrypted.
    pub aad_bytes: u16,
    /// Bytes behind the AAD that are neither, as the header of WireGuard's messages.
    pub gap_bytes: u8,
    /// ESP with extended sequence numbers. The AAD are the 8 bytes of SPI and low half; the
    /// high half of the packet's number is not sent and is authenticated all the same: between
    /// the two under an AEAD (RFC 4106, section 5), behind the payload under
    /// encrypt-then-MAC (RFC 4303, section 2.2.1).
    pub esn: bool,
}

/// Where a packet's parts lie in the buffer. The fields share two words, since fields that are
/// narrower than what is loaded at once would wait for each other in the store buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// Offset of the AAD, and above it that of the payload.
    offsets: u64,
    /// Bytes of the payload, above them 16 bits for those of the AAD, and 8 each for those of
    /// the IV and of the tag.
    lengths: u64,
}

impl Place {
    /// The place of a packet whose key adds an IV and a tag, and where it ends, which may be
    /// behind any buffer.
    #[inline(always)]
    pub(crate) fn new(offset: u32, layout: Layout, iv_bytes: u8, tag_bytes: u8) -> (Place, u64) {
        let ahead = u64::from(layout.aad_bytes) + u64::from(layout.gap_bytes) + u64::from(iv_bytes);
        let payload = u64::from(offset) + ahead;
        let end = payload + u64::from(layout.payload_bytes) + u64::from(tag_bytes);
        let place = Place {
            offsets: u64::from(offset) | payload << 32,
            lengths: u64::from(layout.payload_bytes)
                | u64::from(layout.aad_bytes) << 32
                | u64::from(iv_bytes) << 48
                | u64::from(tag_bytes) << 56,
        };
        (place, end)
    }

    #[inline(always)]
    pub(crate) fn offset(self) -> usize {
        (self.offsets & 0xffff_ffff) as usize
    }

    #[inline(always)]
    fn payload_offset(self) -> usize {
        (self.offsets >> 32) as usize
    }

    #[inline(always)]
    pub(crate) fn payload_bytes(self) -> usize {
        (self.lengths & 0xffff_ffff) as usize
    }

    #[inline(always)]
    pub(crate) fn aad_bytes(self) -> usize {
        (self.lengths >> 32 & 0xffff) as usize
    }

    #[inline(always)]
    pub(crate) fn iv_bytes(self) -> usize {
        (self.lengths >> 48 & 0xff) as usize
    }

    #[inline(always)]
    pub(crate) fn tag_bytes(self) -> usize {
        (self.lengths >> 56) as usize
    }

    #[inline(always)]
    pub(crate) fn aad(self) -> Range<usize> {
        self.offset()..self.offset() + self.aad_bytes()
    }

    #[inline(always)]
    pub(crate) fn iv(self) -> Range<usize> {
        let end = self.payload_offset();
        end - self.iv_bytes()..end
    }

    #[inline(always)]
    pub(crate) fn payload(self) -> Range<usize> {
        let start = self.payload_offset();
        start..start + self.payload_bytes()
    }

    #[inline(always)]
    pub(crate) fn tag(self) -> Range<usize> {
        let start = self.payload().end;
        start..start + self.tag_bytes()
    }

    /// Where the parts lie in the packet.
    #[inline(always)]
    pub(crate) fn etm_layout(self) -> EtmLayout {
        let start = self.offset();
        EtmLayout {
            aad_bytes: self.aad_bytes(),
            iv: self.iv().start - start,
            payload: self.payload().start - start,
            tag: self.tag().start - start,
        }
    }

    /// Where the packet ends.
    #[inline(always)]
    pub(crate) fn end(self) -> usize {
        self.tag().end
    }

    /// Whether the parts of both are of the same lengths.
    #[inline(always)]
    pub(crate) fn is_like(self, other: Place) -> bool {
        self.lengths == other.lengths
    }
}
