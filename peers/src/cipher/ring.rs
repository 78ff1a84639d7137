//! ring.

use ring::aead::{AES_128_GCM, Aad, Algorithm, CHACHA20_POLY1305};
use ring::aead::{LessSafeKey, Nonce, Tag, UnboundKey};
use ring::error::Unspecified;

use super::comparison::{PeerKey, Refused};
use super::packets::{Parts, Secret, Turn, counted_nonce, received_nonce};

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
            Tag::try_from(&*parts.tag).map_err(|_| Refused)?,
            parts.text,
            0..,
        )?;
        Ok(())
    }
}
