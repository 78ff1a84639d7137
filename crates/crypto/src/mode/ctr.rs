//! Counter mode as ESP uses it: RFC 3686.

use aes::cipher::{Array, BlockCipherEncrypt, InnerIvInit, StreamCipherCore, consts::U16};
use ctr::CtrCore;
use ctr::flavors::Ctr32BE;

use crate::cipher::AesEncryptKey;
use crate::kernel::{Misshapen, salted_nonce};
use crate::suite::AesKeySize;

/// AES round keys and the nonce that RFC 3686 puts in front of the IV (here
/// called salt, as for GCM).
pub(crate) struct CtrKey {
    aes: AesEncryptKey,
    salt: [u8; 4],
}

impl CtrKey {
    pub(crate) fn new(size: AesKeySize, key: &[u8], salt: [u8; 4]) -> Result<CtrKey, Misshapen> {
        let aes = AesEncryptKey::new(size, key)?;
        Ok(CtrKey { aes, salt })
    }

    /// Encrypts or decrypts in place, which is the same.
    pub(crate) fn apply(&self, iv: &[u8], text: &mut [u8]) -> Result<(), Misshapen> {
        // RFC 3686 section 4: salt, IV, and a block counter that starts at 1.
        let mut counter_block = [0; 16];
        counter_block[..12].copy_from_slice(&salted_nonce(self.salt, iv)?);
        counter_block[15] = 1;
        let counter_block = Array(counter_block);
        match &self.aes {
            AesEncryptKey::Aes128(key) => apply(key, &counter_block, text),
            AesEncryptKey::Aes192(key) => apply(key, &counter_block, text),
            AesEncryptKey::Aes256(key) => apply(key, &counter_block, text),
        }
    }
}

fn apply<C>(key: &C, counter_block: &Array<u8, U16>, text: &mut [u8]) -> Result<(), Misshapen>
where
    C: BlockCipherEncrypt<BlockSize = U16>,
{
    CtrCore::<&C, Ctr32BE>::inner_iv_init(key, counter_block)
        .try_apply_keystream_partial(text.into())
        .map_err(|_| Misshapen)
}
