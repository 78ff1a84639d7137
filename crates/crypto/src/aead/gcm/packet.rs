//! What a kernel sees of a batch.

use std::cell::Cell;

use crate::cipher::Block;

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
