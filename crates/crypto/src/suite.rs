//! What protects a packet: names, sizes and valid combinations.

use std::fmt;
use std::str::FromStr;

use crate::limits::Limits;
use crate::mac::Algorithm;

/// What protects a packet: a cipher with its own integrity, or a cipher and a
/// MAC over its ciphertext (encrypt-then-MAC, the order of RFC 4303 section
/// 3.3.2), or a MAC alone. ESP may use those of which [`Suite::is_esp`] says so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Suite {
    /// One algorithm for both ("combined mode" in RFC 4303).
    Aead(Aead),
    /// A cipher, and a MAC over what it produced.
    EncryptThenMac(Cipher, Mac),
    /// A MAC over AAD and payload, which is not encrypted. The packet's number is its nonce.
    Mac(Algorithm),
}

/// Key size of AES.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AesKeySize {
    /// 16 bytes, 10 rounds.
    Aes128,
    /// 24 bytes, 12 rounds.
    Aes192,
    /// 32 bytes, 14 rounds.
    Aes256,
}

impl AesKeySize {
    /// All of them, shortest first.
    pub const ALL: [AesKeySize; 3] = [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256];
}

/// Authenticated encryption with associated data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Aead {
    /// AES-GCM with a tag of 16 bytes, RFC 4106.
    AesGcm16(AesKeySize),
    /// AES-CCM with a tag of 8 bytes, RFC 4309.
    AesCcm8(AesKeySize),
    /// AES-CCM with a tag of 12 bytes, RFC 4309.
    AesCcm12(AesKeySize),
    /// AES-CCM with a tag of 16 bytes, RFC 4309.
    AesCcm16(AesKeySize),
    /// AES-GMAC with a tag of 16 bytes, RFC 4543: the text is authenticated and
    /// not encrypted.
    AesGmac(AesKeySize),
    /// ChaCha20 and Poly1305, RFC 7634.
    ChaCha20Poly1305,
    /// AES-OCB3 with a tag of 16 bytes, RFC 7253. No RFC puts it into ESP.
    AesOcb3(AesKeySize),
    /// AES-128-CTR and a universal-hash MAC under keys derived from one. Of
    /// private use: `docs/mac-suites.md` puts it into ESP, no RFC does.
    AesCtrMac(UniversalMac),
}

/// A universal-hash MAC of a suite; its name ends in the bits of the tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UniversalMac {
    /// UMAC-64, 8 bytes of tag, RFC 4418.
    Umac64,
    /// UMAC-96, 12 bytes of tag, RFC 4418.
    Umac96,
    /// MMH-MAC-96, 12 bytes of tag, [`crate::mac::Algorithm::Mmh`].
    Mmh96,
    /// MMH-MAC-128, 16 bytes of tag.
    Mmh128,
}

/// A cipher without integrity of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cipher {
    /// No confidentiality, RFC 2410.
    Null,
    /// AES-CBC, RFC 3602.
    AesCbc(AesKeySize),
    /// AES-CTR, RFC 3686.
    AesCtr(AesKeySize),
    /// Triple DES in CBC mode, RFC 2451. Legacy.
    TripleDesCbc,
}

/// A message authentication code; its name ends in the bits of the tag that
/// are sent, so a tag length cannot be chosen apart from the MAC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mac {
    /// HMAC with SHA-1, 12 bytes of tag, RFC 2404.
    HmacSha1_96,
    /// HMAC with SHA-256, 16 bytes of tag, RFC 4868.
    HmacSha2_256_128,
    /// HMAC with SHA-384, 24 bytes of tag, RFC 4868.
    HmacSha2_384_192,
    /// HMAC with SHA-512, 32 bytes of tag, RFC 4868.
    HmacSha2_512_256,
}

/// A suite's name was not understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "unknown suite `{name}`: use {aeads}, or CIPHER+MAC with a cipher of {ciphers} and a MAC of {macs}",
    aeads = list(Aead::ALL),
    ciphers = list(Cipher::ALL),
    macs = list(Mac::ALL)
)]
pub struct SuiteError {
    /// The name as it was given.
    pub name: String,
}

