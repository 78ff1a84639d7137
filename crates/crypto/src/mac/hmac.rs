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
