//! ring.

use ring::aead::{AES_128_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::error::Unspecified;

use super::packets::{Packet, Secrets, nonce};
use super::{PeerKey, Refused};

impl From<Unspecified> for Refused {
    fn from(_: Unspecified) -> Refused {
        Refused
    }
}

pub struct AesGcm(Aead);
pub struct ChaCha20Poly1305(Aead);

impl PeerKey for AesGcm {
    fn new(secrets: &Secrets) -> Result<AesGcm, Refused> {
        let key = UnboundKey::new(&AES_128_GCM, &secrets.cipher_key)?;
        Ok(AesGcm(Aead::new(key, secrets)))
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        self.0.seal(packet)
    }
}

impl PeerKey for ChaCha20Poly1305 {
    fn new(secrets: &Secrets) -> Result<ChaCha20Poly1305, Refused> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &secrets.cipher_key)?;
        Ok(ChaCha20Poly1305(Aead::new(key, secrets)))
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        self.0.seal(packet)
    }
}

struct Aead {
    key: LessSafeKey,
    salt: [u8; 4],
}

impl Aead {
    fn new(key: UnboundKey, secrets: &Secrets) -> Aead {
        Aead {
            key: LessSafeKey::new(key),
            salt: secrets.salt,
        }
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        let nonce = nonce(self.salt, packet.turn.counter);
        packet.iv.copy_from_slice(&nonce[4..]);
        let tag = self.key.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(packet.prefix),
            packet.text,
        )?;
        packet.tag.copy_from_slice(tag.as_ref());
        Ok(())
    }
}
