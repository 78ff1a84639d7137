//! How a packet's number becomes its nonce.

use std::fmt;

use crate::cipher::Block;

/// How nonces are made from packet numbers. It belongs to the key, so that no two packets of a
/// key get one nonce.
///
/// Under every rule a nonce of 12 bytes is an injective function of context and number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NonceRule {
    /// ESP: the salt of the key material, then an IV of 8 bytes that is sent in the packet, in
    /// which the sender counts (RFC 4106 for GCM, 4309 for CCM, 4543 for GMAC, 7634 for
    /// ChaCha20-Poly1305, 3686 for CTR). Under CBC the IV is a block that nobody can predict
    /// (RFC 3602). It is the rule of [`crate::KeyMaterial::new`].
    Explicit,
    /// TLS 1.3 (RFC 8446, section 5.3) and QUIC (RFC 9001, section 5.3): these 12 bytes XOR
    /// the number of 64 bits at their end, and the context in front of it, which is 0 in both.
    /// In multipath QUIC it is the path ID.
    Xor([u8; 12]),
    /// SRTP with an AEAD (RFC 7714, section 8.1): these 12 bytes XOR two bytes of zeros, the
    /// context (the SSRC) of 4 bytes, and the number (rollover counter and sequence number) of
    /// 6 bytes. In SRTCP the number is the index of 31 bits, and the AAD, which a packet has at
    /// both ends, are put in one piece for Weir (section 9.1).
    Srtp([u8; 12]),
    /// WireGuard (section 5.4.6 of its paper): 4 bytes of zeros, and the number of 64 bits,
    /// little-endian.
    LittleEndian,
}

impl NonceRule {
    /// Whether packets carry an IV.
    #[inline]
    pub(crate) fn is_explicit(&self) -> bool {
        matches!(self, NonceRule::Explicit)
    }

    /// Exclusive: the end of the numbers that fit.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        match self {
            NonceRule::Srtp(_) => 1 << 48,
            NonceRule::Explicit | NonceRule::Xor(_) | NonceRule::LittleEndian => u64::MAX,
        }
    }

    /// The nonce of a packet, and four bytes of zeros.
    #[inline(always)]
    pub(crate) fn nonce(&self, salt: [u8; 4], context: u32, number: u64) -> Block {
        // Big-endian blocks as numbers: the nonce is the upper 96 bits.
        let xor = |iv: &[u8; 12], counted: u128| {
            let mut block = [0; 16];
            block[..12].copy_from_slice(iv);
            u128::from_be_bytes(block) ^ counted << 32
        };
        // Most packets are those of ESP: a branch on them and no jump through a table.
        if self.is_explicit() {
            let nonce = u128::from(u32::from_be_bytes(salt)) << 96 | u128::from(number) << 32;
            return nonce.to_be_bytes();
        }
        let nonce = match self {
            NonceRule::Explicit => 0,
            NonceRule::Xor(iv) => xor(iv, u128::from(context) << 64 | u128::from(number)),
            NonceRule::Srtp(iv) => xor(iv, u128::from(context) << 48 | u128::from(number)),
            NonceRule::LittleEndian => u128::from(number.swap_bytes()) << 32,
        };
        nonce.to_be_bytes()
    }
}

/// The IVs of TLS, QUIC and SRTP are secret.
impl fmt::Debug for NonceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NonceRule::Explicit => "Explicit",
            NonceRule::Xor(_) => "Xor(..)",
            NonceRule::Srtp(_) => "Srtp(..)",
            NonceRule::LittleEndian => "LittleEndian",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(rule: NonceRule, context: u32, number: u64) -> [u8; 12] {
        let block = rule.nonce([0xa1, 0xa2, 0xa3, 0xa4], context, number);
        assert_eq!(block[12..], [0; 4]);
        *block.first_chunk().expect("12 bytes")
    }

    #[test]
    fn nonces_are_those_of_the_documents() {
        let esp = nonce(NonceRule::Explicit, 0, 0x0102);
        assert_eq!(esp, [0xa1, 0xa2, 0xa3, 0xa4, 0, 0, 0, 0, 0, 0, 1, 2]);
        let wireguard = nonce(NonceRule::LittleEndian, 0, 0x0102);
        assert_eq!(wireguard, [0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);

        // RFC 9001, appendix A.5.
        let iv = [
            0xe0, 0x45, 0x9b, 0x34, 0x74, 0xbd, 0xd0, 0xe4, 0x4a, 0x41, 0xc1, 0x44,
        ];
        let quic = nonce(NonceRule::Xor(iv), 0, 654_360_564);
        assert_eq!(
            quic,
            [
                0xe0, 0x45, 0x9b, 0x34, 0x74, 0xbd, 0xd0, 0xe4, 0x6d, 0x41, 0x7e, 0xb0
            ]
        );

        // RFC 7714, section 16.1.1: SSRC cafebabe, ROC 0, SEQ f17b.
        let salt = [
            0x51, 0x75, 0x69, 0x64, 0x20, 0x70, 0x72, 0x6f, 0x20, 0x71, 0x75, 0x6f,
        ];
        let srtp = nonce(NonceRule::Srtp(salt), 0xcafe_babe, 0xf17b);
        assert_eq!(
            srtp,
            [
                0x51, 0x75, 0xa3, 0x9a, 0x9a, 0xce, 0x72, 0x6f, 0x20, 0x71, 0x84, 0x14
            ]
        );
    }
}
