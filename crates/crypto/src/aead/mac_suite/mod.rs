//! Suites whose tag is one of [`crate::mac`]: AES-CTR and a universal-hash MAC under
//! keys that come from one, of private use, specified in `docs/mac-suites.md`; and
//! AES-GMAC, which has no cipher (RFC 4543).
//!
//! ```text
//! key (16 bytes) ─┬─ label "ctr-key " ─► key and salt of AES-CTR (RFC 3686)
//!                 └─ labels of the MAC ─► UMAC or MMH-MAC, nonce IV
//! tag = MAC(AAD ‖ IV ‖ ciphertext), or GMAC(AAD ‖ IV ‖ payload)
//! ```
//!
//! Packets go through both with those of MACs alone: [`crate::mac`].

mod key;
#[cfg(test)]
mod tests;

pub(crate) use key::MacSuiteKey;

/// Most bytes of associated data in front of a text that AES-CTR encrypts: what ESP
/// has with extended sequence numbers. With them the longest IP packet still fits
/// what MMH-MAC hashes.
pub(crate) const MOST_ASSOCIATED_BYTES: usize = 12;

/// Bytes of an IV, which are hashed too.
pub(crate) const IV_BYTES: usize = 8;
