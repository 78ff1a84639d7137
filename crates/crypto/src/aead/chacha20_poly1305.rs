//! ChaCha20 with Poly1305 as ESP uses it: RFC 8439, RFC 7634.

use chacha20poly1305::{ChaCha20Poly1305, KeyInit};

use crate::impossible::{Impossible, happens};
use crate::kernel::{Misshapen, salted_nonce};

/// The key, which ChaCha20 takes as it is, and the salt.
pub(crate) struct ChaCha20Poly1305Key {
    key: ChaCha20Poly1305,
    salt: [u8; 4],
}

impl ChaCha20Poly1305Key {
    pub(crate) fn new(key: &[u8], salt: [u8; 4]) -> Result<ChaCha20Poly1305Key, Misshapen> {
        let key = ChaCha20Poly1305::new_from_slice(key).map_err(|_| Misshapen)?;
        Ok(ChaCha20Poly1305Key { key, salt })
    }

    pub(crate) fn seal(
        &self,
        associated: &[u8],
        iv: &[u8],
        text: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), Misshapen> {
        let nonce = salted_nonce(self.salt, iv)?;
        if happens(Impossible::CipherRefuses) {
            return Err(Misshapen);
        }
        super::seal(&self.key, &nonce, associated, text, tag)
    }

    pub(crate) fn open(&self, associated: &[u8], iv: &[u8], text: &mut [u8], tag: &[u8]) -> bool {
        salted_nonce(self.salt, iv)
            .is_ok_and(|nonce| super::open(&self.key, &nonce, associated, text, tag))
    }
}
