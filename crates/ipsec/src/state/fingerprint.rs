//! Names for keys that tell nothing of them.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The first 128 bits of SHA-256 over the secret that nonces are counted
/// under: cipher key and salt. Suite, MAC key and SPI are left out, since the
/// same key and salt under another of them would still repeat a key stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Of a cipher key with its salt; for a suite without cipher, of its
    /// integrity key.
    pub fn of(key: &[u8], integrity_key: &[u8]) -> Fingerprint {
        let (kind, secret): (&[u8], _) = if key.is_empty() {
            (b"weir integrity key fingerprint", integrity_key)
        } else {
            (b"weir cipher key fingerprint", key)
        };
        let digest = Sha256::new()
            .chain_update((kind.len() as u64).to_be_bytes())
            .chain_update(kind)
            .chain_update(secret)
            .finalize();
        let mut first = [0; 16];
        for (byte, of_digest) in first.iter_mut().zip(digest) {
            *byte = of_digest;
        }
        Fingerprint(first)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> String {
        fingerprint.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Fingerprint, String> {
        let number = (text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| u128::from_str_radix(&text, 16).ok())
            .flatten();
        match number {
            Some(number) => Ok(Fingerprint(number.to_be_bytes())),
            None => Err(format!("{text:?} is not a fingerprint of 32 hex digits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let fingerprint = Fingerprint::of(&[7; 20], &[]);
        let text = fingerprint.to_string();
        assert_eq!(text.len(), 32);
        assert_eq!(Fingerprint::try_from(text.clone()), Ok(fingerprint));
        for wrong in [&text[1..], "", "+0000000000000000000000000000000"] {
            assert!(Fingerprint::try_from(wrong.to_owned()).is_err());
        }
    }

    #[test]
    fn the_secret_under_the_nonce_counts_and_nothing_else() {
        let of = Fingerprint::of;
        assert_eq!(of(&[1; 20], &[2; 20]), of(&[1; 20], &[3; 32]));
        assert_ne!(of(&[1; 20], &[]), of(&[1; 36], &[]));
        assert_ne!(of(&[], &[1; 20]), of(&[1; 20], &[]));
        assert_ne!(of(&[], &[1; 20]), of(&[], &[2; 20]));
    }
}
