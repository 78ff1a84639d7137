//! AWS-LC by its Rust interface.

use aws_lc_rs::aead::{AES_128_GCM, Aad, Algorithm, CHACHA20_POLY1305};
use aws_lc_rs::aead::{LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;

use super::comparison::{PeerKey, Refused};
use super::packets::{Parts, Secret, Turn, counted_nonce, counter_block, received_nonce};

impl From<Unspecified> for Refused {
    fn from(_: Unspecified) -> Refused {
        Refused
    }
}

/// AES-128-GCM, to open or to seal.
pub struct AesGcm<const OPENS: bool>(Aead);
/// ChaCha20-Poly1305, to open or to seal.
pub struct ChaCha20Poly1305<const OPENS: bool>(Aead);

impl<const OPENS: bool> PeerKey for AesGcm<OPENS> {
    fn new(secret: Secret<'_>) -> Result<Self, Refused> {
        Aead::new(&AES_128_GCM, secret).map(AesGcm)
    }

    #[inline]
    fn process(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        if OPENS {
            self.0.open(salt, parts)
        } else {
            self.0.seal(salt, turn, parts)
        }
    }
}

impl<const OPENS: bool> PeerKey for ChaCha20Poly1305<OPENS> {
    fn new(secret: Secret<'_>) -> Result<Self, Refused> {
        Aead::new(&CHACHA20_POLY1305, secret).map(ChaCha20Poly1305)
    }

    #[inline]
    fn process(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        if OPENS {
            self.0.open(salt, parts)
        } else {
            self.0.seal(salt, turn, parts)
        }
    }
}

struct Aead {
    key: LessSafeKey,
}

impl Aead {
    fn new(algorithm: &'static Algorithm, secret: Secret<'_>) -> Result<Aead, Refused> {
        Ok(Aead {
            key: LessSafeKey::new(UnboundKey::new(algorithm, secret.cipher_key)?),
        })
    }

    fn seal(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        let nonce = counted_nonce(salt, turn, parts.iv);
        let tag = self.key.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(parts.prefix),
            parts.text,
        )?;
        parts.tag.copy_from_slice(tag.as_ref());
        Ok(())
    }

    fn open(&self, salt: [u8; 4], parts: Parts<'_>) -> Result<(), Refused> {
        let nonce = received_nonce(salt, parts.iv);
        self.key.open_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(parts.prefix),
            parts.tag,
            parts.text,
        )?;
        Ok(())
    }
}

pub struct CtrHmac {
    cipher: EncryptingKey,
    mac: hmac::Key,
}

impl PeerKey for CtrHmac {
    fn new(secret: Secret<'_>) -> Result<CtrHmac, Refused> {
        let key = UnboundCipherKey::new(&AES_128, secret.cipher_key)?;
        Ok(CtrHmac {
            cipher: EncryptingKey::ctr(key)?,

            mac: hmac::Key::new(hmac::HMAC_SHA256, secret.integrity_key),
        })
    }

    fn process(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        let block = counter_block(counted_nonce(salt, turn, parts.iv));
        let context = EncryptionContext::Iv128(FixedLength::from(block));
        self.cipher.less_safe_encrypt(parts.text, context)?;
        write_tag(&self.mac, parts);
        Ok(())
    }
}

/// CBC with HMAC over SHA-256, or over SHA-1.
pub struct CbcHmac<const SHA256: bool> {
    cipher: EncryptingKey,
    mac: hmac::Key,
}

impl<const SHA256: bool> PeerKey for CbcHmac<SHA256> {
    fn new(secret: Secret<'_>) -> Result<Self, Refused> {
        let key = UnboundCipherKey::new(&AES_128, secret.cipher_key)?;
        let algorithm = if SHA256 {
            hmac::HMAC_SHA256
        } else {
            hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY
        };
        Ok(CbcHmac {
            cipher: EncryptingKey::cbc(key)?,
            mac: hmac::Key::new(algorithm, secret.integrity_key),
        })
    }

    fn process(&self, _: [u8; 4], _: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        let iv: [u8; 16] = (*parts.iv).try_into().map_err(|_| Refused)?;
        let context = EncryptionContext::Iv128(FixedLength::from(iv));
        self.cipher.less_safe_encrypt(parts.text, context)?;
        write_tag(&self.mac, parts);
        Ok(())
    }
}

/// The tag over associated data, IV and text, truncated to the suite's length.
fn write_tag(mac: &hmac::Key, parts: Parts<'_>) {
    let mut context = hmac::Context::with_key(mac);
    context.update(parts.prefix);
    context.update(parts.iv);
    context.update(parts.text);
    let whole = context.sign();
    let tag_bytes = parts.tag.len();
    parts.tag.copy_from_slice(&whole.as_ref()[..tag_bytes]);
}
