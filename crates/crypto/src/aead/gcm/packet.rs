//! What a kernel sees of a batch.

use std::cell::Cell;

use super::key::KeyView;
use crate::cipher::Block;
use crate::verdict::publish;

/// One packet. Kernels hold several at once, so that the text, which is
/// borrowed for writing, is a slice of cells.
#[derive(Clone, Copy)]
pub(crate) struct Packet<'a> {
    pub(crate) key: KeyView<'a>,
    /// The little-endian number of the nonce's 12 bytes.
    pub(crate) nonce: u128,
    /// Authenticated, not encrypted.
    pub(crate) associated: &'a [u8],
    /// Encrypted or decrypted in place; at most 2³⁶ - 32 bytes.
    pub(crate) text: &'a [Cell<u8>],
}

impl Packet<'_> {
    /// Leaves zeros of the text.
    #[cold]
    pub(super) fn clear_text(&self) {
        for byte in self.text {
            byte.set(0);
        }
    }
}

/// A job of a batch, which may be of another algorithm.
pub(crate) trait GcmJob {
    /// Whether packets are opened, not sealed.
    const OPEN: bool;

    /// The job's packet, once what is to be done about it first has been done; `None`
    /// where it is not GCM's, or was refused.
    fn begin(&mut self) -> Option<Packet<'_>>;

    /// Takes the tag that was computed for the packet. Where packets are
    /// sealed, it is the packet's tag; where they are opened, it is compared in
    /// constant time with the one received, and the text, which has been
    /// decrypted, is cleared unless they are equal.
    fn finish(&mut self, tag: &Block);
}

/// A packet's text as kernels take it.
#[inline]
pub(crate) fn cells(text: &mut [u8]) -> &[Cell<u8>] {
    Cell::from_mut(text).as_slice_of_cells()
}

/// Whether the tag received is the one computed: one comparison of 128 bits, so
/// that no time tells where they differ. Of a tag of another length the answer
/// is no.
#[inline]
pub(crate) fn tags_agree(received: &[u8], computed: &Block) -> bool {
    <Block>::try_from(received).is_ok_and(|received| {
        let difference = u128::from_ne_bytes(received) ^ u128::from_ne_bytes(*computed);
        publish(std::hint::black_box(difference) == 0)
    })
}
