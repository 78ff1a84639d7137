//! HMAC (RFC 2104), whose tag ESP cuts to its first bytes (RFC 2404, RFC 4868).

use hmac::{Hmac, KeyInit};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::kernel::Misshapen;
use crate::suite::Mac;

/// The hash states behind the inner and the outer pad, which is all of the
/// key that a packet needs.
pub(crate) enum HmacKey {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
    Sha512(Hmac<Sha512>),
}

/// Bytes of the longest tag before it is cut.
const MOST_TAG_BYTES: usize = 64;

impl HmacKey {
    /// Hashes the pads of a key of any length; a suite's own rule for that
    /// length is checked with the key material.
    pub(crate) fn new(mac: Mac, key: &[u8]) -> Result<HmacKey, Misshapen> {
        Ok(match mac {
            Mac::HmacSha1_96 => HmacKey::Sha1(hash_pads(key)?),
            Mac::HmacSha2_256_128 => HmacKey::Sha256(hash_pads(key)?),
            Mac::HmacSha2_384_192 => HmacKey::Sha384(hash_pads(key)?),
            Mac::HmacSha2_512_256 => HmacKey::Sha512(hash_pads(key)?),
        })
    }

    /// Writes the first `tag.len()` bytes of the tag over the joined `parts`.
    pub(crate) fn write_tag(&self, parts: &[&[u8]], tag: &mut [u8]) -> Result<(), Misshapen> {
        match self {
            HmacKey::Sha1(key) => write_tag(key, parts, tag),
            HmacKey::Sha256(key) => write_tag(key, parts, tag),
            HmacKey::Sha384(key) => write_tag(key, parts, tag),
            HmacKey::Sha512(key) => write_tag(key, parts, tag),
        }
    }

    /// Whether `tag` is the beginning of the tag over the joined `parts`, in
    /// time that does not depend on where they differ.
    pub(crate) fn verifies(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        let mut expected = Zeroizing::new([0; MOST_TAG_BYTES]);
        let Some(expected) = expected.get_mut(..tag.len()) else {
            return false;
        };
        self.write_tag(parts, expected).is_ok() && expected.ct_eq(tag).into()
    }
}

fn hash_pads<H: KeyInit>(key: &[u8]) -> Result<H, Misshapen> {
    H::new_from_slice(key).map_err(|_| Misshapen)
}

fn write_tag<H>(key: &H, parts: &[&[u8]], tag: &mut [u8]) -> Result<(), Misshapen>
where
    H: hmac::Mac + Clone,
{
    let mut state = key.clone();
    for part in parts {
        state.update(part);
    }
    let whole = state.finalize().into_bytes();
    tag.copy_from_slice(whole.get(..tag.len()).ok_or(Misshapen)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(mac: Mac, key: &[u8], parts: &[&[u8]], bytes: usize) -> String {
        let mut tag = vec![0; bytes];
        HmacKey::new(mac, key)
            .and_then(|key| key.write_tag(parts, &mut tag))
            .expect("a tag of this length");
        tag.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 4231 sections 4.3 and 4.7: a key shorter than ESP's, and one longer
    /// than the hash's block. ESP's own lengths are among the known answers of
    /// the engines.
    #[test]
    fn keys_of_any_length_give_rfc_4231s_tags() {
        let short: &[u8] = b"Jefe";
        let asked: &[u8] = b"what do ya want for nothing?";
        let long: &[u8] = &[0xaa; 131];
        let hashed: &[u8] = b"Test Using Larger Than Block-Size Key - Hash Key First";
        for (mac, key, message, expected) in [
            (
                Mac::HmacSha2_256_128,
                short,
                asked,
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                Mac::HmacSha2_256_128,
                long,
                hashed,
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                Mac::HmacSha2_384_192,
                short,
                asked,
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e\
                 8e2240ca5e69e2c78b3239ecfab21649",
            ),
            (
                Mac::HmacSha2_384_192,
                long,
                hashed,
                "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c6\
                 0c2ef6ab4030fe8296248df163f44952",
            ),
            (
                Mac::HmacSha2_512_256,
                short,
                asked,
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
                 9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
            ),
            (
                Mac::HmacSha2_512_256,
                long,
                hashed,
                "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352\
                 6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
            ),
        ] {
            let bytes = expected.len() / 2;
            assert_eq!(tag(mac, key, &[message], bytes), expected, "{mac}");
            let (head, tail) = message.split_at(9);
            assert_eq!(tag(mac, key, &[head, &[], tail], bytes), expected, "{mac}");
        }
    }

    #[test]
    fn a_tag_longer_than_the_hash_is_refused() {
        for (mac, most) in [
            (Mac::HmacSha1_96, 20),
            (Mac::HmacSha2_256_128, 32),
            (Mac::HmacSha2_384_192, 48),
            (Mac::HmacSha2_512_256, 64),
        ] {
            let key = HmacKey::new(mac, b"key").expect("a key");
            let mut tag = vec![0; most];
            assert_eq!(key.write_tag(&[b"message"], &mut tag), Ok(()));
            assert!(key.verifies(&[b"message"], &tag));
            tag.push(0);
            assert_eq!(key.write_tag(&[b"message"], &mut tag), Err(Misshapen));
            assert!(!key.verifies(&[b"message"], &tag));
        }
    }
}