fn list<T: fmt::Display>(names: &[T]) -> String {
    let names: Vec<String> = names.iter().map(T::to_string).collect();
    names.join(", ")
}

impl Suite {
    /// The suite called `name`: an [`Aead`] (`aes-128-gcm-16`), or a
    /// [`Cipher`] and a [`Mac`] joined by `+` (`aes-256-ctr+hmac-sha2-256-128`).
    ///
    /// # Errors
    /// [`SuiteError`], whose text lists the names that exist.
    pub fn parse(name: &str) -> Result<Suite, SuiteError> {
        Suite::all()
            .find(|suite| suite.to_string() == name)
            .ok_or_else(|| SuiteError { name: name.into() })
    }

    /// The name that [`Suite::parse`] takes; the same as [`fmt::Display`].
    pub fn name(self) -> String {
        self.to_string()
    }

    /// Every suite that can encrypt or that ESP uses, AEADs first: all but the MACs alone,
    /// which are [`Algorithm::all`].
    pub fn all() -> impl Iterator<Item = Suite> {
        let aeads = Aead::ALL.iter().map(|&aead| Suite::Aead(aead));
        let pairs = Cipher::ALL.iter().flat_map(|&cipher| {
            Mac::ALL
                .iter()
                .map(move |&mac| Suite::EncryptThenMac(cipher, mac))
        });
        aeads.chain(pairs)
    }

    /// Bytes of the cipher's key, without salt.
    #[inline]
    pub fn key_bytes(self) -> usize {
        match self {
            Suite::Aead(
                Aead::AesGcm16(size)
                | Aead::AesCcm8(size)
                | Aead::AesCcm12(size)
                | Aead::AesCcm16(size)
                | Aead::AesGmac(size)
                | Aead::AesOcb3(size),
            )
            | Suite::EncryptThenMac(Cipher::AesCbc(size) | Cipher::AesCtr(size), _) => {
                size.key_bytes()
            }
            Suite::Mac(algorithm) => algorithm.key_bytes() - self.salt_bytes(),
            Suite::Aead(Aead::AesCtrMac(_)) => AesKeySize::Aes128.key_bytes(),
            Suite::Aead(Aead::ChaCha20Poly1305) => 32,
            Suite::EncryptThenMac(Cipher::Null, _) => 0,
            Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => 24,
        }
    }

    /// Bytes of salt: the secret part of a nonce, which key material carries
    /// after the key (RFC 4106 section 8.1; RFC 3686 section 5.1 calls it
    /// nonce; RFC 7634 section 2; RFC 4309 section 4 has three bytes).
    #[inline]
    pub fn salt_bytes(self) -> usize {
        match self {
            Suite::Aead(Aead::AesCcm8(_) | Aead::AesCcm12(_) | Aead::AesCcm16(_)) => 3,
            Suite::Aead(Aead::AesCtrMac(_)) => 0,
            Suite::Aead(_) | Suite::EncryptThenMac(Cipher::AesCtr(_), _) => 4,
            Suite::Mac(Algorithm::Gmac(_) | Algorithm::Poly1305) => 4,
            Suite::EncryptThenMac(_, _) | Suite::Mac(_) => 0,
        }
    }

    /// Bytes of the MAC's key, which are as many as its hash puts out (RFC
    /// 2404 section 3, RFC 4868 section 2.1.1); 0 for an AEAD.
    pub fn integrity_key_bytes(self) -> usize {
        match self {
            Suite::Aead(_) | Suite::Mac(_) => 0,
            Suite::EncryptThenMac(_, mac) => mac.key_bytes(),
        }
    }

