//! AWS-LC by its Rust interface.

use aws_lc_rs::aead::{AES_128_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;

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

pub struct CtrHmac {
    cipher: EncryptingKey,
    salt: [u8; 4],
    mac: hmac::Key,
}

impl PeerKey for CtrHmac {
    fn new(secrets: &Secrets) -> Result<CtrHmac, Refused> {
        let key = UnboundCipherKey::new(&AES_128, &secrets.cipher_key)?;
        Ok(CtrHmac {
            cipher: EncryptingKey::ctr(key)?,
            salt: secrets.salt,
            mac: hmac::Key::new(hmac::HMAC_SHA256, &secrets.integrity_key),
        })
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        // RFC 3686, section 4: salt, IV, and a block counter from 1.
        let mut block = [0; 16];
        block[..12].copy_from_slice(&nonce(self.salt, packet.turn.counter));
        block[15] = 1;
        packet.iv.copy_from_slice(&block[4..12]);
        let context = EncryptionContext::Iv128(FixedLength::from(block));
        self.cipher.less_safe_encrypt(packet.text, context)?;
        write_tag(&self.mac, packet);
        Ok(())
    }
}

pub struct CbcHmac {
    cipher: EncryptingKey,
    mac: hmac::Key,
}

impl PeerKey for CbcHmac {
    fn new(secrets: &Secrets) -> Result<CbcHmac, Refused> {
        let key = UnboundCipherKey::new(&AES_128, &secrets.cipher_key)?;
        let algorithm = hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY;
        Ok(CbcHmac {
            cipher: EncryptingKey::cbc(key)?,
            mac: hmac::Key::new(algorithm, &secrets.integrity_key),
        })
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        let iv: [u8; 16] = (*packet.iv).try_into().map_err(|_| Refused)?;
        let context = EncryptionContext::Iv128(FixedLength::from(iv));
        self.cipher.less_safe_encrypt(packet.text, context)?;
        write_tag(&self.mac, packet);
        Ok(())
    }
}

/// The tag over prefix, IV and text, cut to what the suite sends.
fn write_tag(mac: &hmac::Key, packet: Packet<'_>) {
    let mut context = hmac::Context::with_key(mac);
    context.update(packet.prefix);
    context.update(packet.iv);
    context.update(packet.text);
    let whole = context.sign();
    let tag_bytes = packet.tag.len();
    packet.tag.copy_from_slice(&whole.as_ref()[..tag_bytes]);
}
