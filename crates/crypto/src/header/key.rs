//! Keys of header protection.

use std::fmt;

use weir_simd::Tier;

use crate::cipher::{Block, MOST_ROUND_KEYS, expand};
use crate::engine::{Family, trusted_tier};
use crate::frames;
use crate::keys::KeyError;
use crate::simd::Wiped;
use crate::suite::{Aead, AesKeySize, Suite};

/// A key of header protection, expanded once. Wiped when dropped; `Debug` shows no secret.
pub struct HeaderKey {
    cipher: Cipher,
    suite: Suite,
}

/// Secrets are boxed, because moving them would leave copies behind that nobody wipes.
enum Cipher {
    Aes128(Box<Wiped<[Block; MOST_ROUND_KEYS]>>),
    Aes256(Box<Wiped<[Block; MOST_ROUND_KEYS]>>),
    ChaCha20(Box<Wiped<[u8; 32]>>),
}

/// What the kernels take.
pub(super) enum KeyKind<'k> {
    Aes128(&'k [Block; 11]),
    Aes256(&'k [Block; 15]),
    ChaCha20(&'k [u8; 32]),
}

impl HeaderKey {
    /// Expands the key that protects headers of packets of `suite`: AES-128-GCM, AES-256-GCM or
    /// ChaCha20-Poly1305. `key` is as long as that of the suite. QUIC derives it from the
    /// traffic secret, under the label `quic hp` (RFC 9001, section 5.1). The caller wipes its
    /// own copy.
    ///
    /// # Errors
    /// [`KeyError::NoHeaderProtection`] for other suites, [`KeyError::CipherKey`] for another
    /// length, [`KeyError::NoEngine`].
    pub fn new(suite: Suite, key: &[u8]) -> Result<HeaderKey, KeyError> {
        let tier = trusted_tier(Family::HeaderProtection).ok_or(KeyError::NoEngine)?;
        HeaderKey::at_tier(suite, key, tier)
    }

    /// The same with the instructions of `tier`.
    pub(super) fn at_tier(suite: Suite, key: &[u8], tier: Tier) -> Result<HeaderKey, KeyError> {
        if key.len() != suite.key_bytes() {
            return Err(KeyError::CipherKey {
                needed_bytes: suite.key_bytes(),
                given_bytes: key.len(),
            });
        }
        let expanded = |size| {
            frames::cleared(|| expand(tier, size, key).map(Box::new)).map_err(KeyError::from)
        };
        let cipher = match suite {
            Suite::Aead(Aead::AesGcm16(size @ AesKeySize::Aes128)) => {
                Cipher::Aes128(expanded(size)?)
            }
            Suite::Aead(Aead::AesGcm16(size @ AesKeySize::Aes256)) => {
                Cipher::Aes256(expanded(size)?)
            }
            Suite::Aead(Aead::ChaCha20Poly1305) => {
                let mut boxed = Box::new(Wiped([0; 32]));
                boxed.copy_from_slice(key);
                Cipher::ChaCha20(boxed)
            }
            _ => return Err(KeyError::NoHeaderProtection { suite }),
        };
        Ok(HeaderKey { cipher, suite })
    }

    /// The suite of the packets whose headers this key protects.
    #[inline]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    #[inline]
    pub(super) fn kind(&self) -> KeyKind<'_> {
        match &self.cipher {
            Cipher::Aes128(schedule) => {
                let [used @ .., _, _, _, _] = &***schedule;
                KeyKind::Aes128(used)
            }
            Cipher::Aes256(schedule) => KeyKind::Aes256(schedule),
            Cipher::ChaCha20(key) => KeyKind::ChaCha20(key),
        }
    }
}

impl fmt::Debug for HeaderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderKey")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}