    /// Bytes of the initialization vector that ESP carries in front of the payload. Under other
    /// rules than [`crate::NonceRule::Explicit`] packets carry none:
    /// [`crate::SealingKey::iv_bytes`].
    #[inline]
    pub fn iv_bytes(self) -> usize {
        match self {
            Suite::Aead(_) | Suite::EncryptThenMac(Cipher::AesCtr(_), _) => 8,
            Suite::EncryptThenMac(Cipher::Null, _) | Suite::Mac(_) => 0,
            Suite::EncryptThenMac(Cipher::AesCbc(_), _) => 16,
            Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => 8,
        }
    }

    /// Whether packets carry an IV that nobody may predict: that of CBC.
    #[inline]
    pub(crate) fn has_random_iv(self) -> bool {
        let is_cbc = |cipher| matches!(cipher, Cipher::AesCbc(_) | Cipher::TripleDesCbc);
        matches!(self, Suite::EncryptThenMac(cipher, _) if is_cbc(cipher))
    }

    /// The payload's length must be a multiple of this many bytes; 1 where any
    /// length will do. ESP's own alignment to 4 bytes is not counted here.
    #[inline]
    pub fn block_bytes(self) -> usize {
        match self {
            Suite::EncryptThenMac(Cipher::AesCbc(_), _) => 16,
            Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => 8,
            Suite::Aead(_) | Suite::EncryptThenMac(_, _) | Suite::Mac(_) => 1,
        }
    }

    /// Most bytes of associated data.
    #[inline]
    pub fn max_aad_bytes(self) -> usize {
        match self {
            Suite::Aead(Aead::AesCtrMac(_)) => crate::aead::MOST_ASSOCIATED_BYTES,
            Suite::Aead(_) | Suite::EncryptThenMac(..) | Suite::Mac(_) => usize::MAX,
        }
    }

    /// Bytes of the tag (integrity check value) behind the payload.
    #[inline]
    pub fn tag_bytes(self) -> usize {
        match self {
            Suite::Aead(Aead::AesCtrMac(mac)) => mac.tag_bytes(),
            Suite::Aead(Aead::AesCcm8(_)) => 8,
            Suite::Aead(Aead::AesCcm12(_)) => 12,
            Suite::Aead(_) => 16,
            Suite::EncryptThenMac(_, mac) => mac.tag_bytes(),
            Suite::Mac(algorithm) => algorithm.tag_bytes(),
        }
    }

    /// Whether it is said how ESP uses the suite: by an RFC, or by
    /// `docs/mac-suites.md` where [`Suite::private_transform`] has a number.
    pub fn is_esp(self) -> bool {
        !matches!(self, Suite::Aead(Aead::AesOcb3(_)) | Suite::Mac(_))
    }

    /// The transform number of a suite of private use, which both ends have to
    /// agree on beforehand: IKEv2's encryption transforms from 1024 on are of
    /// private use (RFC 7296 section 3.3.2). None of a suite that has an RFC, or
    /// is not for ESP.
    pub fn private_transform(self) -> Option<u16> {
        match self {
            Suite::Aead(Aead::AesCtrMac(mac)) => Some(mac.transform()),
            Suite::Aead(_) | Suite::EncryptThenMac(..) | Suite::Mac(_) => None,
        }
    }

    /// Whether the cipher is kept for old captures only.
    pub fn is_legacy(self) -> bool {
        matches!(self, Suite::EncryptThenMac(Cipher::TripleDesCbc, _))
    }

    /// Whether nonces are made from the packet's number, so that a number used
    /// twice, also across restarts, would reveal payloads or let tags be forged.
    pub fn iv_is_counter(self) -> bool {
        match self {
            Suite::Aead(_) | Suite::EncryptThenMac(Cipher::AesCtr(_), _) => true,
            Suite::EncryptThenMac(..) => false,
            Suite::Mac(algorithm) => algorithm.has_nonce(),
        }
    }

    /// How much one key may protect.
    #[inline]
    pub fn limits(self) -> Limits {
        Limits::of(self)
    }
}

impl AesKeySize {
    pub(crate) const fn key_bytes(self) -> usize {
        match self {
            AesKeySize::Aes128 => 16,
            AesKeySize::Aes192 => 24,
            AesKeySize::Aes256 => 32,
        }
    }

