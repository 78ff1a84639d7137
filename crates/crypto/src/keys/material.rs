//! Secret bytes of one direction of one association.

use std::fmt;

use zeroize::Zeroizing;

use super::NonceRule;
use crate::cipher::is_single_des;
use crate::kernel::InvalidLength;
use crate::mac::Algorithm;
use crate::suite::{Aead, Cipher, Suite};

/// The keys of one suite, of the right lengths. Wiped when dropped; not
/// `Clone`, and a [`crate::SealingKey`] takes it whole, so that no second key
/// can count through the same nonces. `Debug` shows no secret.
pub struct KeyMaterial {
    suite: Suite,
    rule: NonceRule,
    cipher_key: Zeroizing<Box<[u8]>>,
    salt: Zeroizing<[u8; 4]>,
    integrity_key: Zeroizing<Box<[u8]>>,
}

/// Why a key was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// The cipher's key, with the salt behind it where the suite has one.
    #[error("the cipher key has {given_bytes} bytes, {needed_bytes} are needed (salt included)")]
    CipherKey {
        /// Key and salt of the suite together.
        needed_bytes: usize,
        /// What was given.
        given_bytes: usize,
    },
    /// The MAC's key.
    #[error("the integrity key has {given_bytes} bytes, {needed_bytes} are needed")]
    IntegrityKey {
        /// [`Suite::integrity_key_bytes`].
        needed_bytes: usize,
        /// What was given.
        given_bytes: usize,
    },
    /// RFC 2451 section 2.3: such a key is no stronger than single DES.
    #[error("the 3DES key repeats one of its three parts and would be single DES: take another")]
    SingleDes,
    /// The suite is not used with nonces of this rule.
    #[error("{suite} is not used with nonces of this rule")]
    NonceRule {
        /// The suite.
        suite: Suite,
    },
    /// Tags of AES-GCM may be cut to 4, 8 or 12 bytes, those of other suites are not cut.
    #[error("tags of {suite} are not cut to {tag_bytes} bytes")]
    CutTags {
        /// The suite.
        suite: Suite,
        /// What was given.
        tag_bytes: usize,
    },
    /// QUIC does not protect headers beside this suite: see [`crate::header::HeaderKey::new`].
    #[error("{suite} has no header protection")]
    NoHeaderProtection {
        /// The suite.
        suite: Suite,
    },
    /// The nonces of the key hold no context.
    #[error("the nonces of this key hold no context")]
    NoContexts,
    /// The key has as many contexts as a key may have.
    #[error("a key has at most {max} contexts")]
    TooManyContexts {
        /// [`crate::MAX_CONTEXTS`].
        max: usize,
    },
    /// The context was declared before.
    #[error("context {context:#010x} was declared before")]
    ContextExists {
        /// The context.
        context: u32,
    },
    /// The batch has as many one-time keys as packets.
    #[error("the batch has {max} one-time keys already")]
    TooManyOneTimeKeys {
        /// [`crate::BATCH_PACKETS`].
        max: usize,
    },
    /// The operating system gave no random bytes.
    #[error("no random bytes for initialization vectors: {0}")]
    Entropy(getrandom::Error),
    /// No kernel of this build gave the published answers of the key's suite on
    /// this machine: see [`crate::engines`].
    #[error("no engine for this suite passed its self-test: see `weir engines`")]
    NoEngine,
    /// The lengths passed [`KeyMaterial::new`] and the cipher refused them all
    /// the same: a defect of this crate.
    #[error("the cipher refused a key of its own length")]
    Refused,
}

impl From<InvalidLength> for KeyError {
    fn from(InvalidLength: InvalidLength) -> KeyError {
        KeyError::Refused
    }
}

