//! The packets of a batch as kernels see them that hold several at once.

use std::cell::Cell;

use super::descriptor::Place;
use crate::aead::Packet;
use crate::cipher::Block;
use crate::impossible::{Impossible, happens};
use crate::kernel::Kind;
use crate::simd::block_of;
use crate::verdict::tags_agree;

/// Packets in columns. Their parts, which are borrowed for writing, are slices of cells, so that
/// no packet is cut from the buffer before another.
pub(crate) struct Cells<'a> {
    pub(crate) buffer: &'a [Cell<u8>],
    pub(crate) places: &'a [Place],
    pub(crate) nonces: &'a [Block],
    pub(super) slots: &'a [u32],
    pub(super) kinds: &'a [Kind],
    /// Whether all places are alike, no number is extended and no tag is cut.
    pub(crate) is_uniform: bool,
    /// Packets with extended sequence numbers, and their associated data.
    pub(super) is_esn: &'a [bool],
    pub(super) esn: &'a [Cell<[u8; 12]>],
    /// Whole tags of good packets that carry a part of theirs.
    pub(super) whole_tags: &'a [Cell<Block>],
}

/// Inlined always: a call in a kernel would spill its vectors.
impl<'a> Cells<'a> {
    /// Writes the IV of a packet, if it carries one, and says whether it needs none now.
    #[inline(always)]
    pub(super) fn write_iv(&self, index: usize) -> bool {
        if happens(Impossible::NoIv) {
            return false;
        }
        let iv = self.places.get(index).map(|place| place.iv());
        let Some(iv) = iv.and_then(|iv| self.buffer.get(iv)) else {
            return false;
        };
        let (Some(cells), Some(nonce)) = (iv.as_array::<8>(), self.nonces.get(index)) else {
            return iv.is_empty();
        };
        for (cell, byte) in cells.iter().zip(&nonce[4..12]) {
            cell.set(*byte);
        }
        true
    }

    /// A packet under its key; `None` where the checks of the batch would have refused it.
    #[inline(always)]
    pub(super) fn packet<K>(&self, index: u8, key: &'a K) -> Option<Packet<'a, K>> {
        let at = usize::from(index);
        if happens(Impossible::NotCut) {
            return None;
        }
        Some(Packet {
            key,
            nonce: self.nonces.get(at)?,
            index,
            associated: self.associated(at)?,
            text: self.text(at)?,
        })
    }

    /// What is authenticated and not encrypted.
    #[inline(always)]
    pub(crate) fn associated(&self, index: usize) -> Option<&'a [Cell<u8>]> {
        match self.is_uniform || !self.is_esn[index] {
            true => self.buffer.get(self.places.get(index)?.aad()),
            false => Some(self.esn.get(index)?.as_array_of_cells()),
        }
    }

    /// What is encrypted or decrypted in place.
    #[inline(always)]
    pub(crate) fn text(&self, index: usize) -> Option<&'a [Cell<u8>]> {
        self.buffer.get(self.places.get(index)?.payload())
    }

    /// Writes the tag of a packet, of 16 bytes, or compares it where packets are opened, and
    /// says whether the packet is good.
    #[inline(always)]
    pub(crate) fn finish(&self, index: usize, open: bool, tag: &Block) -> bool {
        let place = self.places.get(index).map(|place| place.tag());
        let Some(cell) = place.and_then(|place| block_of(self.buffer.get(place)?)) else {
            return open && self.agrees_with_cut_tag(index, tag);
        };
        if open {
            return tags_agree(&cell.get(), tag);
        }
        cell.set(*tag);
        true
    }

    /// Whether the part of its tag that a packet carries is the computed one's, which is then
    /// kept.
    #[cold]
    #[inline(never)]
    fn agrees_with_cut_tag(&self, index: usize, tag: &Block) -> bool {
        let place = self.places.get(index).map(|place| place.tag());
        let Some(cells) = place.and_then(|place| self.buffer.get(place)) else {
            return false;
        };
        let mut received = Block::default();
        for (byte, cell) in received.iter_mut().zip(cells) {
            *byte = cell.get();
        }
        let (Some(received), Some(computed)) =
            (received.get(..cells.len()), tag.get(..cells.len()))
        else {
            return false;
        };
        let is_good = !cells.is_empty() && tags_agree(received, computed);
        if is_good && let Some(whole) = self.whole_tags.get(index) {
            whole.set(*tag);
        }
        is_good
    }
}