    fn bits(self) -> usize {
        self.key_bytes() * 8
    }
}

impl Mac {
    const fn key_bytes(self) -> usize {
        match self {
            Mac::HmacSha1_96 => 20,
            Mac::HmacSha2_256_128 => 32,
            Mac::HmacSha2_384_192 => 48,
            Mac::HmacSha2_512_256 => 64,
        }
    }

    const fn tag_bytes(self) -> usize {
        match self {
            Mac::HmacSha1_96 => 12,
            Mac::HmacSha2_256_128 => 16,
            Mac::HmacSha2_384_192 => 24,
            Mac::HmacSha2_512_256 => 32,
        }
    }
}

impl UniversalMac {
    const fn tag_bytes(self) -> usize {
        match self {
            UniversalMac::Umac64 => 8,
            UniversalMac::Umac96 | UniversalMac::Mmh96 => 12,
            UniversalMac::Mmh128 => 16,
        }
    }

    const fn transform(self) -> u16 {
        match self {
            UniversalMac::Umac64 => 0xfc40,
            UniversalMac::Umac96 => 0xfc41,
            UniversalMac::Mmh96 => 0xfc42,
            UniversalMac::Mmh128 => 0xfc43,
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suite::Aead(aead) => aead.fmt(f),
            Suite::EncryptThenMac(cipher, mac) => write!(f, "{cipher}+{mac}"),
            Suite::Mac(algorithm) => algorithm.fmt(f),
        }
    }
}

impl FromStr for Suite {
    type Err = SuiteError;

    fn from_str(name: &str) -> Result<Suite, SuiteError> {
        Suite::parse(name)
    }
}

impl fmt::Display for Aead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aead::AesGcm16(size) => write!(f, "aes-{}-gcm-16", size.bits()),
            Aead::AesCcm8(size) => write!(f, "aes-{}-ccm-8", size.bits()),
            Aead::AesCcm12(size) => write!(f, "aes-{}-ccm-12", size.bits()),
            Aead::AesCcm16(size) => write!(f, "aes-{}-ccm-16", size.bits()),
            Aead::AesGmac(size) => write!(f, "aes-{}-gmac", size.bits()),
            Aead::ChaCha20Poly1305 => f.write_str("chacha20-poly1305"),
            Aead::AesOcb3(size) => write!(f, "aes-{}-ocb3", size.bits()),
            Aead::AesCtrMac(mac) => write!(f, "aes-128-ctr+{mac}"),
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cipher::Null => f.write_str("null"),
            Cipher::AesCbc(size) => write!(f, "aes-{}-cbc", size.bits()),
            Cipher::AesCtr(size) => write!(f, "aes-{}-ctr", size.bits()),
            Cipher::TripleDesCbc => f.write_str("3des-cbc"),
        }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mac::HmacSha1_96 => "hmac-sha1-96",
            Mac::HmacSha2_256_128 => "hmac-sha2-256-128",
            Mac::HmacSha2_384_192 => "hmac-sha2-384-192",
            Mac::HmacSha2_512_256 => "hmac-sha2-512-256",
        })
    }
}

impl fmt::Display for UniversalMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UniversalMac::Umac64 => "umac-64",
            UniversalMac::Umac96 => "umac-96",
            UniversalMac::Mmh96 => "mmh-mac-96",
            UniversalMac::Mmh128 => "mmh-mac-128",
        })
    }
}

