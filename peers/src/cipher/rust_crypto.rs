//! The RustCrypto crates, combined as their documentation shows.
//!
//! `aes-gcm` is measured in two versions, since neither is always faster: 0.11 has wide
//! vectors and a more expensive key set-up. Both are fast only where the compiler may
//! use the processor's instructions everywhere. `aes` 0.9 wipes its keys here, because
//! Weir enables that feature, and Cargo builds a version of a crate once.

use aes::{Aes128, Aes128Enc};
use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U12;
use aes_gcm::aead::{AeadInOut, Nonce, Tag};
use cbc::cipher::{Block, BlockModeEncrypt, InnerIvInit, KeyInit, StreamCipherCore};
use ctr::CtrCore;
use ctr::flavors::Ctr32BE;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::Sha256;

use super::comparison::{PeerKey, Refused};
use super::packets::{Parts, Secret, Turn, counted_nonce, counter_block, received_nonce};
use crate::machine::versioned;

/// Name of the peer, with the crate's name and version.
pub fn name(crate_name: &str) -> String {
    format!("RustCrypto {}", versioned(crate_name))
}

/// AES-128-GCM, to open or to seal.
pub struct Gcm<const OPENS: bool>(Aead<AesGcm<Aes128Enc, U12>>);
/// ChaCha20-Poly1305, to open or to seal.
pub struct ChaCha20Poly1305<const OPENS: bool>(Aead<chacha20poly1305::ChaCha20Poly1305>);
/// AES-128-OCB3, to seal.
pub struct Ocb3(Aead<ocb3::Ocb3<Aes128, U12>>);

impl<const OPENS: bool> PeerKey for Gcm<OPENS> {
    #[inline(always)]
    fn new(secret: Secret<'_>) -> Result<Self, Refused> {
        Aead::new(secret).map(Gcm)
    }

    #[inline(always)]
    fn process(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        if OPENS {
            self.0.open(salt, parts)
        } else {
            self.0.seal(salt, turn, parts)
        }
    }
}

impl<const OPENS: bool> PeerKey for ChaCha20Poly1305<OPENS> {
    #[inline(always)]
    fn new(secret: Secret<'_>) -> Result<Self, Refused> {
        Aead::new(secret).map(ChaCha20Poly1305)
    }

    #[inline(always)]
    fn process(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        if OPENS {
            self.0.open(salt, parts)
        } else {
            self.0.seal(salt, turn, parts)
        }
    }
}

impl PeerKey for Ocb3 {
    #[inline(always)]
    fn new(secret: Secret<'_>) -> Result<Self, Refused> {
        Aead::new(secret).map(Ocb3)
    }

    #[inline(always)]
    fn process(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        self.0.seal(salt, turn, parts)
    }
}

struct Aead<A> {
    key: A,
}

impl<A: KeyInit + AeadInOut> Aead<A> {
    #[inline(always)]
    fn new(secret: Secret<'_>) -> Result<Aead<A>, Refused> {
        Ok(Aead {
            key: A::new_from_slice(secret.cipher_key).map_err(|_| Refused)?,
        })
    }

    #[inline(always)]
    fn seal(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        let nonce = counted_nonce(salt, turn, parts.iv);
        let nonce = <&Nonce<A>>::try_from(&nonce[..]).map_err(|_| Refused)?;
        let tag = <&mut Tag<A>>::try_from(parts.tag).map_err(|_| Refused)?;
        *tag = self
            .key
            .encrypt_inout_detached(nonce, parts.prefix, parts.text.into())
            .map_err(|_| Refused)?;
        Ok(())
    }

    #[inline(always)]
    fn open(&self, salt: [u8; 4], parts: Parts<'_>) -> Result<(), Refused> {
        let nonce = received_nonce(salt, parts.iv);
        let nonce = <&Nonce<A>>::try_from(&nonce[..]).map_err(|_| Refused)?;
        let tag = <&Tag<A>>::try_from(&*parts.tag).map_err(|_| Refused)?;
        self.key
            .decrypt_inout_detached(nonce, parts.prefix, parts.text.into(), tag)
            .map_err(|_| Refused)
    }
}

