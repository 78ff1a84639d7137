//! What a kernel sees of a batch.

use std::cell::Cell;

use super::key::Ocb3Key;
use crate::aead::plan::{self, Planned};
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

/// Packets under keys of one size, shortest first.
pub(super) type Task<'t, 'a> = plan::Task<'t, Packet<'a>, AesKeySize>;

/// The bits of a nonce's second word that are not enciphered, `bottom` in the
/// RFC: the last byte of the block is the highest of the word.
pub(super) const BOTTOM: u64 = 63 << BOTTOM_AT;

/// Where they begin.
pub(super) const BOTTOM_AT: u32 = 56;

impl Planned for Packet<'_> {
    #[inline]
    fn text_bytes(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn associated_bytes(&self) -> usize {
        self.associated.len()
    }

    #[inline]
    fn has_key_like(&self, other: &Self) -> bool {
        self.key.size() == other.key.size()
    }
}

impl Packet<'_> {
    /// The part of the nonce that is enciphered, and `bottom`, the last six
    /// bits.
    #[inline]
    pub(super) fn top_and_bottom(&self) -> ([u64; 2], u32) {
        let [low, high] = self.nonce;
        ([low, high & !BOTTOM], ((high & BOTTOM) >> BOTTOM_AT) as u32)
    }
}
