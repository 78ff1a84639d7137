//! The RustCrypto crates, joined as their documentation shows.

use aes::Aes128Enc;
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::consts::U16;
use aes_gcm::aead::{AeadInOut, Nonce, Tag};
use cbc::cipher::{Array, Block, BlockModeEncrypt, InnerIvInit, KeyInit, StreamCipherCore};
use ctr::CtrCore;
use ctr::flavors::Ctr32BE;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::Sha256;

use super::packets::{Packet, Secrets, nonce};
use super::{PeerKey, Refused};
use crate::machine::versioned;

/// Name of the peer, with the crate that stands for it.
pub fn name(crate_name: &str) -> String {
    format!("RustCrypto {}", versioned(crate_name))
}

pub struct AesGcm(Aead<Aes128Gcm>);
pub struct ChaCha20Poly1305(Aead<chacha20poly1305::ChaCha20Poly1305>);

impl PeerKey for AesGcm {
    fn new(secrets: &Secrets) -> Result<AesGcm, Refused> {
        Aead::new(secrets).map(AesGcm)
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        self.0.seal(packet)
    }
}

impl PeerKey for ChaCha20Poly1305 {
    fn new(secrets: &Secrets) -> Result<ChaCha20Poly1305, Refused> {
        Aead::new(secrets).map(ChaCha20Poly1305)
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        self.0.seal(packet)
    }
}

struct Aead<A> {
    key: A,
    salt: [u8; 4],
}

impl<A: KeyInit + AeadInOut> Aead<A> {
    fn new(secrets: &Secrets) -> Result<Aead<A>, Refused> {
        Ok(Aead {
            key: A::new_from_slice(&secrets.cipher_key).map_err(|_| Refused)?,
            salt: secrets.salt,
        })
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        let nonce = nonce(self.salt, packet.turn.counter);
        packet.iv.copy_from_slice(&nonce[4..]);
        let nonce = <&Nonce<A>>::try_from(&nonce[..]).map_err(|_| Refused)?;
        let tag = <&mut Tag<A>>::try_from(packet.tag).map_err(|_| Refused)?;
        *tag = self
            .key
            .encrypt_inout_detached(nonce, packet.prefix, packet.text.into())
            .map_err(|_| Refused)?;
        Ok(())
    }
}

pub struct CtrHmac {
    cipher: Aes128Enc,
    salt: [u8; 4],
    mac: Hmac<Sha256>,
}

impl PeerKey for CtrHmac {
    fn new(secrets: &Secrets) -> Result<CtrHmac, Refused> {
        Ok(CtrHmac {
            cipher: expand(&secrets.cipher_key)?,
            salt: secrets.salt,
            mac: expand(&secrets.integrity_key)?,
        })
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        // RFC 3686, section 4: salt, IV, and a block counter from 1.
        let mut block = [0; 16];
        block[..12].copy_from_slice(&nonce(self.salt, packet.turn.counter));
        block[15] = 1;
        packet.iv.copy_from_slice(&block[4..12]);
        CtrCore::<&Aes128Enc, Ctr32BE>::inner_iv_init(&self.cipher, &Array(block))
            .try_apply_keystream_partial((&mut *packet.text).into())
            .map_err(|_| Refused)?;
        write_tag(&self.mac, packet);
        Ok(())
    }
}

pub struct CbcHmac {
    cipher: Aes128Enc,
    mac: Hmac<Sha1>,
}

impl PeerKey for CbcHmac {
    fn new(secrets: &Secrets) -> Result<CbcHmac, Refused> {
        Ok(CbcHmac {
            cipher: expand(&secrets.cipher_key)?,
            mac: expand(&secrets.integrity_key)?,
        })
    }

    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused> {
        let iv = <&Array<u8, U16>>::try_from(&*packet.iv).map_err(|_| Refused)?;
        let mut chain = cbc::Encryptor::<&Aes128Enc>::inner_iv_init(&self.cipher, iv);
        let (blocks, rest) = Block::<Aes128Enc>::slice_as_chunks_mut(packet.text);
        if !rest.is_empty() {
            return Err(Refused);
        }
        chain.encrypt_blocks(blocks);
        write_tag(&self.mac, packet);
        Ok(())
    }
}

fn expand<K: KeyInit>(key: &[u8]) -> Result<K, Refused> {
    K::new_from_slice(key).map_err(|_| Refused)
}

/// The tag over prefix, IV and text, cut to what the suite sends.
fn write_tag<M: Mac + Clone>(mac: &M, packet: Packet<'_>) {
    let mut state = mac.clone();
    state.update(packet.prefix);
    state.update(packet.iv);
    state.update(packet.text);
    let whole = state.finalize().into_bytes();
    let tag_bytes = packet.tag.len();
    packet.tag.copy_from_slice(&whole[..tag_bytes]);
}
