//! What a kernel sees of a batch.

use std::cell::Cell;

use super::key::Ocb3Key;
use crate::cipher::Block;
use crate::suite::AesKeySize;

/// One packet. Kernels hold several at once, so that the text, which is
/// borrowed for writing, is a slice of cells.
#[derive(Clone, Copy)]
pub(super) struct Packet<'a> {
    pub(super) key: &'a Ocb3Key,
    /// The nonce's block as two little-endian words, its last six bits, which
    /// are not enciphered, included.
    pub(super) nonce: [u64; 2],
    /// Authenticated, not encrypted.
    pub(super) associated: &'a [u8],
    /// Encrypted or decrypted in place.
    pub(super) text: &'a [Cell<u8>],
}

/// Packets under keys of one size, in the order in which a kernel takes them.
pub(super) struct Task<'t, 'a> {
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "the twin asks each key")
    )]
    pub(super) size: AesKeySize,
    pub(super) open: bool,
    /// Packets of any size of key.
    pub(super) packets: &'t [Option<Packet<'a>>],
    /// Places of the packets of this size, shortest first.
    pub(super) order: &'t [u32],
    /// Tags, by place.
    pub(super) tags: &'t mut [Block],
}

/// The bits of an order's element that are the place.
pub(super) const PLACE: u32 = 0xff;

impl<'t, 'a> Task<'t, 'a> {
    /// The packet at `position` of the order.
    #[inline]
    pub(super) fn packet(&self, position: usize) -> Option<&'t Packet<'a>> {
        let place = self.order.get(position)? & PLACE;
        self.packets.get(place as usize)?.as_ref()
    }

    /// Keeps the tag of the packet at `position` of the order.
    #[inline]
    pub(super) fn finish(&mut self, position: usize, tag: Block) {
        if let Some(place) = self.order.get(position)
            && let Some(at) = self.tags.get_mut((place & PLACE) as usize)
        {
            *at = tag;
        }
    }
}

impl Packet<'_> {
    /// The part of the nonce that is enciphered, and `bottom`, the last six
    /// bits.
    #[inline]
    pub(super) fn top_and_bottom(&self) -> ([u64; 2], u32) {
        // The last byte of the block is the highest of the second word.
        let [low, high] = self.nonce;
        ([low, high & !(63 << 56)], (high >> 56) as u32 & 63)
    }
}
