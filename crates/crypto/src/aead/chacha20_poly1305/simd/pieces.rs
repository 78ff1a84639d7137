//! Texts in pieces that a block of the key stream covers.

use super::super::packet::Packet;

/// Bytes of a block of the key stream.
pub(super) const BLOCK_BYTES: usize = 64;

/// A piece of a text.
pub(super) struct Piece<'t, 'a> {
    pub(super) packet: &'t Packet<'a>,
    /// The number of the block that covers it.
    pub(super) counter: u32,
    pub(super) at: *mut u8,
    /// 1 to 64.
    pub(super) bytes: usize,
}

/// The pieces of some packets' texts, or of a window of each of them.
pub(super) struct Pieces<'t, 'a> {
    /// The packet that pieces are taken of, from `next` to `text_end`.
    packet: &'t Packet<'a>,
    next: usize,
    text_end: usize,
    /// Those behind it.
    packets: &'t [Packet<'a>],
    begin: usize,
    end: usize,
}

impl<'t, 'a> Pieces<'t, 'a> {
    /// Of no packets; `any` is not looked at.
    #[inline]
    pub(super) fn none(any: &'t Packet<'a>) -> Pieces<'t, 'a> {
        Pieces {
            packet: any,
            next: 0,
            text_end: 0,
            packets: &[],
            begin: 0,
            end: 0,
        }
    }

    /// Begins with the bytes from `begin` to `end` of the packets' texts, as far as they
    /// have any; `begin` is a multiple of 64.
    #[inline]
    pub(super) fn begin(&mut self, packets: &'t [Packet<'a>], begin: usize, end: usize) {
        self.packets = packets;
        (self.begin, self.end) = (begin, end);
        (self.next, self.text_end) = (0, 0);
    }

    /// Takes a piece.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<Piece<'t, 'a>> {
        while self.next >= self.text_end {
            (self.packet, self.packets) = self.packets.split_first()?;
            self.next = self.begin;
            self.text_end = self.packet.text.len().min(self.end);
        }
        let at: *mut u8 = self.packet.text.as_ptr().cast::<u8>().cast_mut();
        let piece = Piece {
            packet: self.packet,
            counter: (1 + self.next / BLOCK_BYTES) as u32,
            at: at.wrapping_add(self.next),
            bytes: BLOCK_BYTES.min(self.text_end - self.next),
        };
        self.next += BLOCK_BYTES;
        Some(piece)
    }
}
