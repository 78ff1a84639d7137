//! Which message authentication codes there are, and what they promise.

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;
use crate::suite::AesKeySize;

/// A message authentication code with the length of its tag.
///
/// | name | tag | nonce | forged with probability at most, per attempt |
/// | --- | --- | --- | --- |
/// | `umac-32` … `umac-128` | 4 to 16 bytes | yes | 2⁻³⁰ for each 4 bytes (RFC 4418 section 6.2) |
/// | `mmh-mac-32` … `mmh-mac-128` | 4 to 16 bytes | yes | 3·2⁻³⁰ for each 4 bytes ([`crate::mac`]) |
/// | `aes-128-gmac` … `aes-256-gmac` | 16 bytes | yes | blocks·2⁻¹²⁸ (McGrew and Viega 2004) |
/// | `poly1305-chacha20` | 16 bytes | yes | 8·blocks·2⁻¹⁰⁶ (RFC 8439 section 4) |
/// | `hmac-sha2-256` and others | the digest | no | 2⁻ᵇ for tags of b bits, as far as the hash is a random function |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// UMAC, RFC 4418, with AES-128.
    Umac(TagWords),
    /// MMH-MAC: MMH32 in a tree of two levels, with one Toeplitz tag for each
    /// word, and a pad from AES-128.
    Mmh(TagWords),
    /// AES-GMAC, NIST SP 800-38D, nonces of 12 bytes.
    Gmac(AesKeySize),
    /// Poly1305 under one-time keys from ChaCha20, RFC 8439 section 2.6.
    Poly1305,
    /// HMAC, RFC 2104. It takes no nonce, and ignores the one it is given.
    Hmac(Digest),
}

/// Words of 32 bits in a tag that is made of several hashes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum TagWords {
    /// 4 bytes.
    One,
    /// 8 bytes.
    Two,
    /// 12 bytes.
    Three,
    /// 16 bytes.
    Four,
}

/// An algorithm's name was not understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown MAC `{name}`: use one of {}", names())]
pub struct AlgorithmError {
    /// The name as it was given.
    pub name: String,
}

fn names() -> String {
    let names: Vec<String> = Algorithm::all().map(|a| a.to_string()).collect();
    names.join(", ")
}

impl TagWords {
    /// All of them, shortest first.
    pub const ALL: [TagWords; 4] = [
        TagWords::One,
        TagWords::Two,
        TagWords::Three,
        TagWords::Four,
    ];

    /// How many.
    #[inline]
    pub const fn count(self) -> usize {
        self as usize + 1
    }
}

impl Algorithm {
    /// Every algorithm.
    pub fn all() -> impl Iterator<Item = Algorithm> {
        let umac = TagWords::ALL.into_iter().map(Algorithm::Umac);
        let mmh = TagWords::ALL.into_iter().map(Algorithm::Mmh);
        let gmac = AesKeySize::ALL.into_iter().map(Algorithm::Gmac);
        let hmac = Digest::ALL.into_iter().map(Algorithm::Hmac);
        umac.chain(mmh)
            .chain(gmac)
            .chain([Algorithm::Poly1305])
            .chain(hmac)
    }

    /// Bytes of the tag. HMAC's may be cut ([`Algorithm::allows_tag`]).
    #[inline]
    pub fn tag_bytes(self) -> usize {
        match self {
            Algorithm::Umac(words) | Algorithm::Mmh(words) => 4 * words.count(),
            Algorithm::Gmac(_) | Algorithm::Poly1305 => 16,
            Algorithm::Hmac(digest) => digest.bytes(),
        }
    }

    /// Whether a tag of this length is allowed: exactly [`Algorithm::tag_bytes`];
    /// a tag of HMAC may be truncated to half of that (RFC 2104 section 5), and
    /// to no less than 12 bytes.
    #[inline]
    pub fn allows_tag(self, bytes: usize) -> bool {
        self.tag_range().contains(&bytes)
    }

