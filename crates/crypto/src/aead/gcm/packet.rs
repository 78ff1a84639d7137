//! What a kernel sees of a batch.

use std::cell::Cell;

use crate::cipher::Block;
use crate::verdict::publish;

/// One packet. Kernels hold several at once, so that the text, which is
/// borrowed for writing, is a slice of cells.
#[derive(Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// A raw key, or an expanded one, as the packet's kind says.
    pub(crate) key: &'a [u8],
    /// 12 bytes, and zeros. It lies where it was written: a copy would wait in the store buffer.
    pub(crate) nonce: &'a Block,
    /// Authenticated, not encrypted.
    pub(crate) associated: &'a [Cell<u8>],
    /// Encrypted or decrypted in place; at most 2³⁶ - 32 bytes.
    pub(crate) text: &'a [Cell<u8>],
}

/// A packet's text as kernels take it.
#[inline]
pub(crate) fn cells(text: &mut [u8]) -> &[Cell<u8>] {
    Cell::from_mut(text).as_slice_of_cells()
}

/// Whether the tag received is the one computed: one comparison of 128 bits, so
/// that no time tells where they differ. Of a tag of another length the answer
/// is no.
#[inline(always)]
pub(crate) fn tags_agree(received: &[u8], computed: &Block) -> bool {
    <Block>::try_from(received).is_ok_and(|received| {
        let difference = u128::from_ne_bytes(received) ^ u128::from_ne_bytes(*computed);
        publish(std::hint::black_box(difference) == 0)
    })
}
