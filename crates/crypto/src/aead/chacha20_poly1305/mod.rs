//! ChaCha20-Poly1305 (RFC 8439 section 2.8), with nonces that come whole: whether a
//! salt begins them, as in ESP (RFC 7634), is the caller's affair.
//!
//! ```text
//! block 0 of the key stream     r ‖ s ‖ 32 bytes unused
//! block i, from 1 on            Cᵢ = Pᵢ ⊕ block i
//! tag                           s + Σ mⱼ·rⁿ⁻ʲ⁺¹ mod 2¹³⁰ - 5, its low 128 bits
//! m₁ … mₙ                       associated data and ciphertext, each padded with zeros to
//!                               whole blocks of 16 bytes, and both lengths in bytes
//! ```
//!
//! Kernels take 16 packets at a time, in three steps:
//!
//! ```text
//! one-time keys   block 0 of each packet, a lane each
//! texts           block i of packet p, a lane each, whatever i and p: lanes stay full
//!                 though lengths differ
//! tags            a packet in each lane, block by block
//! ```
//!
//! Texts are encrypted before they are authenticated, and decrypted after it.

mod batch;
mod key;
mod packet;
mod scalar;
mod simd;
#[cfg(test)]
mod tests;

pub(crate) use batch::compute_tags;
pub(crate) use key::ChaCha20Poly1305Key;