    #[inline]
    pub(crate) fn tag_range(self) -> std::ops::RangeInclusive<usize> {
        let most = self.tag_bytes();
        match self {
            Algorithm::Hmac(_) => (most / 2).max(12)..=most,
            _ => most..=most,
        }
    }

    /// Bytes of the raw key; GMAC's is followed by four bytes of salt, which
    /// begin the nonce. For HMAC the recommended length, that of the digest,
    /// which is also the least.
    pub fn key_bytes(self) -> usize {
        match self {
            Algorithm::Umac(_) | Algorithm::Mmh(_) => 16,
            Algorithm::Gmac(size) => size.key_bytes() + 4,
            Algorithm::Poly1305 => 32 + 4,
            Algorithm::Hmac(digest) => digest.bytes(),
        }
    }

    /// Whether every message needs a nonce of its own, which the receiver must
    /// know.
    pub fn has_nonce(self) -> bool {
        !matches!(self, Algorithm::Hmac(_))
    }

    /// The longest message in bytes.
    #[inline]
    pub fn most_message_bytes(self) -> u64 {
        match self {
            // What follows would be hashed by a polynomial of 128 bits, RFC 4418
            // section 5.3, whose keys no packet should carry about.
            Algorithm::Umac(_) => 1 << 24,
            Algorithm::Mmh(_) => super::mmh::MOST_BYTES as u64,
            // SP 800-38D section 5.2.1.1.
            Algorithm::Gmac(_) => (1 << 61) - 1,
            Algorithm::Poly1305 | Algorithm::Hmac(_) => (1 << 61) - 1,
        }
    }

    /// The algorithm called `name`.
    ///
    /// # Errors
    /// [`AlgorithmError`], whose text lists the names that exist.
    pub fn parse(name: &str) -> Result<Algorithm, AlgorithmError> {
        Algorithm::all()
            .find(|algorithm| algorithm.to_string() == name)
            .ok_or_else(|| AlgorithmError { name: name.into() })
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Algorithm::Umac(words) => write!(f, "umac-{}", 32 * words.count()),
            Algorithm::Mmh(words) => write!(f, "mmh-mac-{}", 32 * words.count()),
            Algorithm::Gmac(size) => write!(f, "aes-{}-gmac", 8 * size.key_bytes()),
            Algorithm::Poly1305 => f.write_str("poly1305-chacha20"),
            Algorithm::Hmac(Digest::Md5) => f.write_str("hmac-md5"),
            Algorithm::Hmac(Digest::Sha1) => f.write_str("hmac-sha1"),
            Algorithm::Hmac(digest) => write!(f, "hmac-sha2-{}", 8 * digest.bytes()),
        }
    }
}

impl FromStr for Algorithm {
    type Err = AlgorithmError;

    fn from_str(name: &str) -> Result<Algorithm, AlgorithmError> {
        Algorithm::parse(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_algorithm() {
        for algorithm in Algorithm::all() {
            assert_eq!(Algorithm::parse(&algorithm.to_string()), Ok(algorithm));
        }
        assert_eq!(Algorithm::all().count(), 4 + 4 + 3 + 1 + 6);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        for name in ["", "umac", "umac-16", "mmh-mac-160", "UMAC-64"] {
            let Err(error) = Algorithm::parse(name) else {
                panic!("`{name}` was taken for an algorithm");
            };
            let text = error.to_string();
            assert!(
                text.contains("umac-96") && text.contains("mmh-mac-128"),
                "{text}"
            );
        }
    }

    #[test]
    fn tags_of_no_other_length_are_allowed() {
        for algorithm in Algorithm::all() {
            let allowed: Vec<usize> = (0..=80).filter(|b| algorithm.allows_tag(*b)).collect();
            assert_eq!(allowed.last(), Some(&algorithm.tag_bytes()), "{algorithm}");
            if !matches!(algorithm, Algorithm::Hmac(_)) {
                assert_eq!(allowed.len(), 1, "{algorithm}");
            }
        }
    }
}
