//! Secret bytes of one direction of one association.

use std::fmt;

use zeroize::Zeroizing;

use crate::cipher::is_single_des;
use crate::kernel::Misshapen;
use crate::suite::{Cipher, Suite};

/// The keys of one suite, of the right lengths. Wiped when dropped; not
/// `Clone`, and a [`crate::SealingKey`] takes it whole, so that no second key
/// can count through the same nonces. `Debug` shows no secret.
pub struct KeyMaterial {
    suite: Suite,
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

impl From<Misshapen> for KeyError {
    fn from(Misshapen: Misshapen) -> KeyError {
        KeyError::Refused
    }
}

impl KeyMaterial {
    /// Key material of `suite`: `key` is the cipher's key followed by the
    /// salt, in the order of RFC 4106 section 8.1, RFC 3686 section 5.1 and
    /// RFC 7634 section 2; both slices may be empty where the suite needs
    /// none. The caller wipes its own copies.
    ///
    /// # Errors
    /// A length that is not the suite's, or a 3DES key that is single DES.
    pub fn new(suite: Suite, key: &[u8], integrity_key: &[u8]) -> Result<KeyMaterial, KeyError> {
        let wrong_key = KeyError::CipherKey {
            needed_bytes: suite.key_bytes() + suite.salt_bytes(),
            given_bytes: key.len(),
        };
        let (cipher_key, salt) = key.split_at_checked(suite.key_bytes()).ok_or(wrong_key)?;
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
        Ok(KeyMaterial {
            suite,
            cipher_key: Zeroizing::new(cipher_key.into()),
            salt: Zeroizing::new(filled_up(salt)),
            integrity_key: Zeroizing::new(integrity_key.into()),
        })
    }

    /// The suite that the keys belong to.
    pub fn suite(&self) -> Suite {
        self.suite
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
