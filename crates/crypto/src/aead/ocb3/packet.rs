//! What a kernel sees of a batch.

use super::key::Ocb3Key;
use crate::aead::plan;
use crate::cipher::Block;
use crate::suite::AesKeySize;

/// One packet.
pub(super) type Packet<'a> = plan::Packet<'a, Ocb3Key>;

/// Packets under keys of one size, shortest first.
pub(super) type Task<'t, 'a> = plan::Task<'t, 'a, Ocb3Key, AesKeySize>;

/// The bits of a nonce's second word that are not enciphered, `bottom` in the
/// RFC: the last byte of the block is the highest of the word.
pub(super) const BOTTOM: u64 = 63 << BOTTOM_AT;

/// Where they begin.
pub(super) const BOTTOM_AT: u32 = 56;

/// The part of a nonce's block that is enciphered, as two little-endian words, and `bottom`, the
/// last six bits: RFC 7253 section 4.2, with TAGLEN = 128 and a nonce of 96 bits.
#[inline]
pub(super) fn top_and_bottom(nonce: &Block) -> ([u64; 2], u32) {
    let nonce = 1 << 24 | u128::from_le_bytes(*nonce) << 32;
    let (low, high) = (nonce as u64, (nonce >> 64) as u64);
    ([low, high & !BOTTOM], ((high & BOTTOM) >> BOTTOM_AT) as u32)
}
