//! Names for keys that reveal nothing of them.

use std::fmt;

use sha2::{Digest, Sha256};

/// The first 128 bits of SHA-256 over a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Over the parts of a secret in a domain, which says whose secret it is and what is counted under
    /// it.
    pub fn over(domain: &str, parts: &[&[u8]]) -> Fingerprint {
        let mut hash = Sha256::new();
        for part in [&[domain.as_bytes()], parts].concat() {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let mut first = [0; 16];
        first.copy_from_slice(&hash.finalize()[..16]);
        Fingerprint(first)
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Fingerprint {
        Fingerprint(bytes)
    }

    pub(super) fn as_bytes(&self) -> &[u8; 16] {
        &self.0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_and_the_bounds_of_parts_count() {
        let one = Fingerprint::over("one", &[&[1; 16], &[2; 2]]);
        assert_eq!(one, Fingerprint::over("one", &[&[1; 16], &[2; 2]]));
        assert_ne!(one, Fingerprint::over("two", &[&[1; 16], &[2; 2]]));
        let moved = [&[1; 16][..], &[2], &[2]].concat();
        assert_ne!(one, Fingerprint::over("one", &[&moved]));
        assert_ne!(one, Fingerprint::over("one", &[&moved[..17], &[2]]));
        assert_eq!(one.to_string().len(), 32);
    }
}