impl KeyMaterial {
    /// Key material of `suite` for ESP: `key` is the cipher's key followed by the salt, in the
    /// order of RFC 4106 section 8.1, RFC 3686 section 5.1 and RFC 7634 section 2; both slices
    /// may be empty where the suite needs none. A MAC alone takes its key, of HMAC any that is
    /// not shorter than the digest, and the salt behind it. The caller wipes its own copies.
    ///
    /// # Errors
    /// A length that is not the suite's, or a 3DES key that is single DES.
    pub fn new(suite: Suite, key: &[u8], integrity_key: &[u8]) -> Result<KeyMaterial, KeyError> {
        let (cipher_key, salt) = KeyMaterial::check(suite, key, integrity_key)?;
        Ok(KeyMaterial {
            suite,
            rule: NonceRule::Explicit,
            cipher_key: Zeroizing::new(cipher_key.into()),
            salt: Zeroizing::new(salt),
            integrity_key: Zeroizing::new(integrity_key.into()),
        })
    }

    /// The cipher's key and the salt, if these and the integrity key are as [`KeyMaterial::new`]
    /// takes them.
    pub(crate) fn check<'k>(
        suite: Suite,
        key: &'k [u8],
        integrity_key: &[u8],
    ) -> Result<(&'k [u8], [u8; 4]), KeyError> {
        let key_bytes = match suite {
            Suite::Mac(Algorithm::Hmac(_)) => key.len().max(suite.key_bytes()),
            _ => suite.key_bytes(),
        };
        let wrong_key = KeyError::CipherKey {
            needed_bytes: key_bytes + suite.salt_bytes(),
            given_bytes: key.len(),
        };
        let (cipher_key, salt) = key.split_at_checked(key_bytes).ok_or(wrong_key)?;
        if salt.len() != suite.salt_bytes() {
            return Err(wrong_key);
        }
        if integrity_key.len() != suite.integrity_key_bytes() {
            return Err(KeyError::IntegrityKey {
                needed_bytes: suite.integrity_key_bytes(),
                given_bytes: integrity_key.len(),
            });
        }
        if let Suite::EncryptThenMac(Cipher::TripleDesCbc, _) = suite
            && is_single_des(cipher_key)
        {
            return Err(KeyError::SingleDes);
        }
        Ok((cipher_key, filled_up(salt)))
    }

    /// Key material of an AEAD whose nonces follow `rule`: AES-GCM and ChaCha20-Poly1305 take
    /// any. `key` is the cipher's key alone, unless the rule is [`NonceRule::Explicit`].
    ///
    /// # Errors
    /// A length that is not the suite's, [`KeyError::NonceRule`] for other suites.
    pub fn with_nonces(suite: Suite, key: &[u8], rule: NonceRule) -> Result<KeyMaterial, KeyError> {
        if rule.is_explicit() {
            return KeyMaterial::new(suite, key, &[]);
        }
        if !matches!(
            suite,
            Suite::Aead(Aead::AesGcm16(_) | Aead::ChaCha20Poly1305)
        ) {
            return Err(KeyError::NonceRule { suite });
        }
        if key.len() != suite.key_bytes() {
            return Err(KeyError::CipherKey {
                needed_bytes: suite.key_bytes(),
                given_bytes: key.len(),
            });
        }
        Ok(KeyMaterial {
            suite,
            rule,
            cipher_key: Zeroizing::new(key.into()),
            salt: Zeroizing::new([0; 4]),
            integrity_key: Zeroizing::new(Box::default()),
        })
    }

    /// The suite that the keys belong to.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    pub(crate) fn rule(&self) -> &NonceRule {
        &self.rule
    }

    pub(crate) fn cipher_key(&self) -> &[u8] {
        &self.cipher_key
    }

    pub(crate) fn salt(&self) -> [u8; 4] {
        *self.salt
    }

    pub(crate) fn integrity_key(&self) -> &[u8] {
        &self.integrity_key
    }
}

/// A salt, and zeros that suites with a shorter one, or with none, never read.
fn filled_up(salt: &[u8]) -> [u8; 4] {
    std::array::from_fn(|i| salt.get(i).copied().unwrap_or(0))
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyMaterial")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}
