//! Poly1305 by the `poly1305` crate, under one-time keys that ChaCha20 makes of a key and
//! a nonce: RFC 8439 section 2.6.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use poly1305::Poly1305;
use poly1305::universal_hash::{KeyInit, UniversalHash};
use zeroize::Zeroizing;

use super::message::for_whole_blocks;
use crate::cipher::Block;
use crate::kernel::InvalidLength;

/// A key of ChaCha20, and the salt that begins its nonces. Wiped when dropped.
pub(crate) struct Poly1305Key {
    key: Zeroizing<[u8; 32]>,
    salt: [u8; 4],
}

impl Poly1305Key {
    /// Of 32 bytes of key and 4 of salt.
    pub(super) fn new(key: &[u8], salt: [u8; 4]) -> Result<Poly1305Key, InvalidLength> {
        let key: &[u8; 32] = key.try_into().map_err(|_| InvalidLength)?;
        Ok(Poly1305Key {
            key: Zeroizing::new(*key),
            salt,
        })
    }

    pub(super) fn tag(&self, counter: u64, parts: [&[u8]; 2]) -> Block {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.salt);
        nonce[4..].copy_from_slice(&counter.to_be_bytes());
        let mut once = Zeroizing::new([0; 32]);
        ChaCha20::new((&*self.key).into(), (&nonce).into()).apply_keystream(&mut *once);
        tag(&once, parts)
    }
}

/// RFC 8439 section 2.5.
fn tag(once: &[u8; 32], parts: [&[u8]; 2]) -> Block {
    let mut hash = Poly1305::new(once.into());
    let (rest, filled) = for_whole_blocks(parts, |blocks| {
        for block in blocks {
            hash.update(&[(*block).into()]);
        }
    });
    hash.compute_unpadded(&rest[..filled]).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::unhex;

    fn array<const N: usize>(hex: &str) -> [u8; N] {
        unhex(hex)
            .and_then(|bytes| bytes.try_into().ok())
            .expect("N bytes")
    }

    /// RFC 8439 section 2.5.2.
    #[test]
    fn the_tag_is_that_of_the_standard() {
        let key = array("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b");
        let message = b"Cryptographic Forum Research Group";
        let expected: Block = array("a8061dc1305136c6c22b8baf0c0127a9");
        for cut in 0..message.len() {
            let (head, rest) = message.split_at(cut);
            assert_eq!(tag(&key, [head, rest]), expected);
        }
    }

    /// RFC 8439 section 2.6.2: the one-time key of a key and a nonce.
    #[test]
    fn one_time_keys_are_those_of_the_standard() {
        let raw = array::<32>("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
        let once = array("8ad5a08b905f81cc815040274ab29471a833b637e3fd0da508dbb8e2fdd1a646");
        let key = Poly1305Key::new(&raw, [0; 4]).expect("32 bytes");
        let message: &[u8] = b"any";
        let found = key.tag(0x0001_0203_0405_0607, [message, &[]]);
        assert_eq!(found, tag(&once, [message, &[]]));
    }
}