impl Aead {
    /// Every AEAD.
    pub const ALL: &'static [Aead] = &[
        Aead::AesGcm16(AesKeySize::Aes128),
        Aead::AesGcm16(AesKeySize::Aes192),
        Aead::AesGcm16(AesKeySize::Aes256),
        Aead::AesCcm8(AesKeySize::Aes128),
        Aead::AesCcm8(AesKeySize::Aes192),
        Aead::AesCcm8(AesKeySize::Aes256),
        Aead::AesCcm12(AesKeySize::Aes128),
        Aead::AesCcm12(AesKeySize::Aes192),
        Aead::AesCcm12(AesKeySize::Aes256),
        Aead::AesCcm16(AesKeySize::Aes128),
        Aead::AesCcm16(AesKeySize::Aes192),
        Aead::AesCcm16(AesKeySize::Aes256),
        Aead::AesGmac(AesKeySize::Aes128),
        Aead::AesGmac(AesKeySize::Aes192),
        Aead::AesGmac(AesKeySize::Aes256),
        Aead::ChaCha20Poly1305,
        Aead::AesOcb3(AesKeySize::Aes128),
        Aead::AesOcb3(AesKeySize::Aes192),
        Aead::AesOcb3(AesKeySize::Aes256),
        Aead::AesCtrMac(UniversalMac::Umac64),
        Aead::AesCtrMac(UniversalMac::Umac96),
        Aead::AesCtrMac(UniversalMac::Mmh96),
        Aead::AesCtrMac(UniversalMac::Mmh128),
    ];
}

impl Cipher {
    /// Every cipher that needs a MAC.
    pub const ALL: &'static [Cipher] = &[
        Cipher::Null,
        Cipher::AesCbc(AesKeySize::Aes128),
        Cipher::AesCbc(AesKeySize::Aes192),
        Cipher::AesCbc(AesKeySize::Aes256),
        Cipher::AesCtr(AesKeySize::Aes128),
        Cipher::AesCtr(AesKeySize::Aes192),
        Cipher::AesCtr(AesKeySize::Aes256),
        Cipher::TripleDesCbc,
    ];
}

impl Mac {
    /// Every MAC.
    pub const ALL: &'static [Mac] = &[
        Mac::HmacSha1_96,
        Mac::HmacSha2_256_128,
        Mac::HmacSha2_384_192,
        Mac::HmacSha2_512_256,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_suite() {
        for suite in Suite::all() {
            assert_eq!(Suite::parse(&suite.name()), Ok(suite));
        }
        assert_eq!(Suite::all().count(), 23 + 8 * 4);
    }

    #[test]
    fn names_are_those_of_the_documentation() {
        for (name, suite) in [
            (
                "aes-128-gcm-16",
                Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128)),
            ),
            ("chacha20-poly1305", Suite::Aead(Aead::ChaCha20Poly1305)),
            (
                "aes-256-ctr+hmac-sha2-256-128",
                Suite::EncryptThenMac(Cipher::AesCtr(AesKeySize::Aes256), Mac::HmacSha2_256_128),
            ),
            (
                "null+hmac-sha2-512-256",
                Suite::EncryptThenMac(Cipher::Null, Mac::HmacSha2_512_256),
            ),
            (
                "3des-cbc+hmac-sha1-96",
                Suite::EncryptThenMac(Cipher::TripleDesCbc, Mac::HmacSha1_96),
            ),
            (
                "aes-128-ctr+mmh-mac-128",
                Suite::Aead(Aead::AesCtrMac(UniversalMac::Mmh128)),
            ),
        ] {
            assert_eq!(Suite::parse(name), Ok(suite));
        }
    }

    #[test]
    fn suites_of_private_use_have_numbers_of_their_own() {
        let numbers: Vec<u16> = Suite::all().filter_map(Suite::private_transform).collect();
        assert_eq!(numbers, [0xfc40, 0xfc41, 0xfc42, 0xfc43]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        for name in [
            "",
            "aes",
            "aes-128-gcm",
            "aes-128-cbc",
            "null",
            "AES-128-GCM-16",
        ] {
            let Err(error) = Suite::parse(name) else {
                panic!("`{name}` was taken for a suite");
            };
            let text = error.to_string();
            assert!(text.contains(&format!("`{name}`")), "{text}");
            for known in ["aes-192-gcm-16", "3des-cbc", "hmac-sha2-384-192"] {
                assert!(text.contains(known), "{text}");
            }
        }
    }
}
