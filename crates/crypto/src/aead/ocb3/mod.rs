//! OCB3 (RFC 7253) with AES, a tag of 16 bytes and a nonce of 12: salt and IV,
//! as GCM has them in ESP.
//!
//! A block of text is enciphered between two additions of an offset of its own;
//! no block waits for another, and the tag is one block more, over the sum of
//! the plaintext blocks:
//!
//! ```text
//!                 Offset₀     from E(nonce without its last six bits)
//! block i         Offsetᵢ   = Offsetᵢ₋₁ ⊕ L[ntz(i)]
//!                 Cᵢ        = E(Pᵢ ⊕ Offsetᵢ) ⊕ Offsetᵢ
//! partial block   Offset⁎   = Offsetₘ ⊕ L⁎,  C⁎ = P⁎ ⊕ E(Offset⁎)
//! tag             E(P₁ ⊕ … ⊕ Pₘ ⊕ P⁎10… ⊕ Offset ⊕ L$) ⊕ HASH(associated data)
//! ```
//!
//! Since ntz, the number of trailing zeros, repeats, the offsets of four blocks
//! in a row differ from the one before them by L₀, L₀ + L₁, L₁ and L₁ + L[ntz];
//! and since it counts in Gray code, Offsetₘ is Offset₀ plus the Lᵢ of the bits
//! of m ⊕ ⌊m/2⌋.
//!
//! There is no RFC for OCB in ESP.

mod batch;
mod key;
mod packet;
mod scalar;
mod simd;
#[cfg(test)]
mod tests;

pub(crate) use batch::{KINDS, compute_tags};
pub(crate) use key::Ocb3Key;