/// AES-128-GCM of the preceding version.
pub mod before {
    use aes_gcm_0_10::aead::AeadInPlace;
    use aes_gcm_0_10::{Aes128Gcm, KeyInit};

    use super::super::comparison::{PeerKey, Refused};
    use super::super::packets::{Parts, Secret, Turn, counted_nonce, received_nonce};
    use crate::machine::versioned_as;

    pub fn name() -> String {
        format!("RustCrypto {}", versioned_as("aes-gcm", "0.10."))
    }

    pub struct Gcm<const OPENS: bool> {
        key: Aes128Gcm,
    }

    impl<const OPENS: bool> PeerKey for Gcm<OPENS> {
        #[inline(always)]
        fn new(secret: Secret<'_>) -> Result<Self, Refused> {
            Ok(Gcm {
                key: Aes128Gcm::new_from_slice(secret.cipher_key).map_err(|_| Refused)?,
            })
        }

        #[inline(always)]
        fn process(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
            if OPENS {
                let nonce = received_nonce(salt, parts.iv);
                let tag = (&*parts.tag).into();
                return self
                    .key
                    .decrypt_in_place_detached(&nonce.into(), parts.prefix, parts.text, tag)
                    .map_err(|_| Refused);
            }
            let nonce = counted_nonce(salt, turn, parts.iv);
            let tag = self
                .key
                .encrypt_in_place_detached(&nonce.into(), parts.prefix, parts.text)
                .map_err(|_| Refused)?;
            parts.tag.copy_from_slice(&tag);
            Ok(())
        }
    }
}

pub struct CtrHmac {
    cipher: Aes128Enc,
    mac: Hmac<Sha256>,
}

impl PeerKey for CtrHmac {
    #[inline(always)]
    fn new(secret: Secret<'_>) -> Result<CtrHmac, Refused> {
        Ok(CtrHmac {
            cipher: expand(secret.cipher_key)?,

            mac: expand(secret.integrity_key)?,
        })
    }

    #[inline(always)]
    fn process(&self, salt: [u8; 4], turn: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        let block = counter_block(counted_nonce(salt, turn, parts.iv));
        CtrCore::<&Aes128Enc, Ctr32BE>::inner_iv_init(&self.cipher, &block.into())
            .try_apply_keystream_partial((&mut *parts.text).into())
            .map_err(|_| Refused)?;
        write_tag(&self.mac, parts);
        Ok(())
    }
}

/// CBC with one of these MACs.
pub struct CbcHmac<M> {
    cipher: Aes128Enc,
    mac: M,
}

pub type HmacSha1 = Hmac<Sha1>;
pub type HmacSha256 = Hmac<Sha256>;

impl<M: Mac + KeyInit + Clone> PeerKey for CbcHmac<M> {
    #[inline(always)]
    fn new(secret: Secret<'_>) -> Result<Self, Refused> {
        Ok(CbcHmac {
            cipher: expand(secret.cipher_key)?,
            mac: expand(secret.integrity_key)?,
        })
    }

    #[inline(always)]
    fn process(&self, _: [u8; 4], _: Turn, parts: Parts<'_>) -> Result<(), Refused> {
        let iv = (&*parts.iv).try_into().map_err(|_| Refused)?;
        let mut chain = cbc::Encryptor::<&Aes128Enc>::inner_iv_init(&self.cipher, iv);
        let (blocks, rest) = Block::<Aes128Enc>::slice_as_chunks_mut(parts.text);
        if !rest.is_empty() {
            return Err(Refused);
        }
        chain.encrypt_blocks(blocks);
        write_tag(&self.mac, parts);
        Ok(())
    }
}

fn expand<K: KeyInit>(key: &[u8]) -> Result<K, Refused> {
    K::new_from_slice(key).map_err(|_| Refused)
}

/// The tag over associated data, IV and text, truncated to the suite's length.
fn write_tag<M: Mac + Clone>(mac: &M, parts: Parts<'_>) {
    let mut state = mac.clone();
    state.update(parts.prefix);
    state.update(parts.iv);
    state.update(parts.text);
    let whole = state.finalize().into_bytes();
    let tag_bytes = parts.tag.len();
    parts.tag.copy_from_slice(&whole[..tag_bytes]);
}
